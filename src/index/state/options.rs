//! Options for opening an index: durability, maintenance, sizes. None are stored on disk.

use super::event::{Event, Listener};
use crate::segment::ReadMode;
use crate::{Error, Result};
use std::fmt;
use std::ops::ControlFlow;
use std::sync::Arc;
use std::time::Duration;

/// How long a shared handle waits for other processes, unless the options say otherwise.
const SHARED_WAIT: Duration = Duration::from_secs(60);

/// What `Ok` of a write promises, if the device honours a sync.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Durability {
    /// `Ok` means that the write survives a power loss. Concurrent writers share one sync (group
    /// commit). If several writers shared the last sync, the first of them to write again waits for
    /// the others to join. The wait ends when all have arrived, or when no further writer has
    /// arrived for 0.3 ms; after such a timeout, the next syncs skip the wait. A single writer
    /// never waits.
    #[default]
    Sync,
    /// `Ok` means that the write survives the end of the process. A power cut loses roughly the
    /// last interval at most, and only the newest changes. The sync is done by a maintenance
    /// thread, or, under [`Maintenance::Inline`], by the first write or `maintain` after the
    /// interval.
    Interval(Duration),
    /// `Ok` means: survives the end of the process. The operating system decides when the data
    /// reaches the disk; [`Index::sync`](crate::Index::sync) forces it.
    OsBuffer,
}

/// Which thread calls [`Index::maintain`](crate::Index::maintain).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Maintenance {
    /// At most two threads, shared by all indexes of the process that have this option: a thousand
    /// indexes do not need a thousand threads. The threads start with the first of these indexes
    /// and end with the last.
    ///
    /// The indexes take turns, one step each. So an index may have to wait for a step of another:
    /// at most about 16 MiB of a compaction, or one flush. A failure or a panic in one index does
    /// not stop the others, and closing an index waits only for its own step. If the latency of an
    /// index must not depend on others, open it with [`Maintenance::Background`].
    ///
    /// When idle, the threads warm up each segment once: they verify the blocks that are in the
    /// page cache. All other blocks (4 KiB each) are verified by the first query that touches them.
    /// A warm-up takes about half a second of processor time per GiB; the verified blocks then
    /// count as memory of the process. (If the files belong to another user and are not writable,
    /// the system does not tell which blocks are cached.) Warm-up runs only on Linux, and not in
    /// [`ReadMode::Pread`].
    #[default]
    Shared,
    /// A background thread for this index alone. It does the same work as the threads of
    /// [`Maintenance::Shared`]. Closing the index, or dropping its last handle, waits for the
    /// running step; the thread then ends by itself within moments.
    Background,
    /// The writing thread does one due step after each write: deterministic, no extra thread.
    Inline,
}

/// A source of time or randomness. It is a function so that tests can simulate it.
pub(crate) type NumberSource = Arc<dyn Fn() -> u64 + Send + Sync>;

