//! A reader beside a writer, interleaved at calls of the disk. Everything that the reader returns
//! must follow the law at the change that it names. This change must not be older than the last one
//! that the log confirms as durable, and no power cut may undo it.
//!
//! `NEARKIN_FOLLOW_SCRIPTS` is the number of scripts, `NEARKIN_FOLLOW_SEED` the number of the first
//! one.

mod between;
mod turns;

use super::bench::{Acts, DIR};
use super::model::{Act, Law, Model};
use super::model::{put, signed};
use super::reading::check_all;
use super::script::Rng;
use super::{PanicNote, number_from_environment};
use crate::testing::sim::Sim;
use crate::{
    Batch, Durability, ErrorKind, Index, Maintained, Maintenance, Options, Params, Reader,
    Signature,
};
use nearkin_sketch::engine::signature_from_parts;
use std::collections::BTreeMap;
use std::path::Path;
use std::sync::atomic::{AtomicBool, AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use turns::{BatonSeat, BatonTurns, Who};

const HASHES: usize = 16;
/// The number of scripts in CI.
const SCRIPTS_DEFAULT: u64 = 40;

fn params() -> Params {
    Params::builder().hashes(HASHES).bands(4, 3).lane_bits(8).build().expect("sound parameters")
}

fn options(number: u64) -> Options {
    let mut rng = Rng::new(number ^ 0xF011);
    let random = Arc::new(AtomicU64::new(rng.next()));
    Options {
        durability: if number.is_multiple_of(3) { Durability::OsBuffer } else { Durability::Sync },
        maintenance: Maintenance::Inline,
        memtable_bytes_max: rng.pick(&[1 << 10, 3 << 10, 1 << 20]),
        wal_bytes_min: 8 << 10,
        wal_bytes_max: rng.pick(&[8 << 10, 16 << 10]),
        tier_segments_max: 2,
        step_bytes: rng.pick(&[200, 16 << 20]),
        clock: Arc::new(|| 7),
        random: Arc::new(move || random.fetch_add(0x9e37_79b9, Ordering::Relaxed)),
        ..Options::default()
    }
}

/// State shared by the writer and the readers.
#[derive(Debug, Default)]
struct WriterProgress {
    /// The documents after each change that the writer has begun.
    models: Mutex<BTreeMap<u64, Model>>,
    /// A reader that opens or refreshes now must see at least this change.
    least: AtomicU64,
    /// Whether all changes that a reader sees are durable. False between a kill of the writer and
    /// the end of its next opening.
    durable: AtomicBool,
    done: AtomicBool,
}

/// The writer: runs one operation after the other, and notes in `progress` what readers must see.
struct FollowedWriter<'a> {
    seat: &'a BatonSeat,
    options: Options,
    index: Option<Index>,
    model: Model,
    progress: &'a WriterProgress,
    rng: Rng,
}

