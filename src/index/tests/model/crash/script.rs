//! Scripts of the crash campaign: short, with operations that change the layout. Knows no index.
//!
//! To add an operation: a variant of [`CrashStep`], an arm in `Author::step`, and one in
//! `CrashRun::act`. (If the operation needs only the index, make it an `Op` of the model instead,
//! and let the scripts of the model draw it, too.)

use super::super::bench::Layout;
use super::super::script::{Admitting, Adopting, ModelEdit, Op, Rng};
use crate::index::files::adopt::Adopt;
use crate::testing::sim::{Fault, FaultKind};
use crate::{Durability, Keep, Params};
use std::collections::BTreeMap;
use std::time::Duration;

pub(super) const HASHES: usize = 16;

#[derive(Debug, Clone)]
pub(super) enum CrashStep {
    Do(Op),
    /// A second caller acts while the first one waits for its sync.
    Together {
        first: Vec<ModelEdit>,
        second: Second,
    },
    /// Inserts a document whose payload contains records of the log, bound to another offset.
    Forge {
        key: [u8; 4],
    },
    /// Makes a backup with concurrent writes (possibly none).
    Backup {
        meanwhile: Vec<ModelEdit>,
    },
    /// Moves the folder, does an operation, and moves the folder back. Meanwhile another index may
    /// be in its place.
    Moved {
        stranger: bool,
        op: Op,
    },
    /// A cleanup job deletes the lock. A second process may try to open the index before the first
    /// one notices.
    LoseLock {
        second: bool,
    },
    /// Plans a fault: one of the next calls fails.
    Fail(Fault),
    /// The disk now has this many free bytes.
    Shrink {
        bytes: u64,
    },
    /// The disk has space again.
    Grow,
}

#[derive(Debug, Clone)]
pub(super) enum Second {
    /// Before the sync, the second caller repeats the write of the first, which changes nothing.
    Same,
    /// Before the sync, the second caller admits a newcomer that may be similar to a document of
    /// the first caller. If the newcomer is rejected, nothing is written.
    Admit(Admitting),
    /// After the sync, but before the call of the first caller returns, the second caller writes.
    Write(Vec<ModelEdit>),
}

#[derive(Debug, Clone)]
pub(super) struct Script {
    pub(super) number: u64,
    pub(super) layout: Layout,
    pub(super) steps: Vec<CrashStep>,
}

/// A layout with the smallest signature that has several bands.
pub(super) fn layout() -> Layout {
    let builder = Params::builder().hashes(HASHES).bands(4, 3).lane_bits(8);
    Layout::new(&builder.build().expect("sound parameters"))
}

/// What goes wrong in a script.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
enum Trouble {
    None,
    /// Calls fail for lack of space.
    Faults,
    /// The disk is full for a while.
    Full,
    /// A sync fails near the end.
    Sync,
}

