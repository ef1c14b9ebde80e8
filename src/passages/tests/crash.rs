//! The crash campaign of texts. A text is several documents of the engine and a table of words that
//! is spread over them: after a crash they are there together, or not at all.
//!
//! The power is cut at every disk operation of a script. Each possible disk after it must hold the
//! texts of one change, not before the last durable one; so must the disk of a killed process, and
//! what a reader beside it sees. The judge compares words, and reads the stored bytes by itself: it
//! uses nothing of the winnower.
//!
//! ```text
//! NEARKIN_CAMPAIGNS=long NEARKIN_CRASH_STATES=50000 NEARKIN_CRASH_SEED=1 \
//!     cargo test --release --lib texts_are_there_whole -- --nocapture
//! ```

use super::super::{PassageIndex, PassageView, Prepared};
use crate::testing::campaign;
use crate::testing::random::Random;
use crate::testing::sim::Sim;
use crate::{Durability, Index, Maintenance, Options, Outcome, Params, Preset, Reader, Result};
use std::collections::{BTreeMap, HashSet};
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::Duration;

const DIR: &str = "/a/folder/x.nearkin";
/// Possible disks for each cut, for each kill, and after a reader has looked.
const STATES: usize = 12;
const STATES_AFTER_KILL: usize = 3;
const STATES_DEFAULT: u64 = 12_000;

/// The texts by key, each with its payload.
type Texts = BTreeMap<String, (String, Vec<u8>)>;

#[derive(Debug, Clone)]
enum Step {
    /// Texts written as one change, each with a payload, or with the stored one.
    Write(Vec<(String, String, Option<Vec<u8>>)>),
    Remove(String),
    SetPayload(String, Vec<u8>),
    Flush,
    Compact,
    Sync,
    Close,
    Drop,
    Kill,
}

/// Makes the scripts.
struct Author {
    random: Random,
    /// The words of all texts so far: others quote them.
    written: Vec<Vec<String>>,
}

impl Author {
    /// A text of which no other has the first word.
    fn text(&mut self) -> String {
        let mut words = vec![format!("version{}", self.written.len())];
        let length = self.random.pick(&[3, 9, 40, 130]) + self.random.below(20);
        while words.len() < length {
            if self.random.percent(30) {
                let other = self.random.pick(&self.written);
                let begin = self.random.below(other.len());
                words.extend(other.iter().skip(begin).take(15).cloned());
            } else {
                words.push(format!("w{}", self.random.below(60)));
            }
        }
        self.written.push(words.clone());
        words.join(" ")
    }

    fn step(&mut self) -> Step {
        let key = format!("k{}", self.random.below(4));
        match self.random.below(20) {
            0..8 => {
                let payload = self.random.percent(50).then(|| vec![7; self.random.below(30)]);
                Step::Write(vec![(key, self.text(), payload)])
            }
            8..11 => Step::Write((0..3).map(|at| (format!("k{at}"), self.text(), None)).collect()),
            11..14 => Step::Remove(key),
            14 => Step::SetPayload(key, vec![9; self.random.below(40)]),
            15 => Step::Flush,
            16 => Step::Compact,
            17 => Step::Sync,
            18 => self.random.pick(&[Step::Close, Step::Drop]),
            _ => Step::Kill,
        }
    }
}

/// The script of a number.
fn script(number: u64) -> Vec<Step> {
    let written = vec![(0..40).map(|at| format!("s{at}")).collect()];
    let mut author = Author { random: Random::new(number), written };
    (0..16).map(|_| author.step()).collect()
}

/// A script on a disk that stops at some operation.
struct Run {
    sim: Sim,
    index: Option<PassageIndex>,
    number: u64,
    clock: Arc<AtomicU64>,
    /// Goes on from one process to the next: a log must not get the salt of an earlier one.
    random: Arc<AtomicU64>,
    texts: Texts,
    /// The texts after each change.
    history: BTreeMap<u64, Texts>,
    /// The last change that must survive.
    durable: u64,
    /// The texts as they are if the interrupted write took effect.
    in_doubt: Option<Texts>,
    before: u64,
    cut: u64,
}

impl Run {
    fn new(number: u64, cut: u64) -> Self {
        let sim = Sim::new();
        sim.power_cut_at(cut);
        let history = BTreeMap::from([(0, Texts::new())]);
        let clock = Arc::new(AtomicU64::new(1_000));
        let random = Arc::new(AtomicU64::new(number));
        let (texts, index, in_doubt) = (Texts::new(), None, None);
        Self {
            sim,
            index,
            number,
            clock,
            random,
            texts,
            history,
            durable: 0,
            in_doubt,
            before: 0,
            cut,
        }
    }