/// Options of one open index. `Options::default()` suits most programs.
///
/// An open index holds three file descriptors (its folder, its folder of segments and its lock), a
/// fourth for the log after the first write, and two more per segment that was queried or verified.
/// A program that opens a thousand indexes must raise its file limit (`ulimit -n`).
#[derive(Clone)]
pub struct Options {
    pub(crate) durability: Durability,
    pub(crate) maintenance: Maintenance,
    pub(crate) read_mode: ReadMode,
    pub(crate) memory_bytes_max: Option<usize>,
    pub(crate) memtable_bytes_max: usize,
    pub(crate) batch_bytes_max: usize,
    pub(crate) merge_bytes_max: usize,
    /// Size and alignment of the writes of a flush. Smaller than a huge page for two reasons: the
    /// segment will soon be merged, and a virtual machine that gave its huge pages back to the host
    /// gets them again only slowly.
    pub(crate) flush_write_bytes: usize,
    /// Size and alignment of the writes of a compaction: a huge page. After such a write, the
    /// system can keep a huge page in its cache (Linux: XFS since 5.18, ext4 since 6.16). A huge
    /// page takes only one entry of the page table, so that queries of a large segment look up
    /// fewer pages.
    pub(crate) compaction_write_bytes: usize,
    pub(crate) wal_bytes_min: u64,
    pub(crate) wal_bytes_max: u64,
    /// Maximum total size of the segments of a tiny index.
    pub(crate) tiny_bytes_max: u64,
    pub(crate) tier_segments_max: usize,
    /// Maximum number of documents of a segment that a merge makes: ordinals have 32 bits, and a
    /// merge takes 4.4 bytes of memory per document.
    pub(crate) segment_docs_max: u32,
    pub(crate) merge_when_idle: bool,
    pub(crate) keep_mapped: bool,
    /// Bytes that one step of a compaction reads and writes. Small enough that a flush never waits
    /// long for a step.
    pub(crate) step_bytes: usize,
    /// Group wait: how long a writer delays its sync for the writers that shared the last one.
    /// Restarts with every arrival. About as long as a sync takes. After a timeout, the group wait
    /// backs off.
    pub(crate) gather_pause: Duration,
    pub(crate) ttl: Option<Duration>,
    /// Maximum number of removes per batch of `remove_before` or of the expiry.
    pub(crate) removes_max: usize,
    pub(crate) clock: NumberSource,
    pub(crate) random: NumberSource,
    pub(crate) on_event: Option<Listener>,
    pub(crate) shared: bool,
    pub(crate) lock_wait: Option<Duration>,
    pub(crate) on_wait: Option<Waiter>,
}

/// The function that is called while a call waits for the lock.
type Waiter = Arc<dyn Fn(Duration) -> ControlFlow<()> + Send + Sync>;

impl Default for Options {
    fn default() -> Self {
        Self {
            durability: Durability::default(),
            maintenance: Maintenance::default(),
            read_mode: ReadMode::default(),
            memory_bytes_max: None,
            memtable_bytes_max: 64 << 20,
            batch_bytes_max: 16 << 20,
            merge_bytes_max: 64 << 20,
            flush_write_bytes: 256 << 10,
            compaction_write_bytes: 2 << 20,
            wal_bytes_min: 1 << 20,
            wal_bytes_max: 64 << 20,
            // 0 in tests: otherwise all their small indexes would be tiny, and none would have a
            // reserve.
            tiny_bytes_max: small!(options::TINY_BYTES_MAX, 64 << 10),
            tier_segments_max: 4,
            segment_docs_max: 1 << 31,
            merge_when_idle: true,
            keep_mapped: true,
            step_bytes: 16 << 20,
            gather_pause: Duration::from_micros(300),
            ttl: None,
            removes_max: 1_000,
            clock: Arc::new(wall_clock_ms),
            random: Arc::new(random_seed),
            on_event: None,
            shared: false,
            lock_wait: None,
            on_wait: None,
        }
    }
}

impl Options {
    /// What `Ok` of a write promises. Default: [`Durability::Sync`].
    #[must_use]
    pub fn durability(mut self, durability: Durability) -> Self {
        self.durability = durability;
        self
    }

    /// Which thread flushes and compacts. Default: [`Maintenance::Shared`].
    #[must_use]
    pub fn maintenance(mut self, maintenance: Maintenance) -> Self {
        self.maintenance = maintenance;
        self
    }

    /// How segments are read. Default: [`ReadMode::Mmap`].
    #[must_use]
    pub fn read_mode(mut self, read_mode: ReadMode) -> Self {
        self.read_mode = read_mode;
        self
    }