/// The script with this number.
pub(super) fn script(number: u64) -> Script {
    let mut rng = Rng::new(number.wrapping_mul(0x5851_f42d_4c95_7f2d));
    let interval = Durability::Interval(Duration::from_millis(100));
    let durability = [Durability::Sync, Durability::OsBuffer, Durability::Sync, interval];
    let trouble = [Trouble::None, Trouble::Faults, Trouble::Full, Trouble::Sync];
    let (which, sort) = (number % 4, (number / 4 + number) % 4);
    let pick = |all: &[Trouble; 4]| all[usize::try_from(sort).expect("below four")];
    let layout = Layout {
        durability: durability[usize::try_from(which).expect("below four")],
        memtable_bytes_max: rng.pick(&[1 << 10, 2 << 10, 4 << 10, 1 << 20]),
        wal_bytes: rng.pick(&[(8 << 10, 8 << 10), (8 << 10, 16 << 10)]),
        tier_segments_max: rng.pick(&[2, 2, 3]),
        step_bytes: rng.pick(&[64, 200, 800, 16 << 20]),
        ttl: rng.pick(&[None, None, Some(6), Some(15)]),
        ..layout()
    };
    let is_by_turns = pick(&trouble) != Trouble::Sync && number % 5 < 2;
    let handles = if is_by_turns { rng.pick(&[1, 2, 3]) } else { 0 };
    let layout = Layout { handles, ..layout };
    // No concurrent callers if documents can expire: an expiry between the two writes would allow
    // more orders than the model knows.
    let callers = layout.durability == Durability::Sync && layout.ttl.is_none();
    let mut author = Author { rng, callers, trouble: pick(&trouble) };
    let mut steps: Vec<CrashStep> = (0..28).map(|_| author.step()).collect();
    // A sync fails; or the disk has no space for an append, which the steps above rarely meet.
    let fault = match author.trouble {
        Trouble::Sync => Some((author.rng.next() % 2, FaultKind::SyncFails)),
        Trouble::Faults => Some((0, FaultKind::Enospc)),
        Trouble::None | Trouble::Full => None,
    };
    if let Some((at, what)) = fault {
        let fault = CrashStep::Fail(Fault { at, what, sticky: false });
        let mut write = || CrashStep::Do(Op::Write(vec![author.edit(), author.edit()]));
        steps.splice(14..14, [write(), fault, write(), write(), write()]);
    }
    // In one script of five, another process interferes with the folder.
    let mut others = Author { rng: Rng::new(!number), ..author };
    for _ in 0..if number % 5 == 2 { 4 } else { 0 } {
        let (at, step) = (others.rng.below(steps.len()), others.of_others());
        steps.insert(at, step);
    }
    Script { number, layout, steps }
}

struct Author {
    rng: Rng,
    /// Whether the script may have concurrent callers.
    callers: bool,
    trouble: Trouble,
}

impl Author {
    fn step(&mut self) -> CrashStep {
        match self.rng.below(100) {
            0..6 if self.callers => {
                CrashStep::Together { first: vec![self.edit()], second: Second::Same }
            }
            6..10 if self.callers => {
                let second = Second::Admit(self.admitting());
                CrashStep::Together { first: vec![self.edit()], second }
            }
            10..16 if self.callers => {
                let second = Second::Write(vec![self.edit()]);
                CrashStep::Together { first: vec![self.edit()], second }
            }
            16..19 => CrashStep::Forge { key: [b'f', b'g', b'e', b'0' + self.byte(3)] },
            19..23 if self.trouble == Trouble::Faults => {
                let what = self.rng.pick(&[FaultKind::Enospc, FaultKind::ShortWrite]);
                CrashStep::Fail(Fault { at: self.rng.next() % 6, what, sticky: false })
            }
            19..27 if self.trouble == Trouble::Full => {
                if self.rng.percent(60) {
                    CrashStep::Shrink { bytes: self.rng.next() % (24 << 10) }
                } else {
                    CrashStep::Grow
                }
            }
            27..37 => CrashStep::Do(self.batch()),
            37..39 => CrashStep::Do(Op::Write(vec![ModelEdit::Remove { key: b"nobody".to_vec() }])),
            39..45 => CrashStep::Do(Op::Flush),
            45..48 => CrashStep::Do(Op::Compact),
            48..49 => CrashStep::Do(Op::CancelCompact { after: 1 + self.rng.below(4) }),
            49..64 => CrashStep::Do(Op::Maintain),
            64..66 => CrashStep::Do(Op::Sync),
            66..67 => CrashStep::Do(Op::RemoveOlder { ms: self.rng.next() % 12 }),
            // Removes by prefix. Most keys are single letters, so a letter matches few documents;
            // the empty prefix matches all.
            92..93 => CrashStep::Do(Op::RemovePrefix(vec![b'a' + self.byte(10)])),
            93..94 => CrashStep::Do(Op::RemovePrefix(Vec::new())),
            67..68 => CrashStep::Do(Op::Wait { ms: 200 }),
            68..71 => CrashStep::Do(Op::CloseAndReopen),
            71..74 => CrashStep::Do(Op::DropAndReopen),
            74..77 => CrashStep::Do(Op::KillAndReopen),
            77..79 => CrashStep::Do(Op::TakeSnapshot),
            79..81 => CrashStep::Do(Op::DropSnapshot { which: 0 }),
            81..82 => CrashStep::Do(Op::WalkSnapshot { which: 0 }),
            82..83 => CrashStep::Do(Op::Verify),
            83..86 => {
                let meanwhile = if self.callers { vec![self.edit()] } else { Vec::new() };
                CrashStep::Backup { meanwhile }
            }
            86..92 => CrashStep::Do(Op::Admit(self.admitting())),
            94..97 => CrashStep::Do(Op::Adopt(self.adopting())),
            _ => CrashStep::Do(Op::Write(vec![self.edit()])),
        }
    }