    fn options(&self) -> Options {
        let interval = Durability::Interval(Duration::from_millis(100));
        let durability = [Durability::Sync, Durability::OsBuffer, interval];
        let (clock, random) = (Arc::clone(&self.clock), Arc::clone(&self.random));
        let pick = |of: &[usize], shift: u32| {
            of[usize::try_from(self.number >> shift).unwrap() % of.len()]
        };
        Options {
            durability: durability[pick(&[0, 1, 0, 2], 0)],
            maintenance: Maintenance::Inline,
            memtable_bytes_max: pick(&[2 << 10, 4 << 10, 1 << 20], 1),
            merge_bytes_max: 1 << 20,
            flush_write_bytes: 5_000,
            compaction_write_bytes: 1 << 16,
            wal_bytes_min: 16 << 10,
            wal_bytes_max: 32 << 10,
            tier_segments_max: 2,
            step_bytes: pick(&[200, 800, 16 << 20], 2),
            lock_wait: Some(Duration::ZERO),
            clock: Arc::new(move || clock.fetch_add(1, Ordering::Relaxed)),
            random: Arc::new(move || random.fetch_add(0x9e37_79b9, Ordering::Relaxed)),
            ..Options::default()
        }
    }

    fn open(&self, sim: &Sim) -> Result<PassageIndex> {
        PassageIndex::new(Index::open_on(Arc::new(sim.clone()), Path::new(DIR), self.options())?)
    }

    fn index(&self) -> &PassageIndex {
        self.index.as_ref().expect("the index is open")
    }

    /// Runs the script; returns whether it came to its end.
    fn go(&mut self, steps: &[Step]) -> bool {
        let params = Params::preset(Preset::Quotes).build().unwrap();
        let sim = Arc::new(self.sim.clone());
        match Index::create_on(sim, Path::new(DIR), &params, self.options()) {
            Ok(index) => self.index = Some(PassageIndex::new(index).unwrap()),
            Err(error) => assert!(self.sim.is_stopped(), "{error:?}"),
        }
        for step in steps {
            if self.sim.is_stopped() {
                break;
            }
            if let Err(error) = self.step(step) {
                assert!(self.sim.is_stopped(), "{step:?}: {error:?}");
            }
            self.note_durable();
        }
        !self.sim.is_stopped()
    }

    fn note_durable(&mut self) {
        let Some(index) = &self.index else { return };
        self.durable = self.durable.max(index.index().durable_change());
        if self.options().durability == Durability::Sync {
            self.durable = self.durable.max(index.index().snapshot().change());
        }
    }

    fn step(&mut self, step: &Step) -> Result<()> {
        match step {
            Step::Write(texts) => {
                let mut after = self.texts.clone();
                for (key, text, payload) in texts {
                    let old = after.get(key).map(|(_, payload)| payload.clone());
                    let payload = payload.clone().or(old).unwrap_or_default();
                    after.insert(key.clone(), (text.clone(), payload));
                }
                let cutter = self.index().cutter().clone();
                let prepare = |(key, text, payload): &(String, String, Option<Vec<u8>>)| {
                    cutter.prepare(key, text, payload.as_deref())
                };
                let prepared = texts.iter().map(prepare).collect::<Result<Vec<Prepared>>>()?;
                self.written(after, |index| index.write(&prepared).map(|_| ()))?;
            }
            Step::Remove(key) => {
                let mut after = self.texts.clone();
                let there = after.remove(key).is_some();
                let expected = if there { Outcome::Removed } else { Outcome::Missing };
                self.written(after, |index| {
                    assert_eq!(index.remove(key)?, expected);
                    Ok(())
                })?;
            }
            Step::SetPayload(key, payload) => {
                let mut after = self.texts.clone();
                after.entry(key.clone()).and_modify(|one| one.1.clone_from(payload));
                self.written(after, |index| index.set_payload(key, payload).map(|_| ()))?;
            }
            Step::Flush => self.index().index().flush()?,
            Step::Compact => self.index().index().compact()?,
            Step::Sync => {
                self.index().index().sync()?;
            }
            Step::Close => {
                self.index.take().expect("open").close()?;
                self.note_all();
                self.index = Some(self.open(&self.sim)?);
            }
            Step::Drop => {
                self.index = None;
                self.index = Some(self.open(&self.sim)?);
            }
            Step::Kill => {
                self.index = None;
                self.before += self.sim.ops();
                self.sim = self.sim.kill();
                self.sim.power_cut_at(self.cut.saturating_sub(self.before));
                self.index = Some(self.open(&self.sim)?);
            }
        }
        let change = self.index().index().snapshot().change();
        assert_eq!(self.history.get(&change), Some(&self.texts), "{step:?}");
        Ok(())
    }

