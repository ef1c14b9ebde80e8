//! How an index is opened: durability, maintenance, sizes. Nothing here is stored on disk.

use crate::index::event::{Event, Listener};
use crate::segment::ReadMode;
use crate::{Error, Result};
use std::fmt;
use std::sync::Arc;
use std::time::Duration;

/// What `Ok` of a write promises. The promise holds if the device honours a sync.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Durability {
    /// `Ok` means: survives power loss. Writers that wait at the same time share one sync
    /// (group commit): of several that did, the first to come back waits for the others, for 0.3
    /// ms since the last of them came, and ever less often if they do not come. One alone does not.
    #[default]
    Sync,
    /// `Ok` means: survives the end of the process. A power cut loses at most about the last
    /// interval, always the newest changes. Synced by a maintenance thread, or, under
    /// [`Maintenance::Inline`], by the first write or `maintain` after the interval.
    Interval(Duration),
    /// `Ok` means: survives the end of the process. When the operating system writes is its own
    /// affair; [`Index::sync`](crate::Index::sync) is a barrier.
    OsBuffer,
}

/// Which thread calls [`Index::maintain`](crate::Index::maintain).
#[derive(Debug, Clone, Copy, PartialEq, Eq, Default)]
#[cfg_attr(feature = "serde", derive(serde::Serialize, serde::Deserialize))]
#[non_exhaustive]
pub enum Maintenance {
    /// Two threads at most for all indexes of the process that are opened like this, so that a
    /// thousand of them take no thousand threads. The threads start with the first of these indexes
    /// and end with the last.
    ///
    /// Indexes take turns, one step each: an index waits for a step of another, at most about 16
    /// MiB of a compaction, or one flush. A failure or a panic of one does not stop the others, and
    /// closing an index waits for its own step only. Where the latency of one index must not depend
    /// on others, open it with [`Maintenance::Background`].
    ///
    /// Where nothing is due, it goes once through each segment and checks what the system has of
    /// it in memory, so that queries need not: each block of 4 KiB is checked when it is first
    /// touched. That takes about half a second per GiB, on a processor that must not be the only
    /// one, and has these parts of the files counted among the memory of the process. What is not
    /// in memory is left alone (unless the files are somebody else's who does not let this program
    /// write them: then the system does not tell). On Linux only, not in [`ReadMode::Pread`].
    #[default]
    Shared,
    /// One background thread for this index alone, which ends with the last handle. It does what
    /// the threads of [`Maintenance::Shared`] do.
    Background,
    /// The writer, one due step after each write: deterministic, no thread.
    Inline,
}

/// A source of time or randomness; a function, so that tests can simulate it.
pub(crate) type Source = Arc<dyn Fn() -> u64 + Send + Sync>;

/// Options of one open index. `Options::default()` is what most programs want.
///
/// An open index holds three file descriptors (its folder, its folder of segments and its lock),
/// and a fourth, of its log, once it was written to; two more per segment that was queried or
/// checked. A program that opens a thousand indexes raises its limit (`ulimit -n`).
#[derive(Clone)]
pub struct Options {
    pub(crate) durability: Durability,
    pub(crate) maintenance: Maintenance,
    pub(crate) read_mode: ReadMode,
    pub(crate) memtable_bytes_max: usize,
    pub(crate) batch_bytes_max: usize,
    pub(crate) merge_bytes_max: usize,
    /// What of a segment is written at once, at multiples of it. In a flush little: its segment is
    /// soon merged, and whole huge pages are what a virtual machine has given back to its host, and
    /// gets again slowly.
    pub(crate) flush_write_bytes: usize,
    /// In a compaction a huge page. Of a write so large and so aligned a system that can makes one
    /// in its cache (Linux: XFS from 5.18 on, ext4 from 6.16 on), which a map of the file has with
    /// a single entry: queries of a large segment look up few pages.
    pub(crate) compaction_write_bytes: usize,
    pub(crate) wal_bytes_min: u64,
    pub(crate) wal_bytes_max: u64,
    /// An index whose segments have at most so many bytes is tiny.
    pub(crate) tiny_bytes_max: u64,
    pub(crate) tier_segments_max: usize,
    pub(crate) merge_when_idle: bool,
    /// How much a step of a compaction reads and writes, so that a flush waits briefly for it.
    pub(crate) step_bytes: usize,
    /// How long a writer that would begin a sync waits for those who shared the last one, since the
    /// last of them came: about as long as a sync takes. In vain it does so ever less often.
    pub(crate) gather_pause: Duration,
    pub(crate) ttl: Option<Duration>,
    /// How many removes a batch of `remove_before` or of the expiry has at most.
    pub(crate) removes_max: usize,
    pub(crate) clock: Source,
    pub(crate) random: Source,
    pub(crate) on_event: Option<Listener>,
}

