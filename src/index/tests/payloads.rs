//! Kept payloads: their size limit and their form in the log. And power cuts during removes by
//! prefix.

use super::copies::{DIR, disk, options, params, signature};
use crate::testing::sim::Sim;
use crate::{Batch, ErrorKind, Index, Options, Outcome, Signature};
use std::collections::BTreeSet;
use std::path::Path;

/// In tests, the maximum total size of the payloads that one batch keeps.
const KEPT_BYTES_MAX: usize = 1 << 20;
const PAYLOAD_BYTES: usize = 65_536;

fn create(sim: &Sim, options: Options) -> Index {
    Index::create_on(disk(sim), Path::new(DIR), &params(), options).expect("created")
}

fn one(value: u8) -> Signature {
    signature(&params(), value)
}

#[test]
fn too_many_kept_payloads_are_refused_and_nothing_is_written() {
    let index = create(&Sim::new(), options());
    let count = u8::try_from(KEPT_BYTES_MAX / PAYLOAD_BYTES).expect("few") + 1;
    for key in 0..count {
        let payload = vec![key; PAYLOAD_BYTES];
        index.insert_with_payload([key], &one(1), payload).expect("inserted");
    }
    let before = index.snapshot();
    let insert = |keys: std::ops::Range<u8>, value| {
        let batch = keys.fold(Batch::new(), |batch, key| batch.insert([key], &one(value)));
        index.write(batch)
    };
    for _ in 0..2 {
        let error = insert(0..count, 2).expect_err("too much would stay");
        assert_eq!(error.kind(), ErrorKind::Invalid);
        assert!(error.to_string().contains("split the batch"), "{error}");
        assert_eq!(index.snapshot().change(), before.change());
        index.flush().expect("flushed");
    }
    // An unchanged payload is kept without being read, whatever its size.
    assert_eq!(insert(0..count, 1).expect("the same").count(Outcome::Unchanged), u64::from(count));
    // A cleared payload is not kept.
    let cleared = |batch: Batch, key: u8| batch.insert_with_payload([key], &one(2), "");
    index.write((0..2).fold(Batch::new(), cleared)).expect("written");
    let written = insert(0..count, 3).expect("16 of them fit");
    assert_eq!(written.count(Outcome::Replaced), u64::from(count));
    for key in 2..count {
        let payload = index.get([key]).expect("read").expect("stored").payload;
        assert_eq!(payload, vec![key; PAYLOAD_BYTES]);
    }
}

/// The log holds the complete document: an index that replays only the log gets the same payload.
#[test]
fn a_record_holds_what_stays() {
    let sim = Sim::new();
    let index = create(&sim, options());
    index.insert_with_payload("a", &one(1), "stays").expect("inserted");
    index.flush().expect("flushed");
    index.insert("a", &one(2)).expect("replaced");
    index.set_payload("b", "nobody").expect("missing");
    index.insert("b", &one(3)).expect("inserted");
    index.set_payload("b", "set").expect("set");
    let entry = index.core.writer().catalog.row().wal.expect("a log");
    let identity = index.core.wal_identity(entry, 1);
    let path = index.core.names.numbered(entry.number, crate::storage::names::Ending::Wal);
    let bytes = params().signature_bytes();
    let replay =
        crate::wal::LogReader::replay(&sim, &path, &identity, bytes).expect("it can be read");
    let mut found = Vec::new();
    for (_, operations) in replay.changes(bytes) {
        for operation in operations {
            match operation.expect("it decodes") {
                crate::format::wal::LoggedOperation::Insert { key, payload, signature, .. } => {
                    found.push((key.to_vec(), payload.to_vec(), signature[0]));
                }
                crate::format::wal::LoggedOperation::Remove { key } => panic!("{key:?} is removed"),
            }
        }
    }
    let expected = [("a", "stays", 2), ("b", "", 3), ("b", "set", 3)]
        .map(|(key, payload, value)| (key.as_bytes().to_vec(), payload.as_bytes().to_vec(), value));
    assert_eq!(found, expected);
}

#[test]
fn a_power_cut_in_remove_prefix_leaves_whole_batches() {
    const OLD: u8 = 90;
    // A batch of 1 KiB holds 45 removes with keys of 2 bytes, so the 90 removes are two batches.
    let small = || Options { batch_bytes_max: 1 << 10, ..options() };
    let filled = || {
        let sim = Sim::new();
        let index = create(&sim, small());
        for part in [0..40, 40..OLD] {
            for some in part.collect::<Vec<u8>>().chunks(20) {
                let insert = |batch: Batch, key: &u8| batch.insert([b'k', *key], &one(3));
                index.write(some.iter().fold(Batch::new(), insert)).expect("written");
            }
            index.flush().expect("flushed");
        }
        index.insert("other", &one(4)).expect("inserted");
        (sim, index)
    };
    let mut left = BTreeSet::new();
    for cut in 0.. {
        let (sim, index) = filled();
        let before = index.snapshot().change();
        sim.power_cut_at(sim.ops() + cut);
        let done = index.remove_prefix("k");
        drop(index);
        for state in sim.crash_states(cut, 16) {
            let index = Index::open_on(disk(&state), Path::new(DIR), small()).expect("opens");
            let batches = index.snapshot().change() - before;
            left.insert(batches);
            let gone = u8::try_from((45 * batches).min(OLD.into())).expect("few");
            for key in 0..OLD {
                let is_there = index.contains([b'k', key]).expect("read");
                assert_eq!(is_there, key >= gone, "{key} after {batches} batches");
            }
            assert!(index.contains("other").expect("read"));
            if done.is_ok() {
                assert_eq!(batches, 2);
            }
        }
        if let Ok(removed) = done {
            assert_eq!((removed, left), (OLD.into(), BTreeSet::from([0, 1, 2])));
            return;
        }
    }
}
