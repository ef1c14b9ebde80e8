//! A sharded index compared with one index of the same documents; concurrent writers, and power
//! cuts.

use super::copies::{disk, options, params};
use crate::index::files::adopt::Adopt;
use crate::index::files::seal::{Sealed, seal_on};
use crate::index::files::sharded::{Manifest, ManifestFile, Shards, shard_of};
use crate::storage::Storage;
use crate::testing::planted::{Bug, assert_caught};
use crate::testing::sim::Sim;
use crate::{Document, Error, ErrorKind, Index, Options, Reader, Result, Snapshot};
use nearkin_sketch::engine::signature_from_parts;
use std::collections::BTreeMap;
use std::path::{Path, PathBuf};
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

pub(super) const DIR: &str = "/lake/papers.nearkin";
const PLAIN: &str = "/plain/papers.nearkin";

/// Options whose random numbers are determined by the seed, and differ between seeds.
pub(super) fn own_options(seed: u64) -> Options {
    let next = AtomicU64::new(seed << 32);
    let random = move || {
        let number = next.fetch_add(1, Ordering::Relaxed);
        number.wrapping_mul(0x9e37_79b9_7f4a_7c15) ^ number >> 7
    };
    Options { random: Arc::new(random), ..options() }
}

pub(super) fn document(at: u32, version: u8) -> Document {
    let family = u8::try_from(at % 23).expect("small");
    let row = |row: u32| if (row * 7 + at).is_multiple_of(9) { 100 + version } else { family };
    let lanes: Vec<u8> = (0..16).map(row).collect();
    let signature = signature_from_parts(&params(), 3, lanes.into_boxed_slice());
    let document = Document::new(format!("k{at}"), signature);
    document.with_payload([version, 1]).with_time(u64::from(at))
}

pub(super) fn create(sim: &Sim, shards: u32) -> Shards {
    Shards::create_on(&disk(sim), Path::new(DIR), &params(), shards, own_options(1))
        .expect("created")
}

/// Seals the documents, one segment per shard, and places the segments.
pub(super) fn seal_all(
    sim: &Sim,
    shards: &Shards,
    job: u64,
    documents: &[Document],
) -> Result<Vec<(u32, Sealed)>> {
    let mut by_shard: BTreeMap<u32, Vec<Document>> = BTreeMap::new();
    for document in documents {
        let shard = shard_of(&document.key, shards.shards());
        by_shard.entry(shard).or_default().push(document.clone());
    }
    let mut sealed = Vec::new();
    for (shard, documents) in by_shard {
        let path = PathBuf::from(format!("/lake/part-{job}-{shard}"));
        let ticket = shards.ticket(job, shard)?;
        let one = seal_on(&disk(sim), &params(), documents, &ticket, &path)?;
        shards.place(&path, &one)?;
        sealed.push((shard, one));
    }
    Ok(sealed)
}

fn insert(index: &Index, documents: &[Document]) {
    for document in documents {
        index.write(crate::Batch::new().insert_document(document)).expect("written");
    }
}

pub(super) fn reader(sim: &Sim) -> Reader {
    Reader::open_on(disk(sim), Path::new(DIR), options()).expect("opened")
}