    /// Memory of the open index in bytes, for a small machine: at least 4 MiB. Sets
    /// [`Options::memtable_bytes_max`], [`Options::merge_bytes_max`] and
    /// [`Options::batch_bytes_max`] to parts of it; call those afterwards to override one. Default:
    /// not limited as a whole; an index that is written takes up to about 300 MiB.
    ///
    /// | part | of `bytes` | at most |
    /// |---|---|---|
    /// | memtable | a quarter | 64 MiB |
    /// | filter over small segments | an eighth | 32 MiB |
    /// | a flush: tables and buffers | an eighth | 64 MiB |
    /// | a compaction: tables, or starts of documents | a quarter | 64 MiB |
    /// | a compaction: buffers of the file | a tenth | 10 MiB |
    /// | one batch | an eighth | 16 MiB |
    ///
    /// A compaction makes no segment of more than `bytes` / 20 documents, so a large index keeps
    /// several, and queries look into each: 10,000,000 documents with 32 MiB are 7 or more.
    ///
    /// Not covered: running queries and their answers (a few KiB each, unless they return much),
    /// the oldest 4,096 documents of each segment under [`Options::ttl`], what the caller holds
    /// (texts, signatures, batches), the page cache and mapped pages of segments, which the
    /// system takes back when memory is short; and, at the next opening after a crash, the
    /// documents in the log, as many as the memtable held that was lost.
    ///
    /// ```
    /// use nearkin::{Options, ReadMode};
    ///
    /// // In a container of 128 MiB, with room for the program itself.
    /// let options = Options::default().memory_bytes_max(48 << 20).read_mode(ReadMode::Pread);
    /// # drop(options);
    /// ```
    #[must_use]
    pub fn memory_bytes_max(mut self, bytes: usize) -> Self {
        let of = |inverse: usize, most: usize| most.min(bytes / inverse);
        self.memory_bytes_max = Some(bytes);
        self.memtable_bytes_max = of(4, 64 << 20);
        self.merge_bytes_max = of(4, 64 << 20);
        self.batch_bytes_max = of(8, 16 << 20);
        self.compaction_write_bytes = 1 << of(50, 2 << 20).max(1).ilog2();
        self.flush_write_bytes = self.flush_write_bytes.min(self.compaction_write_bytes);
        self.segment_docs_max = u32::try_from(bytes / 20).map_or(1 << 31, |docs| docs.min(1 << 31));
        self
    }

    /// Size of the memtable in bytes: memory for documents that are not yet in a segment. A full
    /// memtable is flushed; its memory is kept for the next documents until the index is closed.
    /// Default 64 MiB: 193,000 documents with keys of 8 bytes and signatures of 128 8-bit rows in
    /// 16 bands.
    #[must_use]
    pub fn memtable_bytes_max(mut self, bytes: usize) -> Self {
        self.memtable_bytes_max = bytes;
        self
    }

    /// The largest batch, in bytes of its WAL record. Default 16 MiB, at least 1 KiB, at most
    /// 32 MiB.
    #[must_use]
    pub fn batch_bytes_max(mut self, bytes: usize) -> Self {
        self.batch_bytes_max = bytes;
        self
    }

    /// Memory that a merge may use to build bucket tables, in bytes. Default 64 MiB. A compaction
    /// additionally buffers up to 10 MiB of its output.
    ///
    /// A merge of so many documents that it would read all signatures twelve times and more (6
    /// million with the default and 17 bands) sorts on the disk instead: 8 bytes for each document
    /// and table, in a file without a name that is gone when the merge ends. The disk needs room
    /// for that file beside the new segment; only if it has none for the file itself, the merge
    /// reads the signatures that often.
    #[must_use]
    pub fn merge_bytes_max(mut self, bytes: usize) -> Self {
        self.merge_bytes_max = bytes;
        self
    }

    /// Number of segments of about the same size that are merged together. Default 4, at least 2. A
    /// lower number makes queries faster, but more bytes are rewritten.
    #[must_use]
    pub fn tier_segments_max(mut self, segments: usize) -> Self {
        self.tier_segments_max = segments;
        self
    }

    /// Whether the threads of [`Maintenance::Shared`] and [`Maintenance::Background`] merge the
    /// segments towards a single one while nothing is written. Queries then become as fast as after
    /// [`Index::compact`](crate::Index::compact). Default: true.
    ///
    /// Idle merging starts 50 ms after the last write, and pauses at the next write. If that write
    /// makes another merge due, an idle merge that is less than half done is abandoned. In total,
    /// idle merging rewrites at most twice the bytes written through the handle. It rewrites a
    /// segment only if at least a sixteenth of it is new or dead. Opening an index does not start
    /// it.
    #[must_use]
    pub fn merge_when_idle(mut self, merge: bool) -> Self {
        self.merge_when_idle = merge;
        self
    }