impl Default for Options {
    fn default() -> Self {
        Self {
            durability: Durability::default(),
            maintenance: Maintenance::default(),
            read_mode: ReadMode::default(),
            memtable_bytes_max: 64 << 20,
            batch_bytes_max: 16 << 20,
            merge_bytes_max: 64 << 20,
            flush_write_bytes: 256 << 10,
            compaction_write_bytes: 2 << 20,
            wal_bytes_min: 1 << 20,
            wal_bytes_max: 64 << 20,
            // 0 in tests: their indexes are small, and all would be tiny and have no reserve.
            tiny_bytes_max: if cfg!(test) { 0 } else { 64 << 10 },
            tier_segments_max: 4,
            merge_when_idle: true,
            step_bytes: 16 << 20,
            gather_pause: Duration::from_micros(300),
            ttl: None,
            removes_max: 1_000,
            clock: Arc::new(wall_clock_ms),
            random: Arc::new(random_seed),
            on_event: None,
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

    /// Memory for documents that no segment holds yet, in bytes; when it is full it is flushed,
    /// and kept for those that follow until the index is closed. Default 64 MiB (193,000
    /// documents of 128 8-bit rows in 16 bands, with keys of 8 bytes).
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

    /// Memory a merge may use for building bucket tables, in bytes. Default 64 MiB. Beside it a
    /// compaction holds up to 10 MiB of what it writes.
    #[must_use]
    pub fn merge_bytes_max(mut self, bytes: usize) -> Self {
        self.merge_bytes_max = bytes;
        self
    }

    /// How many segments of about one size there may be before they are merged. Default 4,
    /// at least 2. Fewer: faster queries, more writing.
    #[must_use]
    pub fn tier_segments_max(mut self, segments: usize) -> Self {
        self.tier_segments_max = segments;
        self
    }

    /// Whether the threads of [`Maintenance::Shared`] and [`Maintenance::Background`] merge
    /// segments towards one while no writer is at work, so that queries get as fast as after
    /// [`Index::compact`](crate::Index::compact). Default: true.
    ///
    /// It begins 50 ms after the last write, and pauses when one comes. All idle merging of a
    /// handle together rewrites at most twice the bytes that were written through it, and a segment
    /// only when a sixteenth of it has come in or died. Opening an index makes nothing due.
    #[must_use]
    pub fn merge_when_idle(mut self, merge: bool) -> Self {
        self.merge_when_idle = merge;
        self
    }

    /// The clock that stamps documents, in milliseconds UTC. Default: the system's. A query
    /// never looks at a clock.
    #[must_use]
    pub fn clock(mut self, clock: impl Fn() -> u64 + Send + Sync + 'static) -> Self {
        self.clock = Arc::new(clock);
        self
    }

    /// How long a document lives after it was inserted or last replaced, by the clock of these
    /// options: [`Index::maintain`](crate::Index::maintain) writes removes of the older ones, and
    /// unless maintenance is [`Maintenance::Inline`] they are gone within about a second. Until
    /// then queries find them. Nothing of it is stored. Default: for ever.
    #[must_use]
    pub fn ttl(mut self, ttl: Duration) -> Self {
        self.ttl = Some(ttl);
        self
    }

    /// A listener for what the index does on its own: flushes, compactions, expiry, a recovery,
    /// failures in the background, writers that had to wait. Default: none.
    ///
    /// Called at the end of the call that caused the event, or found it, on the thread of that
    /// call, or on the maintenance thread; by one thread at a time and in order, and under no
    /// lock: it may call the index. (What its calls cause it is told when it has returned. It must
    /// not shut down or drop the index, nor hold it: keep a `Weak`.) It should be quick: what it is
    /// called by waits for it. A panic in it is caught, and is what
    /// [`Index::last_maintenance_error`](crate::Index::last_maintenance_error) says. More than
    /// 1,024 events that wait for it are not told.
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
    ///     // Nobody may listen any more.
    ///     let _ = sender.send(event.clone());
    /// });
    /// let index = Index::create(&dir, &Params::for_threshold(0.7).build()?, options)?;
    /// index.insert("p1", &index.sketcher().text("the quick brown fox")?)?;
    /// index.flush()?;
    /// assert!(matches!(events.recv().unwrap(), Event::Flushed { documents: 1, .. }));
    /// # Ok(())
    /// # }
    /// ```
    #[must_use]
    pub fn on_event(mut self, listener: impl Fn(&Event) + Send + Sync + 'static) -> Self {
        self.on_event = Some(Arc::new(listener));
        self
    }

    pub(crate) fn validate(&self) -> Result<()> {
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

/// 64 bits that differ from call to call and from process to process: for salts and uuids, which
/// must be unlikely to repeat but need not be secret.
fn random_seed() -> u64 {
    use std::hash::{BuildHasher, Hasher};
    // Each RandomState has fresh keys from the operating system's generator.
    std::collections::hash_map::RandomState::new().build_hasher().finish()
}
