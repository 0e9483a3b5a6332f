//! Reuses the buffers of batches, so that a megabyte is not returned to the system and requested
//! again for every ten thousand entries.

use parking_lot::Mutex;

/// Smaller buffers are left to the allocator, which handles them well.
const SMALLEST: usize = 128 << 10;

/// Empty buffers waiting to be filled, within a bound of bytes.
#[derive(Debug, Default)]
pub struct BufferPool {
    limit: u64,
    idle: Mutex<Idle>,
}

#[derive(Debug, Default)]
struct Idle {
    buffers: Vec<Vec<u8>>,
    bytes: u64,
}

impl BufferPool {
    /// A pool that keeps at most `limit` bytes. The default pool keeps none.
    #[must_use]
    pub fn new(limit: u64) -> Self {
        Self {
            limit,
            idle: Mutex::default(),
        }
    }

    /// An empty buffer with a capacity of `bytes`.
    #[must_use]
    pub fn take(&self, bytes: usize) -> Vec<u8> {
        if bytes >= SMALLEST {
            let mut idle = self.idle.lock();
            if idle
                .buffers
                .last()
                .is_some_and(|buffer| buffer.capacity() >= bytes)
                && let Some(buffer) = idle.buffers.pop()
            {
                idle.bytes -= buffer.capacity() as u64;
                return buffer;
            }
        }
        Vec::with_capacity(bytes)
    }

    /// Returns a buffer to the pool.
    pub fn put(&self, mut buffer: Vec<u8>) {
        let bytes = buffer.capacity() as u64;
        if buffer.capacity() < SMALLEST {
            return;
        }
        buffer.clear();
        let mut idle = self.idle.lock();
        if idle.bytes + bytes <= self.limit {
            idle.bytes += bytes;
            idle.buffers.push(buffer);
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn buffers_come_back_within_the_limit() {
        let pool = BufferPool::new(3 << 20);
        for _ in 0..4 {
            pool.put(Vec::with_capacity(1 << 20));
        }
        assert_eq!(pool.idle.lock().buffers.len(), 3);
        let mut buffer = pool.take(1 << 20);
        assert!(buffer.is_empty() && buffer.capacity() >= 1 << 20);
        assert_eq!(pool.idle.lock().bytes, 2 << 20);
        buffer.push(1);
        pool.put(buffer);
        assert!(pool.take(1 << 20).is_empty(), "the content was cleared");
        assert!(
            pool.take(2 << 20).capacity() >= 2 << 20,
            "buffers that are too small are skipped"
        );
        pool.put(Vec::with_capacity(100));
        assert_eq!(pool.idle.lock().bytes, 2 << 20, "small ones are not kept");
    }
}
