//! The allocator of our programs: jemalloc with huge pages where that is known to work, the system's elsewhere.
//!
//! A program takes it by naming the crate, `use ostrakon_allocator as _;`. Libraries never do: which allocator a
//! process has is for its owner to say. Why this one: docs/decisions/0014.
//!
//! Whoever starts a program can add to the settings for one run, as in `_RJEM_MALLOC_CONF=hpa:false ostrakon …`.

/// Whether small pieces of memory that are freed go back to the system soon: whether a store may lend them to its cache.
pub const GIVES_BACK: bool = cfg!(all(target_os = "linux", target_arch = "x86_64"));

#[cfg(all(target_os = "linux", target_arch = "x86_64"))]
mod jemalloc {
    use tikv_jemallocator::Jemalloc;

    #[global_allocator]
    static ALLOCATOR: Jemalloc = Jemalloc;

    /// What jemalloc reads before its first allocation, ended by a zero byte:
    ///
    /// * `hpa:true,hpa_hugify_style:eager` puts allocations up to 64 KiB, cached blocks among them, into huge pages from
    ///   the start. Larger ones, the buffers of writers and flushes, come and go and stay in small pages.
    /// * `hpa_min_purge_interval_ms:10` gives back what is free in huge pages when it is a quarter of what is used
    ///   there, a hundred times a second. With the default, 32 MiB in five seconds, a cache that shrinks for writers would
    ///   not be in time; without a pause thousands of pieces of 36 KiB went one by one, and huge pages were split.
    /// * `percpu_arena:percpu` keeps as many arenas as processors instead of four times as many: what is free in one
    ///   is of no use to the others, and the promise about memory counts it.
    /// * `dirty_decay_ms:100,muzzy_decay_ms:0` gives back what was free for a tenth of a second. A second lets two busy
    ///   writers free more in between than a small budget leaves room for; at once makes scans a quarter slower.
    // SAFETY: the name is jemalloc's own and nothing else defines it; the value is a pointer to a string of C.
    #[expect(
        unsafe_code,
        reason = "jemalloc reads its settings from a symbol of this name"
    )]
    #[unsafe(export_name = "_rjem_malloc_conf")]
    pub(crate) static SETTINGS: &[u8; 117] =
        b"hpa:true,hpa_hugify_style:eager,hpa_min_purge_interval_ms:10,percpu_arena:percpu,dirty_decay_ms:100,muzzy_decay_ms:0\0";
}