    /// A step in which another process does something to the folder.
    fn of_others(&mut self) -> CrashStep {
        if self.rng.percent(40) {
            return CrashStep::LoseLock { second: self.rng.percent(60) };
        }
        CrashStep::Moved { stranger: self.rng.percent(60), op: self.in_another_place() }
    }

    /// An operation in a moved folder.
    fn in_another_place(&mut self) -> Op {
        match self.rng.below(4) {
            0 => Op::Flush,
            1 => Op::Compact,
            2 => Op::Maintain,
            _ => self.batch(),
        }
    }

    /// A single newcomer: if there were several, a failing disk could keep an arbitrary part of
    /// them.
    fn admitting(&mut self) -> Admitting {
        let key = vec![b'a' + self.byte(10)];
        let payload = Some(vec![self.byte(256); 5]);
        let newcomers = vec![(key, self.lanes(), payload.filter(|_| self.rng.percent(50)))];
        let (reject, relate) = (self.rng.pick(&[14, 15, 16]), self.rng.pick(&[0, 14]));
        let keep = self.rng.pick(&[Keep::First, Keep::First, Keep::Newest, Keep::Longest]);
        Admitting { newcomers, reject, relate, keep, limit: usize::MAX, shown: 0 }
    }

    /// Two segments, which often share a key.
    fn adopting(&mut self) -> Adopting {
        let how = self.rng.pick(&[Adopt::Refuse, Adopt::Replace, Adopt::Replace]);
        let mut segment = |first: u8| {
            let mut documents = BTreeMap::new();
            for _ in 0..=self.rng.below(4) {
                let payload = Some(vec![self.byte(256); 5]).filter(|_| self.rng.percent(50));
                documents.insert(vec![first + self.byte(10)], (self.lanes(), payload));
            }
            documents.into_iter().map(|(key, (lanes, payload))| (key, lanes, payload)).collect()
        };
        let segments = match how {
            Adopt::Refuse => vec![segment(b'A'), segment(b'K')],
            Adopt::Replace => vec![segment(b'a'), segment(b'a')],
        };
        Adopting { segments, how, age: self.rng.next() % 4 }
    }

    fn lanes(&mut self) -> Vec<u8> {
        let mut lanes = vec![9; HASHES];
        lanes[self.rng.below(HASHES)] = self.byte(4);
        lanes
    }

    fn byte(&mut self, end: usize) -> u8 {
        u8::try_from(self.rng.below(end)).expect("a small number")
    }

    fn batch(&mut self) -> Op {
        let count = 2 + self.rng.below(5);
        Op::Write((0..count).map(|_| self.edit()).collect())
    }

    fn edit(&mut self) -> ModelEdit {
        let key = vec![b'a' + self.byte(10)];
        if self.rng.percent(30) {
            return ModelEdit::Remove { key };
        }
        let lanes = self.lanes();
        let payload = vec![self.byte(256); self.rng.pick(&[0, 0, 5, 40, 700])];
        match self.rng.below(10) {
            0..2 => ModelEdit::SetPayload { key, payload },
            2..5 => ModelEdit::Insert { key, lanes, payload: None },
            _ => ModelEdit::Insert { key, lanes, payload: Some(payload) },
        }
    }
}