    /// Whether the pages of a segment stay mapped after a flush or a merge has read them. Default:
    /// true, which makes queries faster. The pages count as resident memory of the process,
    /// although the system can take them back at any time.
    ///
    /// With false, maintenance unmaps them after a flush, and after each 64 MiB that a merge has
    /// copied. This suits a program that loads documents and
    /// then ends: its resident memory for 1,750,000 documents is 330 MiB instead of 720 to 1,010
    /// MiB. The first query that touches a part of a new segment causes a page fault, about a
    /// microsecond. Applies to [`ReadMode::Mmap`] only.
    #[must_use]
    pub fn keep_mapped(mut self, keep: bool) -> Self {
        self.keep_mapped = keep;
        self
    }

    /// The clock that gives documents their time, in milliseconds since the Unix epoch. Default:
    /// the system clock. Queries never read a clock.
    #[must_use]
    pub fn clock(mut self, clock: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// Time to live of a document, counted from its insertion or last replacement and measured by
    /// [`Options::clock`]. Expired documents are removed in the background within about a second;
    /// under [`Maintenance::Inline`], [`Index::maintain`](crate::Index::maintain) removes them.
    /// Until then, queries still find them. The option is not stored in the index. Default:
    /// documents do not expire.
    #[must_use]
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl = Some(ttl);
        self
    }