/// All answers of an index.
fn all(snapshot: &Snapshot) -> Vec<String> {
    let documents = snapshot.iter().map(|document| document.expect("read"));
    let mut documents: Vec<_> = documents.collect();
    documents.sort_by(|a, b| a.key.cmp(&b.key));
    let mut said = Vec::new();
    let signatures: Vec<_> = documents.iter().map(|found| found.signature.clone()).collect();
    let many = snapshot.queries(&signatures).threshold(0.5).limit(7).run().expect("answered");
    for (document, of_many) in documents.iter().zip(many) {
        let one = snapshot.query(&document.signature).threshold(0.5).limit(7).run();
        let one = one.expect("answered");
        assert_eq!(format!("{:?}", one.matches), format!("{:?}", of_many.matches));
        let by_key = snapshot.query_key(&document.key).threshold(0.3).run().expect("answered");
        let got = snapshot.get(&document.key).expect("read").expect("there");
        assert_eq!(&got, document);
        said.push(format!("{document:?} {:?} {:?}", one.matches, by_key.matches));
    }
    for threshold in [0.3, 0.8] {
        let pairs = snapshot.pairs(threshold).expect("pairs");
        let mut pairs: Vec<_> = pairs.map(|pair| format!("{:?}", pair.expect("sound"))).collect();
        pairs.sort_unstable();
        said.extend(pairs);
        let go_on = &mut |_| std::ops::ControlFlow::Continue(());
        let clusters = snapshot.clusters_with(threshold, go_on).expect("clusters");
        let mut clusters: Vec<_> = clusters.map(|c| format!("{:?}", c.expect("sound"))).collect();
        clusters.sort_unstable();
        said.extend(clusters);
    }
    assert_eq!(documents.len() as u64, snapshot.len());
    said
}

/// Replaces and removes documents in both indexes. The sharded index finds these documents only if
/// a compaction has left each segment in the shard of its keys.
fn replace_and_remove(sim: &Sim, shards: &mut Shards, plain: &Index) {
    let newer: Vec<_> = (0..40).map(|at| document(at, 3)).collect();
    let sealed = seal_all(sim, shards, 10, &newer).expect("sealed");
    let imported = shards.append(&sealed, Adopt::Replace, None).expect("appended");
    assert_eq!((imported.inserted, imported.replaced), (0, 40));
    insert(plain, &newer);
    let gone: Vec<String> = (60..90).map(|at| format!("k{at}")).collect();
    assert_eq!(shards.remove(gone.iter().map(String::as_str)).expect("removed"), 30);
    for key in &gone {
        plain.remove(key.as_str()).expect("removed");
    }
}

#[test]
fn any_number_of_shards_says_what_one_index_says() {
    for count in [1, 2, 7] {
        let sim = Sim::new();
        let plain = Index::create_on(disk(&sim), Path::new(PLAIN), &params(), options());
        let plain = plain.expect("created");
        let mut shards = create(&sim, count);
        let held = reader(&sim);
        assert!(held.is_empty());
        let check = |what: &str| {
            held.refresh().expect("refreshed");
            let expected = all(&plain.snapshot());
            assert!(all(&held.snapshot()) == expected, "{what}, {count} shards");
            assert!(all(&reader(&sim).snapshot()) == expected, "{what}, {count} shards");
            let verified = held.verify().expect("verified");
            assert!(verified.problems.is_empty(), "{what}: {verified:?}");
            assert_eq!(held.stats().expect("stats").documents, plain.len());
        };
        let first: Vec<_> = (0..120).map(|at| document(at, 1)).collect();
        for (job, part) in (0..).zip(first.chunks(50)) {
            let sealed = seal_all(&sim, &shards, job, part).expect("sealed");
            let imported = shards.append(&sealed, Adopt::Refuse, None).expect("appended");
            assert_eq!(imported.inserted, part.len() as u64);
            insert(&plain, part);
        }
        check("appended");
        let newer: Vec<_> = (100..140).map(|at| document(at, 2)).collect();
        let sealed = seal_all(&sim, &shards, 9, &newer).expect("sealed");
        let imported = shards.append(&sealed, Adopt::Replace, Some(b"batch 9")).expect("appended");
        assert_eq!((imported.inserted, imported.replaced), (20, 20));
        insert(&plain, &newer);
        check("replaced");
        let gone: Vec<String> = (90..115).map(|at| format!("k{at}")).collect();
        let keys = gone.iter().map(String::as_str).chain(["k91", "never there"]);
        assert_eq!(shards.remove(keys).expect("removed"), 25);
        for key in &gone {
            plain.remove(key.as_str()).expect("removed");
        }
        check("removed");
        assert_eq!(shards.remove(["never there"]).expect("none"), 0);
        for shard in 0..count {
            assert!(shards.compact(shard).expect("compacted"), "shard {shard}");
            assert!(!shards.compact(shard).expect("nothing to do"), "shard {shard}");
        }
        check("compacted");
        assert_eq!(reader(&sim).stats().expect("stats").segments, u64::from(count));
        assert!(shards.sweep().expect("swept") >= u64::from(4 * count));
        check("swept");
        replace_and_remove(&sim, &mut shards, &plain);
        check("changed once more");
        assert_eq!(shards.note(), b"batch 9");
        let again = Shards::open_on(&disk(&sim), Path::new(DIR), options()).expect("opened");
        assert_eq!((again.shards(), again.generation()), (count, shards.generation()));
    }
}

