//! Scripts made from the bytes of a fuzzer: each byte is one choice, so changing a byte changes
//! little.

use super::bench::{Bench, Layout};
use super::script::{Admitting, Adopting, Ask, ModelEdit, Op, Rng, key};
use super::shape;
use crate::Keep;
use crate::index::files::adopt::Adopt;
use crate::testing::fuzzing::input::FuzzInput;
use std::collections::BTreeMap;

/// Maximum number of operations of a script.
const OPS_MAX: usize = 200;

/// Runs the script that the bytes describe.
pub(crate) fn fuzz(data: &[u8]) {
    let mut input = FuzzInput::new(data);
    let params = shape(u64::from(input.u8() % 5));
    let seed = u64::from(input.u8());
    let mut rng = Rng::new(seed);
    let layout = Layout::random(&params, &mut rng);
    let mut bench = Bench::new(layout, seed);
    for _ in 0..OPS_MAX {
        if input.is_empty() {
            break;
        }
        bench.step(&op(&mut input, params.hashes()));
    }
}

fn op(input: &mut FuzzInput<'_>, hashes: usize) -> Op {
    match input.u8() % 32 {
        0..=8 => Op::Write(vec![edit(input, hashes)]),
        9 | 10 => {
            let count = 2 + input.below(10);
            Op::Write((0..count).map(|_| edit(input, hashes)).collect())
        }
        11 => Op::Admit(admitting(input, hashes)),
        12..=14 => Op::Query { lanes: lanes(input, hashes), ask: ask(input, hashes) },
        15 => Op::QueryKeys {
            keys: (0..input.below(4)).map(|_| some_key(input)).collect(),
            ask: ask(input, hashes),
        },
        16 => Op::QueryKey { key: some_key(input), ask: ask(input, hashes) },
        17 => Op::Get(some_key(input)),
        18 => Op::Pairs { rows: rows(input, hashes) },
        19 => Op::Clusters { rows: rows(input, hashes) },
        20 => Op::TakeSnapshot,
        21 => Op::WalkSnapshot { which: input.below(4) },
        22 => Op::AskSnapshot {
            which: input.below(4),
            lanes: lanes(input, hashes),
            ask: ask(input, hashes),
        },
        23 => Op::DropSnapshot { which: input.below(4) },
        24 => Op::Flush,
        25 => match input.u8() % 4 {
            0 => Op::Compact,
            1 => Op::CancelCompact { after: input.below(6) },
            2 => Op::Iter,
            _ => Op::Refused(input.below(6)),
        },
        26 => match input.u8() % 4 {
            0 => Op::RemoveOlder { ms: u64::from(input.u8()) },
            1 => Op::RemovePrefix(some_key(input)),
            _ => Op::Maintain,
        },
        27 if input.u8().is_multiple_of(2) => Op::Adopt(adopting(input, hashes)),
        27 => Op::Sync,
        28 => match input.u8() % 3 {
            0 => Op::Verify,
            1 => Op::Wait { ms: u64::from(input.u8()) },
            _ => Op::Contains(some_key(input)),
        },
        29 => Op::CloseAndReopen,
        30 => match input.u8() % 3 {
            0 => Op::DropAndReopen,
            1 => Op::KillAndReopen,
            _ => Op::CutAndReopen,
        },
        _ => Op::StopLater { ops: u64::from(input.u8() % 60), kill: input.u8().is_multiple_of(2) },
    }
}

fn edit(input: &mut FuzzInput<'_>, hashes: usize) -> ModelEdit {
    let choice = input.u8();
    let key = key(usize::from(choice / 4));
    match choice % 4 {
        0 => return ModelEdit::Remove { key },
        1 if input.u8().is_multiple_of(2) => {
            return ModelEdit::SetPayload { key, payload: vec![choice; input.below(3)] };
        }
        _ => {}
    }
    let lanes = lanes(input, hashes);
    let payload = [None, None, Some(1), Some(300)][usize::from(choice % 4)];
    ModelEdit::Insert { key, lanes, payload: payload.map(|bytes| vec![choice; bytes]) }
}

fn admitting(input: &mut FuzzInput<'_>, hashes: usize) -> Admitting {
    let newcomers = (0..=input.below(3)).map(|_| {
        let (key, lanes) = (some_key(input), lanes(input, hashes));
        (key, lanes, [None, Some(Vec::new()), Some(vec![1])][input.below(3)].clone())
    });
    let newcomers = newcomers.collect();
    let (one, other) = (rows(input, hashes), rows(input, hashes));
    let keep = [Keep::First, Keep::Newest, Keep::Longest][input.below(3)];
    let limit = ask(input, hashes).limit;
    let (reject, relate, shown) = (one.max(other), one.min(other), input.below(3));
    Admitting { newcomers, reject, relate, keep, limit, shown }
}

fn adopting(input: &mut FuzzInput<'_>, hashes: usize) -> Adopting {
    let mut segments = Vec::new();
    for _ in 0..input.below(4) {
        let documents = (0..=input.below(5)).map(|_| {
            let (key, lanes) = (some_key(input), lanes(input, hashes));
            (key, (lanes, [None, Some(vec![1])][input.below(2)].clone()))
        });
        let documents: BTreeMap<_, _> = documents.collect();
        let newcomer = |(key, (lanes, payload))| (key, lanes, payload);
        segments.push(documents.into_iter().map(newcomer).collect());
    }
    let how = [Adopt::Refuse, Adopt::Replace][input.below(2)];
    Adopting { segments, how, age: u64::from(input.u8()) }
}

/// One of four signatures, with a few rows changed.
fn lanes(input: &mut FuzzInput<'_>, hashes: usize) -> Vec<u8> {
    let choice = input.u8();
    let mut rng = Rng::new(u64::from(choice % 4));
    let mut lanes: Vec<u8> = (0..hashes).map(|_| rng.next().to_le_bytes()[0]).collect();
    for _ in 0..choice / 4 % 4 {
        let row = input.below(hashes);
        lanes[row] = input.u8();
    }
    lanes
}

fn some_key(input: &mut FuzzInput<'_>) -> Vec<u8> {
    key(input.below(66))
}

fn rows(input: &mut FuzzInput<'_>, hashes: usize) -> u32 {
    u32::try_from(input.below(hashes + 1)).expect("few rows")
}

fn ask(input: &mut FuzzInput<'_>, hashes: usize) -> Ask {
    let rows = rows(input, hashes);
    Ask { rows, limit: [usize::MAX, 0, 1, 3][input.below(4)] }
}
