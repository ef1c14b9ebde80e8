//! Random scripts: operations on an index, drawn from a seed. Knows no index.
//!
//! Signatures form crowds: they are a few seeds over small alphabets, with small changes. So
//! documents share bands, any number of their rows may be equal, and there are ties.

use crate::Keep;
use crate::format::wal::PAYLOAD_BYTES_MAX;
use crate::index::files::adopt::Adopt;
pub(super) use crate::testing::random::Random as Rng;
use std::collections::BTreeMap;

/// One operation of a batch. `lanes` has one value per row; the layout determines the stored width
/// of a value.
#[derive(Debug, Clone)]
pub(super) enum ModelEdit {
    /// If `payload` is `None`, the stored payload is kept.
    Insert {
        key: Vec<u8>,
        lanes: Vec<u8>,
        payload: Option<Vec<u8>>,
    },
    SetPayload {
        key: Vec<u8>,
        payload: Vec<u8>,
    },
    Remove {
        key: Vec<u8>,
    },
}

/// The lanes and the payload that a key got last.
type LastInsert = (Vec<u8>, Option<Vec<u8>>);

/// The key, lanes and payload of a newcomer.
pub(super) type ScriptNewcomer = (Vec<u8>, Vec<u8>, Option<Vec<u8>>);

/// The terms of a query: the minimum number of equal rows, and the limit.
#[derive(Debug, Clone, Copy)]
pub(super) struct Ask {
    pub(super) rows: u32,
    pub(super) limit: usize,
}

/// Newcomers, and the terms of their admission; thresholds are numbers of equal rows.
#[derive(Debug, Clone)]
pub(super) struct Admitting {
    pub(super) newcomers: Vec<ScriptNewcomer>,
    pub(super) reject: u32,
    pub(super) relate: u32,
    pub(super) keep: Keep,
    pub(super) limit: usize,
    /// Which documents the filter lets pass; 0: there is no filter.
    pub(super) shown: usize,
}

/// Segments to seal and adopt.
#[derive(Debug, Clone)]
pub(super) struct Adopting {
    /// The documents of each segment; no segment has a key twice.
    pub(super) segments: Vec<Vec<ScriptNewcomer>>,
    pub(super) how: Adopt,
    /// The age that the documents have already, in milliseconds.
    pub(super) age: u64,
}

#[derive(Debug, Clone)]
pub(super) enum Op {
    Write(Vec<ModelEdit>),
    Admit(Admitting),
    Adopt(Adopting),
    /// Removes everything older than this many milliseconds.
    RemoveOlder {
        ms: u64,
    },
    RemovePrefix(Vec<u8>),
    Query {
        lanes: Vec<u8>,
        ask: Ask,
    },
    QueryKey {
        key: Vec<u8>,
        ask: Ask,
    },
    QueryKeys {
        keys: Vec<Vec<u8>>,
        ask: Ask,
    },
    Get(Vec<u8>),
    Contains(Vec<u8>),
    Iter,
    Pairs {
        rows: u32,
    },
    Clusters {
        rows: u32,
    },
    /// A call with an invalid argument, which must be refused.
    Refused(usize),
    TakeSnapshot,
    AskSnapshot {
        which: usize,
        lanes: Vec<u8>,
        ask: Ask,
    },
    WalkSnapshot {
        which: usize,
    },
    DropSnapshot {
        which: usize,
    },
    Flush,
    Compact,
    CancelCompact {
        after: usize,
    },
    Maintain,
    Verify,
    Sync,
    Wait {
        ms: u64,
    },
    CloseAndReopen,
    DropAndReopen,
    KillAndReopen,
    CutAndReopen,
    /// The disk stops after this many operations, in the middle of whatever is running then.
    StopLater {
        ops: u64,
        kill: bool,
    },
}

/// Which operations a script may contain.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Mischief {
    /// All operations.
    All,
    /// No operation that may lose a change: then all layouts must give the same answers.
    NoLoss,
}

/// Draws the operations of a script.
#[derive(Debug)]
pub(super) struct Author {
    rng: Rng,
    hashes: usize,
    keys: usize,
    seeds: Vec<Vec<u8>>,
    alphabet: usize,
    mischief: Mischief,
    /// The last value of every key, as far as the author of the script knows.
    last: Vec<Option<LastInsert>>,
}