#[test]
fn one_of_two_commits_on_a_generation_fails_without_effect() {
    let sim = Sim::new();
    let mut one = create(&sim, 2);
    let mut other = Shards::open_on(&disk(&sim), Path::new(DIR), own_options(2)).expect("opened");
    let ones = seal_all(&sim, &one, 1, &[document(1, 1), document(2, 1)]).expect("sealed");
    let others = seal_all(&sim, &other, 2, &[document(3, 1)]).expect("sealed");
    one.append(&ones, Adopt::Refuse, None).expect("first");
    let before = all(&reader(&sim).snapshot());
    let lost = other.append(&others, Adopt::Refuse, None).expect_err("second");
    assert_eq!(lost.kind(), ErrorKind::Unsettled, "{lost}");
    let lost = other.remove(["k1"]).map(drop);
    assert!(lost.is_ok(), "it does not see k1 yet");
    assert_eq!(all(&reader(&sim).snapshot()), before);
    let left = sim.snapshot_of_files();
    assert!(!left.keys().any(|path| path.extension().is_some_and(|ending| ending == "tmp")));
    other.refresh().expect("refreshed");
    other.append(&others, Adopt::Refuse, None).expect("appended");
    assert_eq!(reader(&sim).len(), 3);
    assert_eq!(other.generation(), 3);
}

/// Cuts the power at every operation of sealing, placing and listing. The result must be the
/// previous generation or the next one, never a part, and the next writer must be able to continue.
#[test]
fn a_crash_while_appending_leaves_all_or_nothing() {
    let begin = |sim: &Sim| {
        let mut shards = create(sim, 2);
        let old = [document(1, 1), document(2, 1), document(24, 1)];
        let sealed = seal_all(sim, &shards, 1, &old).expect("sealed");
        shards.append(&sealed, Adopt::Refuse, None).expect("appended");
        shards
    };
    let work = |sim: &Sim, shards: &mut Shards| -> Result<()> {
        let new = [document(2, 2), document(3, 2), document(24, 3), document(47, 1)];
        let sealed = seal_all(sim, shards, 2, &new)?;
        shards.append(&sealed, Adopt::Replace, Some(b"2")).map(drop)
    };
    let whole = Sim::new();
    let mut shards = begin(&whole);
    let before = all(&reader(&whole).snapshot());
    let first = whole.ops();
    work(&whole, &mut shards).expect("done");
    let ops = whole.ops() - first;
    let after = all(&reader(&whole).snapshot());
    assert!(before != after && ops > 20, "{ops}");
    for cut in 0..=ops {
        let sim = Sim::new();
        let mut shards = begin(&sim);
        sim.power_cut_at(sim.ops() + cut);
        let acknowledged = work(&sim, &mut shards).is_ok();
        drop(shards);
        for state in sim.crash_states(cut, 8) {
            let found = all(&reader(&state).snapshot());
            assert!(found == before || found == after, "cut at {cut} of {ops}");
            assert!(!acknowledged || found == after, "an acknowledged commit is lost");
            if found == before {
                let dir = Path::new(DIR);
                let mut next = Shards::open_on(&disk(&state), dir, own_options(cut + 9));
                let next = next.as_mut().expect("opened");
                next.sweep().expect("swept");
                let new = [document(3, 2)];
                let sealed = seal_all(&state, next, 3, &new).expect("sealed");
                next.append(&sealed, Adopt::Refuse, None).expect("appended");
                assert_eq!(reader(&state).len(), 4);
            }
        }
    }
}

