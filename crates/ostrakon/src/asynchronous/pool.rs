//! Threads for calls that block, shared by the process.
//!
//! A thread is started when there is more work than idle threads, up to [`MOST_THREADS`], and ends when it was idle for
//! [`IDLE_FOR`]. Work waits in a queue if all threads are busy.

use std::collections::VecDeque;
use std::panic::{AssertUnwindSafe, catch_unwind, resume_unwind};
use std::pin::Pin;
use std::sync::atomic::{AtomicU32, Ordering};
use std::sync::{Arc, Condvar, Mutex, MutexGuard, PoisonError};
use std::task::{Context, Poll, Waker};
use std::time::Duration;

/// As many as tokio starts for such calls by default.
const MOST_THREADS: usize = 512;
const IDLE_FOR: Duration = Duration::from_secs(10);
const THREAD_NAME: &str = "ostrakon-unblock";

type Job = Box<dyn FnOnce() + Send>;

struct Pool {
    queue: Mutex<Queue>,
    added: Condvar,
}

struct Queue {
    jobs: VecDeque<Job>,
    threads: usize,
    idle: usize,
}

static POOL: Pool = Pool {
    queue: Mutex::new(Queue {
        jobs: VecDeque::new(),
        threads: 0,
        idle: 0,
    }),
    added: Condvar::new(),
};

/// Nothing panics while it holds a lock of this module.
fn lock<T>(mutex: &Mutex<T>) -> MutexGuard<'_, T> {
    mutex.lock().unwrap_or_else(PoisonError::into_inner)
}

/// The process whose threads the pool has; 0 before the first one.
static PROCESS: AtomicU32 = AtomicU32::new(0);

/// Whether this process has the pool. A fork copies neither its threads nor, if one of them held it, a lock that can be
/// taken.
fn has_pool() -> bool {
    let process = std::process::id();
    match PROCESS.compare_exchange(0, process, Ordering::Relaxed, Ordering::Relaxed) {
        Ok(_) => true,
        Err(owner) => owner == process,
    }
}

/// Does the work of a forked process, on a thread of its own.
fn start_alone(job: Job) {
    let job = Arc::new(Mutex::new(Some(job)));
    let shared = job.clone();
    let run = move || {
        let job = lock(&shared).take();
        if let Some(job) = job {
            job();
        }
    };
    let started = std::thread::Builder::new()
        .name(THREAD_NAME.into())
        .spawn(run);
    if started.is_err() {
        let job = lock(&job).take();
        if let Some(job) = job {
            job();
        }
    }
}

impl Pool {
    fn add(&'static self, job: Job) {
        if !has_pool() {
            return start_alone(job);
        }
        let mut queue = lock(&self.queue);
        queue.jobs.push_back(job);
        if queue.jobs.len() <= queue.idle {
            self.added.notify_one();
            return;
        }
        if queue.threads >= MOST_THREADS {
            return;
        }
        let started = std::thread::Builder::new()
            .name(THREAD_NAME.into())
            .spawn(|| self.serve());
        match started {
            Ok(_) => queue.threads += 1,
            // The threads that there are do it later.
            Err(_) if queue.threads > 0 => {}
            Err(error) => {
                tracing::warn!(%error, "no thread can be started for a call that blocks: it blocks its task");
                let job = queue.jobs.pop_back();
                drop(queue);
                if let Some(job) = job {
                    job();
                }
            }
        }
    }

    fn serve(&self) {
        let mut queue = lock(&self.queue);
        loop {
            if let Some(job) = queue.jobs.pop_front() {
                drop(queue);
                // The work catches its own panics; the caller's wakers and destructors may panic too.
                if catch_unwind(AssertUnwindSafe(job)).is_err() {
                    tracing::warn!(
                        "a waker or a result that was not wanted panicked; its task may never be woken"
                    );
                }
                queue = lock(&self.queue);
                continue;
            }
            queue.idle += 1;
            let (woken, waited) = self
                .added
                .wait_timeout(queue, IDLE_FOR)
                .unwrap_or_else(PoisonError::into_inner);
            queue = woken;
            queue.idle -= 1;
            if waited.timed_out() && queue.jobs.is_empty() {
                queue.threads -= 1;
                return;
            }
        }
    }
}

/// Work on a thread of the pool, as a future. Work that has not begun when the task is dropped is not done.
pub(super) struct Task<T>(Arc<Mutex<State<T>>>);

enum State<T> {
    Waiting(Option<Waker>),
    /// The result, or what the work panicked with.
    Done(std::thread::Result<T>),
    /// The result was taken, or is not wanted any more.
    Over,
}

impl<T: Send + 'static> Task<T> {
    pub(super) fn start(work: impl FnOnce() -> T + Send + 'static) -> Self {
        let state = Arc::new(Mutex::new(State::Waiting(None)));
        let shared = state.clone();
        POOL.add(Box::new(move || {
            if matches!(*lock(&shared), State::Over) {
                return;
            }
            let result = State::Done(catch_unwind(AssertUnwindSafe(work)));
            let mut state = lock(&shared);
            let unwanted = match *state {
                State::Waiting(_) => std::mem::replace(&mut *state, result),
                State::Done(_) | State::Over => result,
            };
            // Wakers and results are code of the caller.
            drop(state);
            if let State::Waiting(Some(waker)) = unwanted {
                waker.wake();
            }
        }));
        Self(state)
    }
}