    /// A listener for events: flushes, compactions, expiry, a recovery, failures in the background,
    /// and writers that had to wait. Default: none.
    ///
    /// The listener is called at the end of the call that caused or noticed the event, on the
    /// thread of that call or on a maintenance thread. Events arrive in order, one at a time. The
    /// caller waits for the listener, so the listener should be quick.
    ///
    /// The listener is called without locks and may call the index; the events of such a call are
    /// delivered after the listener has returned. It must not shut down or drop the index, nor own
    /// the handle: keep a `Weak`. A panic of the listener is caught, and reported by
    /// [`Index::last_maintenance_error`](crate::Index::last_maintenance_error). At most 1,024
    /// events are queued; any further events are dropped.
    ///
    /// ```
    /// # fn main() -> nearkin::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let dir = folder.path().join("papers.nearkin");
    /// use nearkin::{Event, Index, Options, Params};
    /// use std::sync::mpsc;
    ///
    /// let (sender, events) = mpsc::channel();
    /// let options = Options::default().on_event(move |event| {
    ///     // Sending fails if the receiver is gone.
    ///     let _ = sender.send(event.clone());
    /// });
    /// let index = Index::create(&dir, &Params::for_threshold(0.7).build()?, options)?;
    /// index.insert("p1", &index.sketcher().text("the quick brown fox")?)?;
    /// index.flush()?;
    /// let flushed = events.iter().find(|event| matches!(event, Event::Flushed { .. }));
    /// assert!(matches!(flushed, Some(Event::Flushed { documents: 1, .. })));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn on_event(mut self, listener: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        self.on_event = Some(Arc::new(listener));
        self
    }

    /// Whether other processes may write to the index as well, each with a shared handle. Default:
    /// false, so that the handle keeps the lock of the index until it is closed.
    ///
    /// A shared handle takes the lock only for a *turn* of writing: it catches up with what others
    /// have written, writes, and hands over as soon as another process waits, after 20 ms at the
    /// earliest and between two changes. Everything that `Ok` of a write promises stays true,
    /// whichever process is killed. Between its turns the handle reads like a
    /// [`Reader`](crate::Reader): it sees what others have acknowledged at the latest after
    /// [`Index::refresh`](crate::Index::refresh).
    ///
    /// A process that is stopped during its turn (`SIGSTOP`) keeps the lock: others wait for it, up
    /// to [`Options::lock_wait`]. An ordinary handle waits for shared ones, and they for it. Each
    /// process holds the memtable of the index in memory, and each shared handle has a maintenance
    /// thread of its own. An index of
    /// [`Index::temporary`](crate::Index::temporary) cannot be shared.
    ///
    /// ```
    /// # fn main() -> nearkin::Result<()> {
    /// # let folder = tempfile::tempdir().unwrap();
    /// # let dir = folder.path().join("news.nearkin");
    /// use nearkin::{Index, Options, Params};
    ///
    /// let params = Params::for_threshold(0.7).build()?;
    /// let shared = || Options::default().shared(true);
    /// let one = Index::open_or_create(&dir, &params, shared())?;
    /// let other = Index::open_or_create(&dir, &params, shared())?; // usually in another process
    /// one.insert("n1", &one.sketcher().text("one story, told by many agencies")?)?;
    /// other.insert("n2", &other.sketcher().text("another story")?)?;
    /// assert!(one.refresh()?);
    /// assert!(one.contains("n2")?);
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn shared(mut self, shared: bool) -> Self {
        self.shared = shared;
        self
    }

    /// How long an opening waits for the lock of the index before it fails with `Locked`, and a
    /// shared handle for its turn, or `compact` for the compaction of another process. Default: an
    /// opening does not wait; a shared handle waits a minute.
    ///
    /// The wait is a series of looks, at most 10 ms apart. Applies to `create`, `open`,
    /// `open_or_create` and `backup` as well.
    #[must_use]
    pub fn lock_wait(mut self, wait: Duration) -> Self {
        self.lock_wait = Some(wait);
        self
    }

    /// A function that is called again and again while a call waits for the lock of the index, with
    /// the time that it has waited. If it returns `Break`, the call ends with `Locked`.
    ///
    /// It says that the program waits, or ends the wait after a signal. It must not use the index.
    #[must_use]
    pub fn on_wait(
        mut self,
        waits: impl Fn(Duration) -> ControlFlow<()> + Send + Sync + 'static,
    ) -> Self {
        self.on_wait = Some(Arc::new(waits));
        self
    }

    /// How long a shared handle waits for other processes.
    pub(crate) fn patience(&self) -> Duration {
        self.lock_wait.unwrap_or(SHARED_WAIT)
    }

    /// Whether a call that has waited this long for the lock is to end.
    pub(crate) fn gives_up(&self, waited: Duration) -> bool {
        self.on_wait.as_ref().is_some_and(|goes_on| goes_on(waited).is_break())
    }

    pub(crate) fn validate(&self) -> Result<()> {
        if self.memory_bytes_max.is_some_and(|bytes| bytes < 4 << 20) {
            return Err(Error::invalid("memory_bytes_max must be at least 4 MiB"));
        }
        if self.batch_bytes_max > 32 << 20 || self.batch_bytes_max < 1 << 10 {
            return Err(Error::invalid("batch_bytes_max must be from 1 KiB to 32 MiB"));
        }
        if self.tier_segments_max < 2 {
            return Err(Error::invalid("tier_segments_max must be at least 2"));
        }
        if self.merge_bytes_max < 1 << 16 {
            return Err(Error::invalid("merge_bytes_max must be at least 64 KiB"));
        }
        Ok(())
    }
}

impl fmt::Debug for Options {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Options")
            .field("durability", &self.durability)
            .field("maintenance", &self.maintenance)
            .field("read_mode", &self.read_mode)
            .field("memory_bytes_max", &self.memory_bytes_max)
            .field("memtable_bytes_max", &self.memtable_bytes_max)
            .field("batch_bytes_max", &self.batch_bytes_max)
            .field("ttl", &self.ttl)
            .finish_non_exhaustive()
    }
}

fn wall_clock_ms() -> u64 {
    std::time::SystemTime::now()
        .duration_since(std::time::UNIX_EPOCH)
        .map_or(0, |since| u64::try_from(since.as_millis()).unwrap_or(u64::MAX))
}

/// 64 random bits for salts and UUIDs: unlikely to repeat, but not secret.
fn random_seed() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    // Each `RandomState` has fresh keys from the generator of the operating system.
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}