impl Author {
    pub(super) fn new(seed: u64, hashes: usize, mischief: Mischief) -> Self {
        let mut rng = Rng::new(seed);
        let alphabet = rng.pick(&[2, 4, 16, 256, 256]);
        let crowds = 1 + rng.below(6);
        let mut lanes = || (0..hashes).map(|_| rng.byte(256)).collect::<Vec<_>>();
        let seeds = (0..crowds).map(|_| lanes()).collect();
        let keys = rng.pick(&[4, 25, 80, 200]);
        Self { rng, hashes, keys, seeds, alphabet, mischief, last: vec![None; keys] }
    }

    /// Draws the next operation.
    pub(super) fn op(&mut self) -> Op {
        match self.rng.below(1_000) {
            0..310 => Op::Write(vec![self.edit()]),
            310..365 => {
                let count = 2 + self.rng.below(11);
                Op::Write((0..count).map(|_| self.edit()).collect())
            }
            365..410 => Op::Admit(self.admitting()),
            410..640 => Op::Query { lanes: self.lanes(), ask: self.ask() },
            640..710 => Op::QueryKey { key: self.some_key(), ask: self.ask() },
            710..730 => {
                let count = self.rng.pick(&[0, 1, 2, 3, 20]);
                let keys = (0..count).map(|_| self.some_key()).collect();
                Op::QueryKeys { keys, ask: self.ask() }
            }
            730..790 => Op::Get(self.some_key()),
            790..820 => Op::Contains(self.some_key()),
            820..826 => Op::Iter,
            826..831 => Op::Pairs { rows: self.rows() },
            831..835 => Op::Clusters { rows: self.rows() },
            835..845 => Op::Refused(self.rng.below(6)),
            845..857 => Op::TakeSnapshot,
            857..885 => {
                let which = self.rng.below(8);
                Op::AskSnapshot { which, lanes: self.lanes(), ask: self.ask() }
            }
            885..890 => Op::WalkSnapshot { which: self.rng.below(8) },
            890..898 => Op::DropSnapshot { which: self.rng.below(8) },
            898..906 => Op::Flush,
            906..908 => Op::RemoveOlder { ms: self.rng.pick(&[0, 3, 20, 100, 400]) },
            908..911 => Op::RemovePrefix(self.prefix()),
            911..912 => Op::Compact,
            912..915 => Op::CancelCompact { after: self.rng.below(6) },
            915..955 => Op::Maintain,
            955..958 => Op::Verify,
            958..962 => Op::Sync,
            962..970 => Op::Adopt(self.adopting()),
            970..975 => Op::Wait { ms: self.rng.pick(&[1, 40, 400]) },
            975..980 => Op::CloseAndReopen,
            980..984 => Op::DropAndReopen,
            984..987 => Op::KillAndReopen,
            _ if self.mischief == Mischief::NoLoss => Op::Maintain,
            987..993 => Op::CutAndReopen,
            _ => {
                let ops = self.rng.next() % 60;
                Op::StopLater { ops, kill: self.rng.percent(50) }
            }
        }
    }

    fn edit(&mut self) -> ModelEdit {
        let number = self.rng.below(self.keys);
        let key = key(number);
        match (self.rng.below(100), &self.last[number]) {
            (0..22, _) => {
                self.last[number] = None;
                ModelEdit::Remove { key }
            }
            (32..42, _) => ModelEdit::SetPayload { key, payload: self.payload() },
            (22..32, Some((lanes, payload))) => {
                ModelEdit::Insert { key, lanes: lanes.clone(), payload: payload.clone() }
            }
            _ => {
                let lanes = self.lanes();
                let payload = self.rng.percent(60).then(|| self.payload());
                self.last[number] = Some((lanes.clone(), payload.clone()));
                ModelEdit::Insert { key, lanes, payload }
            }
        }
    }

    fn payload(&mut self) -> Vec<u8> {
        let bytes = if self.rng.percent(1) {
            self.rng.pick(&[40_000, PAYLOAD_BYTES_MAX])
        } else {
            self.rng.pick(&[0, 0, 1, 7, 300])
        };
        (0..bytes).map(|_| self.rng.byte(256)).collect()
    }