impl FollowedWriter<'_> {
    fn index(&self) -> &Index {
        self.index.as_ref().expect("the index is open")
    }

    fn step(&mut self) {
        match self.rng.below(100) {
            0..60 => self.write(),
            60..68 => self.index().flush().expect("flushed"),
            68..74 => self.index().compact().expect("compacted"),
            74..88 => {
                let done = self.index().maintain().expect("a step");
                if done == Maintained::Noted {
                    self.tell(self.index().durable_change());
                }
            }
            88..92 => {
                self.index().sync().expect("synced");
            }
            92..96 => {
                self.index.take().expect("open").close().expect("closed");
                self.tell(self.model.change);
                self.open();
            }
            _ => {
                // Between the kill and the next open, readers also see changes that are not
                // durable.
                self.progress.durable.store(false, Ordering::SeqCst);
                drop(self.index.take());
                self.open();
                self.tell(self.model.change);
                self.progress.durable.store(true, Ordering::SeqCst);
            }
        }
        if let Some(index) = &self.index {
            self.tell(index.core().writer().catalog.row().floor);
        }
    }

    fn tell(&self, least: u64) {
        self.progress.least.fetch_max(least, Ordering::SeqCst);
    }

    fn open(&mut self) {
        let disk = Arc::clone(&self.seat.disk);
        let opened = Index::open_on(disk, Path::new(DIR), self.options.clone());
        self.index = Some(opened.expect("readers keep no writer out"));
    }

    fn write(&mut self) {
        let mut batch = Batch::new();
        let mut acts: Acts = Vec::new();
        for _ in 0..=self.rng.below(3) {
            let key = vec![b'a' + u8::try_from(self.rng.below(12)).expect("small")];
            if self.rng.percent(30) {
                batch = batch.remove(&key);
                acts.push((key, Act::Remove));
                continue;
            }
            let signature = signature(&mut self.rng);
            let payload = vec![1; self.rng.pick(&[0, 5, 300])];
            if self.rng.percent(40) {
                batch = batch.insert(&key, &signature);
                acts.push((key, put(&signature, None, 7)));
                continue;
            }
            batch = batch.insert_with_payload(&key, &signature, &payload);
            acts.push((key, put(&signature, Some(&payload), 7)));
        }
        let before = self.model.change;
        self.model.write(&acts);
        let change = self.model.change;
        self.progress.models.lock().expect("sound").insert(change, self.model.clone());
        let written = self.index().write(&batch).expect("written");
        assert_eq!(written.change, change);
        if change > before && self.options.durability == Durability::Sync {
            // The record of this change says that the previous change is durable.
            self.tell(before);
        }
    }
}

fn signature(rng: &mut Rng) -> Signature {
    let mut lanes = vec![9; HASHES];
    lanes[rng.below(HASHES)] = u8::try_from(rng.below(4)).expect("small");
    signature_from_parts(&params(), 3, lanes.into_boxed_slice())
}

/// Counts of what the readers did, and of the results.
#[derive(Debug, Default, Clone, Copy)]
struct Figures {
    opened: u64,
    refreshed: u64,
    newer: u64,
    unsettled: u64,
    cut: u64,
}

/// The reader: opens, refreshes, and checks what it sees.
struct Judge<'a> {
    seat: &'a BatonSeat,
    sim: &'a Sim,
    progress: &'a WriterProgress,
    options: Options,
    rng: Rng,
    figures: Figures,
    readers: Vec<Reader>,
}

impl Judge<'_> {
    fn step(&mut self) {
        let least = self.progress.least.load(Ordering::SeqCst);
        let durable = self.progress.durable.load(Ordering::SeqCst);
        let opens = self.readers.is_empty() || self.rng.percent(25);
        if opens {
            let disk = Arc::clone(&self.seat.disk);
            match Reader::open_on(disk, Path::new(DIR), self.options.clone()) {
                Ok(reader) => self.readers.push(reader),
                Err(error) => return self.unsettled(&error),
            }
            self.figures.opened += 1;
        } else {
            let which = self.rng.below(self.readers.len());
            let reader = &mut self.readers[which];
            let before = reader.change();
            match reader.refresh() {
                Ok(newer) => {
                    assert_eq!(newer, reader.change() > before);
                    assert!(reader.change() >= before, "back to {}", reader.change());
                    self.figures.newer += u64::from(newer);
                }
                Err(error) => return self.unsettled(&error),
            }
            self.figures.refreshed += 1;
            let reader = self.readers.remove(which);
            self.readers.push(reader);
        }
        let change = self.readers.last().expect("one").change();
        assert!(change >= least, "change {change} is seen, {least} was noted");
        // The disk may have changed since the reader looked at it, but everything that the reader
        // saw must survive.
        if durable && self.progress.durable.load(Ordering::SeqCst) && self.rng.percent(30) {
            self.cut_power(change);
        }
        self.check();
        if self.readers.len() > 2 {
            self.readers.remove(0);
        }
    }

    fn unsettled(&mut self, error: &crate::Error) {
        assert_eq!(error.kind(), ErrorKind::Unsettled, "{error:?}");
        self.figures.unsettled += 1;
    }

    /// Compares the newest reader with the law at its change, whatever the writer does meanwhile.
    fn check(&mut self) {
        let reader = self.readers.last().expect("one");
        let models = self.progress.models.lock().expect("sound");
        let model = models.get(&reader.change()).expect("a change that was started").clone();
        drop(models);
        check_all(&reader.snapshot(), &model).expect("what is seen can be read");
        let law = Law { hashes: HASHES, bands: 4, rows: 3, lane_bytes: 1, is_plain: true };
        let query = signature(&mut self.rng);
        let least = law.least_of(6);
        let answer = reader.query(&query).alike(least.alike()).run().expect("answered");
        let found = answer.matches.into_iter();
        let found = found.map(|m| (m.key, m.payload, m.time, m.equal_rows)).collect::<Vec<_>>();
        assert_eq!(found, model.query(&law, signed(&query), least, None));
    }

    fn cut_power(&mut self, seen: u64) {
        self.figures.cut += 1;
        for state in self.sim.crash_states(self.rng.next(), 3) {
            let index = Index::open_on(Arc::new(state), Path::new(DIR), self.options.clone());
            let left = index.expect("it opens").snapshot().change();
            assert!(left >= seen, "change {seen} was seen, a power cut leaves {left}");
        }
    }
}