#[test]
fn invalid_appends_and_placements_are_refused() {
    let sim = Sim::new();
    let mut shards = create(&sim, 7);
    let kind = |refused: Result<crate::Imported>| refused.map_err(|error: Error| error.kind());
    let sealed = seal_all(&sim, &shards, 1, &[document(1, 1)]).expect("sealed");
    let (shard, one) = sealed[0];
    let elsewhere = [((shard + 1) % 7, one)];
    assert_eq!(kind(shards.append(&elsewhere, Adopt::Refuse, None)), Err(ErrorKind::Invalid));
    assert_eq!(kind(shards.append(&[(7, one)], Adopt::Refuse, None)), Err(ErrorKind::Invalid));
    let twice = [(shard, one), (shard, one)];
    assert_eq!(kind(shards.append(&twice, Adopt::Refuse, None)), Err(ErrorKind::Invalid));
    let note = vec![0; 70_000];
    let long = shards.append(&sealed, Adopt::Refuse, Some(&note));
    assert_eq!(kind(long), Err(ErrorKind::Invalid));
    assert_eq!(shards.generation(), 1);
    shards.append(&sealed, Adopt::Refuse, None).expect("appended");
    assert_eq!(kind(shards.append(&sealed, Adopt::Refuse, None)), Err(ErrorKind::Invalid));
    let again = seal_all(&sim, &shards, 2, &[document(1, 1)]).expect("sealed");
    assert_eq!(kind(shards.append(&again, Adopt::Refuse, None)), Err(ErrorKind::Exists));
    // A segment that was sealed but never placed cannot be listed.
    let ticket = shards.ticket(5, 0).expect("small");
    let path = Path::new("/lake/loose");
    let loose = seal_on(&disk(&sim), &params(), vec![document(1, 3)], &ticket, path);
    let loose = loose.expect("sealed");
    assert_eq!(
        kind(shards.append(&[(shard, loose)], Adopt::Replace, None)),
        Err(ErrorKind::Invalid)
    );
    let refused = shards.place(path, &one).expect_err("another file");
    assert_eq!(refused.kind(), ErrorKind::Invalid);
    shards.place(path, &loose).expect("placed");
    // A second attempt of the task makes the same file.
    seal_on(&disk(&sim), &params(), vec![document(1, 3)], &ticket, path).expect("sealed");
    shards.place(path, &loose).expect("it is there already");
    // Another attempt with the same number, but with different content.
    let other = seal_on(&disk(&sim), &params(), vec![document(2, 3)], &ticket, path);
    let refused = shards.place(path, &other.expect("sealed")).expect_err("another file");
    assert_eq!(refused.kind(), ErrorKind::Exists);
    shards.ticket(1, 1 << 24).expect_err("too many tasks");
    assert_eq!(reader(&sim).len(), 1);
}