    /// A prefix that some keys have, or (seldom) one that all have.
    fn prefix(&mut self) -> Vec<u8> {
        let mut key = self.some_key();
        key.truncate(self.rng.pick(&[1, 2, 2, 20, 21, 4_097]));
        if self.rng.percent(5) { Vec::new() } else { key }
    }

    fn admitting(&mut self) -> Admitting {
        let count = self.rng.pick(&[1, 1, 2, 12]);
        let newcomers = (0..count).map(|_| self.newcomer()).collect();
        let reject = self.rows();
        // `relate` is often 0, which means threshold zero. Even that threshold may require some
        // equal rows.
        let relate = self.rng.pick(&[reject, reject, 0]).min(self.rows());
        let keep = self.rng.pick(&[Keep::First, Keep::First, Keep::Newest, Keep::Longest]);
        let shown = self.rng.pick(&[0, 0, 1, 2]);
        Admitting { newcomers, reject, relate, keep, limit: self.ask().limit, shown }
    }

    /// Draws up to three segments, with keys that may be refused, or with keys that are likely to
    /// be new.
    fn adopting(&mut self) -> Adopting {
        let how = self.rng.pick(&[Adopt::Refuse, Adopt::Replace, Adopt::Replace]);
        let beyond = if how == Adopt::Refuse && self.rng.percent(70) { 1_000 } else { 0 };
        let count = self.rng.pick(&[0, 1, 1, 2, 3]);
        let mut segments = Vec::new();
        for _ in 0..count {
            let mut segment = BTreeMap::new();
            for _ in 0..self.rng.pick(&[1, 2, 5, 30]) {
                let (own, lanes, payload) = self.newcomer();
                let far = key(beyond + self.rng.below(1_000));
                segment.insert(if beyond > 0 { far } else { own }, (lanes, payload));
            }
            let newcomer = |(key, (lanes, payload))| (key, lanes, payload);
            segments.push(segment.into_iter().map(newcomer).collect());
        }
        Adopting { segments, how, age: self.rng.pick(&[0, 0, 5, 100]) }
    }

    fn newcomer(&mut self) -> ScriptNewcomer {
        let number = self.rng.below(self.keys);
        let (lanes, payload) = match &self.last[number] {
            Some(last) if self.rng.percent(10) => last.clone(),
            _ => {
                let payload = vec![self.rng.byte(256); self.rng.pick(&[0, 0, 7])];
                (self.lanes(), self.rng.percent(60).then_some(payload))
            }
        };
        // Recorded even if the newcomer is rejected: later signatures are drawn near this one.
        self.last[number] = Some((lanes.clone(), payload.clone()));
        (key(number), lanes, payload)
    }

    /// A signature near a seed, or near or equal to a stored one.
    fn lanes(&mut self) -> Vec<u8> {
        let number = self.rng.below(self.keys);
        let mut lanes = match &self.last[number] {
            Some((lanes, _)) if self.rng.percent(60) => lanes.clone(),
            _ => self.rng.pick(&self.seeds),
        };
        let changed = self.rng.pick(&[0, 2, 10, 30, 60, 100]);
        for lane in &mut lanes {
            if self.rng.percent(changed) {
                *lane = self.rng.byte(self.alphabet);
            }
        }
        lanes
    }

    /// A key that may be stored, or (seldom) one that is unlikely to be.
    fn some_key(&mut self) -> Vec<u8> {
        let beyond = usize::from(self.rng.percent(10)) * 1_000;
        key(self.rng.below(self.keys) + beyond)
    }

    fn rows(&mut self) -> u32 {
        u32::try_from(self.rng.below(self.hashes + 1)).expect("few rows")
    }

    fn ask(&mut self) -> Ask {
        let rows = if self.rng.percent(30) { 0 } else { self.rows() };
        Ask { rows, limit: self.rng.pick(&[0, 1, 1, 2, 3, 10, usize::MAX]) }
    }
}

/// Keys of many lengths, some of them prefixes of others, with bytes of every kind.
pub(super) fn key(number: usize) -> Vec<u8> {
    let name = number.to_string().into_bytes();
    match number % 6 {
        0 | 1 => name,
        2 => [&[0xff, 0x00][..], &name].concat(),
        3 => [&name[..], &[0]].concat(),
        4 => name.repeat(40),
        _ => [&b"key of a document, "[..], &name].concat(),
    }
}
