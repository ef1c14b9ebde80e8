//! Manifests of a sharded index that were left behind, or are not its own.

use super::copies::{disk, params};
use super::sharded::{DIR, create, document, own_options, reader, seal_all};
use crate::ErrorKind;
use crate::index::files::adopt::Adopt;
use crate::index::files::sharded::Shards;
use crate::testing::sim::Sim;
use std::path::Path;

#[test]
fn a_sweep_removes_manifests_that_were_never_published() {
    let sim = Sim::new();
    let mut shards = create(&sim, 1);
    let folder = Path::new(DIR).join("manifest");
    let left = folder.join("0000000002.manifest.00c0ffee00c0ffee.tmp");
    let foreign = folder.join("0000000002.manifest.tmp");
    sim.overwrite(&left, b"half");
    sim.overwrite(&foreign, b"not ours");
    assert_eq!(shards.sweep().expect("swept"), 1);
    let files = sim.snapshot_of_files();
    assert!(!files.contains_key(&left) && files.contains_key(&foreign));
    assert_eq!(
        Shards::open_on(&disk(&sim), Path::new(DIR), own_options(2)).expect("opens").generation(),
        1
    );
}

#[test]
fn a_manifest_of_another_generation_or_index_is_not_believed() {
    let fill = |sim: &Sim, seed: u64, jobs: u32| {
        let (dir, options) = (Path::new(DIR), own_options(seed));
        let mut shards =
            Shards::create_on(&disk(sim), dir, &params(), 2, options).expect("created");
        for job in 1..=jobs {
            let document = [document(job, 1)];
            let sealed = seal_all(sim, &shards, job.into(), &document).expect("sealed");
            shards.append(&sealed, Adopt::Refuse, None).expect("appended");
        }
    };
    let manifest = |number: u64| Path::new(DIR).join(format!("manifest/{number:010}.manifest"));
    let (sim, other) = (Sim::new(), Sim::new());
    fill(&sim, 1, 1);
    fill(&other, 2, 2);
    let opened = reader(&sim);
    sim.overwrite(&manifest(3), &sim.snapshot_of_files()[&manifest(2)]);
    assert_eq!(opened.refresh().expect_err("of generation 2").kind(), ErrorKind::Corrupt);
    sim.overwrite(&manifest(3), &other.snapshot_of_files()[&manifest(3)]);
    assert_eq!(opened.refresh().expect_err("of another index").kind(), ErrorKind::Mismatch);
    assert_eq!(
        (opened.verify().expect_err("another").kind(), opened.len()),
        (ErrorKind::Mismatch, 1)
    );
}