impl<T> Future for Task<T> {
    type Output = T;

    fn poll(self: Pin<&mut Self>, context: &mut Context<'_>) -> Poll<T> {
        // Cloning and dropping a waker is code of the caller, which may drop this task: no lock is held meanwhile.
        let waker = context.waker().clone();
        let mut state = lock(&self.0);
        let next = match *state {
            State::Waiting(_) => State::Waiting(Some(waker)),
            State::Done(_) | State::Over => State::Over,
        };
        let before = std::mem::replace(&mut *state, next);
        drop(state);
        match before {
            State::Done(Ok(value)) => Poll::Ready(value),
            State::Done(Err(panic)) => resume_unwind(panic),
            State::Waiting(_) | State::Over => Poll::Pending,
        }
    }
}

impl<T> Drop for Task<T> {
    fn drop(&mut self) {
        let state = std::mem::replace(&mut *lock(&self.0), State::Over);
        drop(state);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn wait<T>(task: Task<T>) -> T {
        struct Unpark(std::thread::Thread);
        impl std::task::Wake for Unpark {
            fn wake(self: Arc<Self>) {
                self.0.unpark();
            }
        }
        let waker = Waker::from(Arc::new(Unpark(std::thread::current())));
        let mut task = task;
        loop {
            match Pin::new(&mut task).poll(&mut Context::from_waker(&waker)) {
                Poll::Ready(value) => return value,
                Poll::Pending => std::thread::park(),
            }
        }
    }

    #[test]
    fn all_work_is_done_also_what_waits_for_other_work() {
        // Each but the last waits for the next, so that they need a thread each.
        let (mut sender, receiver) = std::sync::mpsc::channel();
        let first = Task::start(move || receiver.recv().is_ok());
        let mut tasks = vec![first];
        for _ in 0..20 {
            let (next, receiver) = std::sync::mpsc::channel();
            let before = std::mem::replace(&mut sender, next);
            tasks.push(Task::start(move || {
                receiver.recv().is_ok() && before.send(()).is_ok()
            }));
        }
        sender.send(()).expect("it waits");
        for task in tasks {
            assert!(wait(task));
        }
    }

    #[test]
    fn a_forked_process_has_a_thread_for_each_call() {
        // As in a child whose parent holds the lock.
        let (sender, receiver) = std::sync::mpsc::channel();
        let _held = lock(&POOL.queue);
        start_alone(Box::new(move || sender.send(7).unwrap_or_default()));
        assert_eq!(receiver.recv_timeout(Duration::from_secs(60)), Ok(7));
    }

    /// Counts how often it is dropped, and uses the task's lock when it is.
    struct Dropped(Arc<Mutex<State<()>>>, Arc<std::sync::atomic::AtomicUsize>);

    impl std::task::Wake for Dropped {
        fn wake(self: Arc<Self>) {}
    }

    impl Drop for Dropped {
        fn drop(&mut self) {
            assert!(self.0.try_lock().is_ok(), "the lock is held");
            self.1.fetch_add(1, Ordering::SeqCst);
        }
    }

    #[test]
    fn a_waker_is_dropped_without_a_lock() {
        let (sender, receiver) = std::sync::mpsc::channel::<()>();
        let mut task = Task::start(move || receiver.recv().unwrap_or_default());
        let drops = Arc::new(std::sync::atomic::AtomicUsize::new(0));
        for polls in 0..3 {
            let waker = Waker::from(Arc::new(Dropped(task.0.clone(), drops.clone())));
            let poll = Pin::new(&mut task).poll(&mut Context::from_waker(&waker));
            assert!(poll.is_pending());
            drop(waker);
            assert_eq!(drops.load(Ordering::SeqCst), polls);
        }
        drop(task);
        assert_eq!(drops.load(Ordering::SeqCst), 3);
        drop(sender);
    }

    #[test]
    fn a_waker_that_panics_does_not_end_the_pool() {
        struct Panics;
        impl std::task::Wake for Panics {
            fn wake(self: Arc<Self>) {
                panic!("expected");
            }
        }
        let waker = Waker::from(Arc::new(Panics));
        let before = lock(&POOL.queue).threads;
        for _ in 0..20 {
            let (sender, receiver) = std::sync::mpsc::channel::<()>();
            let mut task = Task::start(move || receiver.recv().unwrap_or_default());
            let poll = Pin::new(&mut task).poll(&mut Context::from_waker(&waker));
            assert!(poll.is_pending());
            sender.send(()).expect("it waits");
        }
        assert_eq!(wait(Task::start(|| 7)), 7);
        // The threads that panicked serve others.
        let idle = || {
            let queue = lock(&POOL.queue);
            (queue.idle == queue.threads).then_some(queue.threads)
        };
        let begun = std::time::Instant::now();
        while idle().is_none() {
            assert!(begun.elapsed() < Duration::from_secs(60), "from {before}");
            std::thread::yield_now();
        }
    }

    #[test]
    fn a_panic_reaches_the_task_that_waits() {
        let task = Task::start(|| panic!("expected"));
        let caught = catch_unwind(AssertUnwindSafe(|| wait::<()>(task)));
        let panic = caught.expect_err("it panicked");
        assert_eq!(panic.downcast_ref(), Some(&"expected"));
        assert_eq!(wait(Task::start(|| 7)), 7, "the pool goes on");
    }
}