    /// After a clean close everything is durable.
    fn note_all(&mut self) {
        self.durable = self.history.last_key_value().map_or(0, |(change, _)| *change);
    }

    fn written(
        &mut self,
        after: Texts,
        write: impl FnOnce(&PassageIndex) -> Result<()>,
    ) -> Result<()> {
        self.in_doubt = Some(after.clone());
        write(self.index())?;
        self.in_doubt = None;
        self.texts = after;
        let change = self.index().index().snapshot().change();
        self.history.insert(change, self.texts.clone());
        Ok(())
    }

    /// The texts of a change that a crash left.
    fn texts_at(&self, change: u64) -> &Texts {
        let last = self.history.last_key_value().map_or(0, |(last, _)| *last);
        let doubtful = self.in_doubt.as_ref().filter(|_| change == last + 1);
        self.history.get(&change).or(doubtful).expect("a change that happened")
    }

    /// Judges a disk. Returns the change that it holds, and how many texts have several documents;
    /// `None` if the index was never made.
    fn judge(&self, disk: &Sim, promised: u64) -> Option<(u64, u64)> {
        let index = match self.open(disk) {
            Ok(index) => index,
            Err(error) => {
                assert!(self.history.len() == 1 && promised == 0, "does not open: {error:?}");
                return None;
            }
        };
        let change = index.index().snapshot().change();
        assert!(change >= promised, "{promised} was promised, {change} is there");
        let mut texts = self.texts_at(change).clone();
        let several = judge(&index.view(), &texts);
        // It takes another text, and keeps it.
        let more: String = (0..70).map(|at| format!("more{at} ")).collect::<Vec<_>>().concat();
        index.insert("k1", more.trim_end()).unwrap();
        texts.entry("k1".to_owned()).or_default().0 = more.trim_end().to_owned();
        drop(index);
        let index = self.open(disk).unwrap();
        are_whole(&index.view(), &texts);
        let best = index.view().query(more.trim_end()).run().unwrap();
        assert!((best.texts[0].share - 1.0).abs() < f64::EPSILON);
        assert!(index.index().verify().unwrap().problems.is_empty());
        Some((change, several))
    }
}

/// Holds a view to the texts: by brute force over the words, and by the stored bytes.
/// Returns how many texts have several documents.
fn judge(view: &PassageView, texts: &Texts) -> u64 {
    assert_eq!(view.count_texts().unwrap(), texts.len() as u64);
    for (key, (text, payload)) in texts {
        let answer = view.query(text).run().unwrap();
        let own = answer.texts.iter().find(|one| one.key == key.as_bytes()).expect("is found");
        assert_eq!((own.share, own.stored_share), (1.0, Some(1.0)), "{key}: {text}");
        assert_eq!(&own.payload, payload);
        for found in &answer.texts {
            assert!(texts.keys().any(|other| other.as_bytes() == found.key), "{key}: {found:?}");
        }
        for (other, (theirs, _)) in texts {
            let mut found = answer.texts.iter().filter(|one| one.key == other.as_bytes());
            let run = found.next().map_or(0, |one| {
                one.passages.iter().filter_map(|one| one.longest).max().unwrap_or(0)
            });
            let least = longest(text, theirs);
            assert!(run >= least || least < 8, "{key} and {other}: {run}, not {least}");
        }
    }
    are_whole(view, texts)
}

/// The longest run of equal words.
fn longest(ours: &str, theirs: &str) -> u64 {
    let theirs: Vec<&str> = theirs.split(' ').collect();
    let (mut best, mut before) = (0, vec![0; theirs.len() + 1]);
    for word in ours.split(' ') {
        let mut now = vec![0; theirs.len() + 1];
        for (at, _) in theirs.iter().enumerate().filter(|(_, other)| **other == word) {
            now[at + 1] = before[at] + 1;
            best = best.max(now[at + 1]);
        }
        before = now;
    }
    best
}

