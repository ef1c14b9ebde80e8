//! Tests of tables: they are those of the definition, whatever the memory.

use super::super::tests::{Random, shape};
use super::*;

/// The directory, fingerprints and ordinals of a table by the definition of the format.
fn by_definition(keys: &[u64], groups: u32) -> [Vec<u8>; 3] {
    let entry = |(ordinal, key): (u32, &u64)| {
        let product = u128::from(*key) * u128::from(groups);
        let part = |bits: u128| u32::try_from(bits & 0xffff_ffff).expect("32 bits");
        (part(product >> 64), part(product >> 48 & 0xffff), ordinal)
    };
    let mut entries: Vec<(u32, u32, u32)> = (0..).zip(keys).map(entry).collect();
    entries.sort_unstable();
    let begins = (0..=groups).map(|group| {
        let before = entries.partition_point(|entry| entry.0 < group);
        u32::try_from(before).expect("few").to_le_bytes()
    });
    [
        begins.flatten().collect(),
        entries.iter().flat_map(|entry| entry.1.to_le_bytes()[..2].to_vec()).collect(),
        entries.iter().flat_map(|entry| entry.2.to_le_bytes()).collect(),
    ]
}

/// Computes with `Rebuild` and limited memory what `by_definition` returns, for both tables of
/// an index with one band. Checks the positions of the runs.
fn computed(mut rebuild: Rebuild, signatures: &[u8], hashes: &[u64]) -> [[Vec<u8>; 3]; 2] {
    let mut out: [[Vec<u8>; 3]; 2] = Default::default();
    let mut run = Run::default();
    loop {
        match rebuild.need() {
            Need::Signatures { from } => rebuild.signatures(&signatures[8 * index(from)..]),
            Need::Keys { from } => rebuild.keys(&hashes[index(from)..]),
            Need::Emit => {
                rebuild.emit(&mut run);
                let [directory, fingerprints, ordinals] = &mut out[index(run.table)];
                assert_eq!(directory.len(), 4 * index(run.first_group));
                assert_eq!(ordinals.len(), 4 * index(run.first_entry));
                directory.extend_from_slice(&run.directory);
                fingerprints.extend_from_slice(&run.fingerprints);
                ordinals.extend_from_slice(&run.ordinals);
            }
            Need::Done => return out,
        }
    }
}

/// The same, with the entries of many passes divided; and how often they were.
fn divided(mut rebuild: Rebuild, signatures: &[u8], hashes: &[u64]) -> ([[Vec<u8>; 3]; 2], u32) {
    let mut out: [[Vec<u8>; 3]; 2] = Default::default();
    let (mut run, mut times) = (Run::default(), 0);
    let mut under: Option<(Partitions, Vec<Vec<u64>>)> = None;
    loop {
        let need = rebuild.need();
        if matches!(need, Need::Signatures { .. } | Need::Keys { .. }) {
            under = under.filter(|(partitions, _)| !partitions.are_done(&rebuild));
            if let Some((partitions, stored)) = &under {
                for entry in &stored[rebuild.partition(partitions)] {
                    rebuild.entries(&[*entry]);
                }
                rebuild.end_entries();
                continue;
            }
            if let Some(mut partitions) = rebuild.divide() {
                let mut stored = vec![Vec::new(); partitions.count()];
                while partitions.ordinal() < rebuild.docs {
                    let at = index(partitions.ordinal());
                    let end = index(rebuild.docs).min(at + partitions.docs_max());
                    match need {
                        Need::Keys { .. } => {
                            rebuild.divide_keys(&hashes[at..end], &mut partitions);
                        }
                        _ => {
                            let signatures = &signatures[8 * at..8 * end];
                            rebuild.divide_signatures(signatures, &mut partitions);
                        }
                    }
                    let all = partitions.ordinal() == rebuild.docs;
                    while let Some((partition, entries)) = partitions.full(all) {
                        stored[partition].extend_from_slice(entries);
                    }
                }
                partitions.free();
                rebuild.divided();
                under = Some((partitions, stored));
                times += 1;
                continue;
            }
        }
        match need {
            Need::Signatures { from } => rebuild.signatures(&signatures[8 * index(from)..]),
            Need::Keys { from } => rebuild.keys(&hashes[index(from)..]),
            Need::Emit => {
                rebuild.emit(&mut run);
                let [directory, fingerprints, ordinals] = &mut out[index(run.table)];
                directory.extend_from_slice(&run.directory);
                fingerprints.extend_from_slice(&run.fingerprints);
                ordinals.extend_from_slice(&run.ordinals);
            }
            Need::Done => return (out, times),
        }
    }
}

#[test]
fn tables_are_those_of_the_definition_whatever_the_memory() {
    let mut random = Random(3);
    for docs in [1, 19, 20, 63, 64, 127, 128, 129, 1000, 20_000_u32] {
        // A third of the documents get the value 0, so they share a bucket (a crowd).
        let value = |random: &mut Random| random.next() * u64::from(random.below(3) > 0);
        let signatures: Vec<u8> =
            (0..docs).flat_map(|_| value(&mut random).to_le_bytes()).collect();
        let hashes: Vec<u64> = (0..docs).map(|_| value(&mut random)).collect();
        let keys: Vec<u64> = signatures.chunks(8).map(band_key).collect();
        let groups = groups_of(docs);
        let expected = [by_definition(&keys, groups), by_definition(&hashes, groups)];
        for memory in [0, 600, 3_000, 50_000, 1 << 20] {
            let rebuild = Rebuild::new(&shape(8, 8), docs, memory);
            assert!(computed(rebuild, &signatures, &hashes) == expected);
            let rebuild = Rebuild::new(&shape(8, 8), docs, memory);
            let (out, times) = divided(rebuild, &signatures, &hashes);
            assert!(out == expected);
            assert!(times >= 2 || index(docs) * 8 * 1024 < memory, "{docs} {memory} {times}");
        }
    }
}