/// Runs a writer with readers beside it.
fn run(number: u64) -> Figures {
    let _place = PanicNote(format!("follow {number}"));
    let sim = Sim::new();
    let progress = WriterProgress::default();
    progress.models.lock().expect("sound").insert(0, Model::default());
    progress.durable.store(true, Ordering::SeqCst);
    let options = options(number);
    let index = Index::create_on(Arc::new(sim.clone()), Path::new(DIR), &params(), options.clone());
    index.expect("created").close().expect("closed");
    let turns = BatonTurns::new(number);
    let mut rng = Rng::new(number);
    let (writing, reading) = (Rng::new(rng.next()), Rng::new(rng.next()));
    std::thread::scope(|scope| {
        let (sim, progress, turns) = (&sim, &progress, &turns);
        let of_writer = options.clone();
        scope.spawn(move || {
            let seat = BatonSeat::new(sim, turns, Who::Writer);
            let (options, rng) = (of_writer, writing);
            let model = Model::default();
            let mut writer =
                FollowedWriter { seat: &seat, options, index: None, model, progress, rng };
            writer.open();
            for _ in 0..60 {
                writer.step();
            }
            progress.durable.store(false, Ordering::SeqCst);
            drop(writer);
            progress.done.store(true, Ordering::SeqCst);
        });
        let judge = scope.spawn(move || {
            let seat = BatonSeat::new(sim, turns, Who::Reader);
            let (figures, readers) = (Figures::default(), Vec::new());
            let rng = reading;
            let mut judge = Judge { seat: &seat, sim, progress, options, rng, figures, readers };
            while !progress.done.load(Ordering::SeqCst) {
                judge.step();
            }
            // The writer has ended, so all changes must be visible.
            for reader in &mut judge.readers {
                reader.refresh().expect("refreshed");
                let last = *progress.models.lock().expect("sound").keys().last().expect("one");
                assert_eq!(reader.change(), last);
            }
            judge.figures
        });
        judge.join().unwrap_or_else(|panic| std::panic::resume_unwind(panic))
    })
}

#[test]
fn a_reader_beside_a_writer_sees_the_law_and_only_durable_state() {
    let scripts = number_from_environment("NEARKIN_FOLLOW_SCRIPTS", SCRIPTS_DEFAULT);
    let first = number_from_environment("NEARKIN_FOLLOW_SEED", 1);
    let mut all = Figures::default();
    for number in first..first + scripts {
        let figures = run(number);
        all.opened += figures.opened;
        all.refreshed += figures.refreshed;
        all.newer += figures.newer;
        all.unsettled += figures.unsettled;
        all.cut += figures.cut;
    }
    eprintln!("{scripts} scripts: {all:?}");
    assert!(all.newer > scripts && all.cut > scripts, "readers have seen something: {all:?}");
    assert!(all.unsettled * 100 < all.opened + all.refreshed, "readers get through: {all:?}");
}