#[test]
fn a_sharded_index_is_no_plain_one_and_becomes_one() {
    let sim = Sim::new();
    let mut shards = create(&sim, 3);
    let documents: Vec<_> = (0..60).map(|at| document(at, 1)).collect();
    let sealed = seal_all(&sim, &shards, 1, &documents).expect("sealed");
    shards.append(&sealed, Adopt::Refuse, None).expect("appended");
    shards.remove(["k4", "k5"]).expect("removed");
    let dir = Path::new(DIR);
    let refused = Index::open_on(disk(&sim), dir, options()).expect_err("not for writing");
    assert!(refused.to_string().contains("sharded"), "{refused}");
    let exists = Index::create_on(disk(&sim), dir, &params(), options()).expect_err("there");
    assert_eq!(exists.kind(), ErrorKind::Exists);
    let made = Shards::create_on(&disk(&sim), dir, &params(), 3, options()).expect_err("there");
    assert_eq!(made.kind(), ErrorKind::Exists);
    let plain = Index::create_on(disk(&sim), Path::new(PLAIN), &params(), options());
    let plain = plain.expect("created");
    let reader = reader(&sim);
    assert_eq!(plain.import(&reader.snapshot()).expect("imported").inserted, 58);
    assert_eq!(all(&plain.snapshot()), all(&reader.snapshot()));
    // A backup links the segments, and is an ordinary index.
    let copy = Path::new("/copy/papers.nearkin");
    reader.backup(copy).expect("backed up");
    let copy = Index::open_on(disk(&sim), copy, options()).expect("opened");
    assert_eq!(all(&copy.snapshot()), all(&plain.snapshot()));
    copy.remove("k6").expect("written to");
    let none = Shards::open_on(&disk(&sim), Path::new(PLAIN), options()).expect_err("plain");
    assert_eq!(none.kind(), ErrorKind::NotFound);
}

#[test]
fn a_damaged_manifest_or_segment_is_told() {
    let sim = Sim::new();
    let mut shards = create(&sim, 2);
    let documents: Vec<_> = (0..30).map(|at| document(at, 1)).collect();
    let sealed = seal_all(&sim, &shards, 1, &documents).expect("sealed");
    shards.append(&sealed, Adopt::Refuse, None).expect("appended");
    let opened = reader(&sim);
    let path = Path::new(DIR).join("manifest/0000000002.manifest");
    let whole = sim.snapshot_of_files().remove(&path).expect("there");
    for at in [3, 66, 81, 100, whole.len() - 1] {
        let mut damaged = whole.clone();
        damaged[at] ^= 4;
        sim.overwrite(&path, &damaged);
        let refused = Reader::open_on(disk(&sim), Path::new(DIR), options());
        assert_eq!(refused.expect_err("damaged").kind(), ErrorKind::Corrupt, "{at}");
        assert_eq!(opened.verify().expect("verified").problems.len(), 1, "{at}");
    }
    sim.overwrite(&path, &whole);
    let segment = sim.snapshot_of_files().into_keys();
    let segment = segment.filter(|path| path.extension().is_some_and(|ending| ending == "seg"));
    let segment = segment.min().expect("there");
    let mut damaged = sim.snapshot_of_files().remove(&segment).expect("there");
    damaged[100] ^= 4;
    sim.overwrite(&segment, &damaged);
    assert!(!reader(&sim).verify().expect("verified").problems.is_empty());
    assert!(opened.refresh().is_ok_and(|is_later| !is_later));
}

#[test]
fn every_planted_bug_of_shards_is_caught() {
    for bug in Bug::OF_SHARDS {
        assert_caught(bug, || {
            any_number_of_shards_says_what_one_index_says();
            one_of_two_commits_on_a_generation_fails_without_effect();
            a_crash_while_appending_leaves_all_or_nothing();
        });
    }
}