/// Reads the documents of the engine as `FILE_FORMAT.md` and the page on passages say: each text
/// has as many as its first one says, and all parts of its table.
fn are_whole(view: &PassageView, texts: &Texts) -> u64 {
    let mut stored: BTreeMap<String, BTreeMap<u32, Vec<u8>>> = BTreeMap::new();
    for document in view.snapshot.iter() {
        let document = document.unwrap();
        let (key, number) = document.key.split_at(document.key.len() - 4);
        let number = u32::from_le_bytes(number.try_into().unwrap());
        let key = String::from_utf8(key.to_vec()).unwrap();
        assert!(stored.entry(key).or_default().insert(number, document.payload).is_none());
    }
    assert!(stored.keys().eq(texts.keys()), "{:?}", stored.keys());
    for (key, documents) in &stored {
        let first = &documents[&0];
        let number = |at: usize, bytes: usize| {
            first[at..at + bytes].iter().rev().fold(0_usize, |all, byte| all << 8 | *byte as usize)
        };
        let (words, bytes, count) = (number(0, 8), number(8, 8), number(16, 4));
        assert!(documents.keys().copied().eq(0..u32::try_from(count).unwrap()), "{key}");
        let (text, payload) = &texts[key];
        assert_eq!(words, text.split(' ').count(), "{key}");
        let own = first.len() - 20 - payload.len();
        assert_eq!(&first[20 + own..], payload);
        let rest: usize = documents.values().skip(1).map(Vec::len).sum();
        assert_eq!(own + rest, bytes, "{key}");
    }
    stored.values().filter(|documents| documents.len() > 1).count() as u64
}

fn hash_of(disk: &Sim) -> u64 {
    let mut hasher = xxhash_rust::xxh3::Xxh3::new();
    for (path, bytes) in disk.snapshot_of_files() {
        hasher.update(path.as_os_str().as_encoded_bytes());
        hasher.update(&(bytes.len() as u64).to_le_bytes());
        hasher.update(&bytes);
    }
    hasher.digest()
}

#[derive(Debug, Default)]
struct Figures {
    scripts: u64,
    cuts: u64,
    states: u64,
    distinct: u64,
    kills: u64,
    readers: u64,
    /// Texts of more than one document, on all distinct disks.
    several: u64,
}

/// Cuts a script at its operations.
fn cut_everywhere(number: u64, figures: &mut Figures) {
    let steps = script(number);
    let mut seen = HashSet::new();
    let mut judge = |figures: &mut Figures, run: &Run, disk: &Sim, promised: u64| {
        figures.states += 1;
        if seen.insert((hash_of(disk), promised, run.history.len(), run.in_doubt.is_some())) {
            figures.distinct += 1;
            figures.several += run.judge(disk, promised).map_or(0, |(_, several)| several);
        }
    };
    figures.scripts += 1;
    // A short campaign cuts at every fifth operation.
    for cut in (0..).step_by(campaign::step(5)) {
        let mut run = Run::new(number, cut);
        let whole = run.go(&steps);
        figures.cuts += 1;
        for disk in run.sim.crash_states(number ^ cut << 20, STATES) {
            judge(figures, &run, &disk, run.durable);
        }
        // A reader beside the writer that stopped there.
        let disk = run.sim.kill();
        if let Ok(_writer) = crate::storage::Storage::lock(&disk, &Path::new(DIR).join("lock")) {
            let reader =
                Reader::open_on(Arc::new(disk.clone()), Path::new(DIR), Options::default());
            match reader {
                Ok(reader) => {
                    figures.readers += 1;
                    let view = PassageView::new(&reader.snapshot()).unwrap();
                    self::judge(&view, run.texts_at(reader.change()));
                }
                Err(error) => assert!(
                    run.history.len() == 1 && run.durable == 0,
                    "a reader does not open: {error:?}"
                ),
            }
        }
        // A kill, and a power cut right after the next process has opened the index.
        figures.kills += 1;
        if let Some((change, _)) = run.judge(&run.sim.kill(), run.durable) {
            let disk = run.sim.kill();
            let opened = run.open(&disk).unwrap();
            assert_eq!(opened.index().snapshot().change(), change);
            for disk in disk.crash_states(number ^ cut, STATES_AFTER_KILL) {
                judge(figures, &run, &disk, change);
            }
        }
        if whole {
            return;
        }
    }
}

#[test]
fn texts_are_there_whole_or_not_at_all_after_a_crash_anywhere() {
    let number = |name: &str, default: u64| {
        std::env::var(name).map_or(default, |value| value.parse().unwrap())
    };
    let states =
        number("NEARKIN_CRASH_STATES", campaign::amount(STATES_DEFAULT / 12, STATES_DEFAULT));
    let mut figures = Figures::default();
    for script in number("NEARKIN_CRASH_SEED", 1).. {
        if figures.states >= states {
            break;
        }
        cut_everywhere(script, &mut figures);
        eprintln!("script {script}: {figures:?}");
    }
    assert!(figures.several > 0, "no text had several documents: {figures:?}");
    assert!(figures.readers > 0, "no reader looked: {figures:?}");
}