/// Fetches a generation of a sharded index: copies to another disk only the files that its manifest
/// lists, checks them, and opens the copy.
#[test]
fn a_fetched_generation_is_checked_before_it_is_read() {
    let sim = Sim::new();
    let mut shards = create(&sim, 3);
    let documents: Vec<_> = (0..90).map(|at| document(at, 1)).collect();
    let sealed = seal_all(&sim, &shards, 1, &documents).expect("sealed");
    shards.append(&sealed, Adopt::Refuse, Some(b"day 1")).expect("appended");
    shards.remove(["k4", "k5"]).expect("removed");
    let files = sim.snapshot_of_files();
    let bytes = files.get(&Path::new(DIR).join("manifest/0000000003.manifest")).expect("there");
    let manifest = Manifest::decode(bytes).expect("sound");
    assert_eq!((manifest.generation(), manifest.shards(), manifest.note()), (3, 3, &b"day 1"[..]));
    assert_eq!(manifest.params(), shards.params());
    let listed = manifest.files();
    let of =
        |ending| move |file: &&ManifestFile| file.path.extension().is_some_and(|e| e == ending);
    assert_eq!(listed.iter().filter(of("seg")).count(), 3);
    assert!((1..=2).contains(&listed.iter().filter(of("dead")).count()));
    assert!(listed.iter().any(|file| file.shard == 2));

    let (local, dir) = (Sim::new(), Path::new("/cache/papers.nearkin"));
    for folder in ["/cache", "/cache/papers.nearkin"] {
        local.create_dir(Path::new(folder)).expect("made");
    }
    for folder in ["manifest", "segments"] {
        local.create_dir(&dir.join(folder)).expect("made");
    }
    local.overwrite(&dir.join(manifest.path()), bytes);
    let check = || manifest.check_on(&disk(&local), dir);
    for file in &listed {
        assert_eq!(check().expect_err("not there").kind(), ErrorKind::NotFound);
        let whole = &files[&Path::new(DIR).join(&file.path)];
        assert_eq!(whole.len() as u64, file.bytes);
        local.overwrite(&dir.join(&file.path), whole);
    }
    check().expect("all is there");
    let fetched = Reader::open_on(disk(&local), dir, options()).expect("opened");
    assert_eq!(all(&fetched.snapshot()), all(&reader(&sim).snapshot()));
    for file in &listed {
        let path = dir.join(&file.path);
        let whole = &files[&Path::new(DIR).join(&file.path)];
        let refused = |bytes: &[u8]| {
            local.overwrite(&path, bytes);
            let error = check().expect_err("damaged");
            assert_eq!(error.kind(), ErrorKind::Corrupt);
            let name = file.path.file_name().expect("a name").to_string_lossy();
            assert!(error.to_string().contains(&*name), "{error}");
        };
        refused(&whole[..whole.len() - 1]);
        for at in [9, 30, 200, whole.len() / 2, whole.len() - 5] {
            let mut changed = whole.clone();
            changed[at] ^= 8;
            refused(&changed);
        }
        local.overwrite(&path, whole);
    }
    check().expect("as it was");
    assert_eq!(Manifest::decode(&bytes[1..]).expect_err("cut").kind(), ErrorKind::Corrupt);
}

#[test]
fn a_sealed_file_that_was_damaged_is_neither_placed_nor_listed() {
    let sim = Sim::new();
    let mut shards = create(&sim, 1);
    let documents: Vec<Document> = (0..90).map(|at| document(at, 0)).collect();
    let part = Path::new("/lake/part");
    let ticket = shards.ticket(1, 0).expect("a ticket");
    let sealed = seal_on(&disk(&sim), &params(), documents, &ticket, part).expect("sealed");
    let whole = sim.snapshot_of_files()[part].clone();
    let damaged = |at: usize| {
        let mut bytes = whole.clone();
        bytes[at] ^= 1;
        bytes
    };
    for at in (64..whole.len()).step_by(997) {
        sim.overwrite(part, &damaged(at));
        shards.place(part, &sealed).expect_err("damaged");
    }
    sim.overwrite(part, &whole);
    shards.place(part, &sealed).expect("placed");
    let placed = Path::new(DIR).join(format!("segments/{:010}.seg", sealed.number()));
    for at in (64..whole.len()).step_by(997) {
        sim.overwrite(&placed, &damaged(at));
        let segments = [(0, sealed)];
        shards.append(&segments, Adopt::Refuse, None).expect_err("damaged");
        // Nor does the file of a second attempt pass for a damaged one that is in its place.
        sim.overwrite(part, &whole);
        shards.place(part, &sealed).expect_err("damaged");
    }
    sim.overwrite(&placed, &whole);
    shards.append(&[(0, sealed)], Adopt::Refuse, None).expect("listed");
    assert_eq!(reader(&sim).len(), 90);
}
