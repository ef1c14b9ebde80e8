//! Tests of the states that a power cut may and may not leave.

use super::tests::{durable, get, path, put};
use super::{DiskStopped, Sim};
use crate::format::bytes::wide;
use crate::storage::{OpenMode, Storage, create_dirs, publish_over};
use std::collections::BTreeSet;
use std::io;

/// Creates a file with durable name and content.
fn put_durably(sim: &Sim, name: &str, bytes: &[u8]) {
    put(sim, name, bytes);
    sim.open(path(name), OpenMode::Read).unwrap().sync().unwrap();
    sim.sync_dir(path("/")).unwrap();
    assert_eq!(sim.unsynced(), 0);
}

/// In many crash states, the subset of `names` that exists. Each subset is concatenated to a
/// string.
fn name_sets(sim: &Sim, names: &[&str]) -> BTreeSet<String> {
    let set = |state: Sim| {
        let files = state.snapshot_of_files();
        names.iter().filter(|name| files.contains_key(path(name))).copied().collect()
    };
    sim.crash_states(7, 300).map(set).collect()
}

fn sets(names: &[&str]) -> BTreeSet<String> {
    names.iter().map(ToString::to_string).collect()
}

#[test]
fn a_sync_of_the_file_does_not_make_its_name_durable() {
    let sim = Sim::new();
    put(&sim, "/a", b"bytes");
    sim.open(path("/a"), OpenMode::Read).unwrap().sync().unwrap();
    assert_eq!(name_sets(&sim, &["/a"]), sets(&["", "/a"]));
    assert!(sim.crash_states(1, 50).all(|state| get(&state, "/a").is_none_or(|a| a == b"bytes")));
}

#[test]
fn a_sync_of_the_folder_does_not_make_bytes_durable() {
    let sim = Sim::new();
    put(&sim, "/a", b"bytes");
    sim.sync_dir(path("/")).unwrap();
    let seen: BTreeSet<_> = sim.crash_states(1, 200).map(|s| get(&s, "/a").unwrap()).collect();
    assert!(seen.contains(&b""[..]) && seen.contains(&b"bytes"[..]));
    assert!(seen.contains(&[0; 5][..]), "the length without the bytes");
    assert!(seen.iter().any(|a| a.len() == 5 && *a != [0; 5] && a != b"bytes"), "garbage");
    assert!(seen.iter().any(|a| (1..5).contains(&a.len())), "lengths in between");
}

#[test]
fn a_folder_that_loses_its_name_takes_everything_along() {
    let sim = Sim::new();
    sim.create_dir(path("/dir")).unwrap();
    put(&sim, "/dir/a", b"a");
    sim.open(path("/dir/a"), OpenMode::Read).unwrap().sync().unwrap();
    sim.sync_dir(path("/dir")).unwrap();
    assert!(durable(&sim).list(path("/")).unwrap().is_empty());
    assert_eq!(name_sets(&sim, &["/dir/a"]), sets(&["", "/dir/a"]));
    sim.sync_dir(path("/")).unwrap();
    assert_eq!(get(&durable(&sim), "/dir/a").unwrap(), b"a");
}

#[test]
fn create_dirs_makes_every_folder_durable() {
    let sim = Sim::new();
    create_dirs(&sim, path("/a/b/c")).unwrap();
    assert_eq!(sim.unsynced(), 0);
    assert!(durable(&sim).list(path("/a/b/c")).unwrap().is_empty());
}

#[test]
fn a_rename_leaves_the_old_name_or_the_new_one_or_both() {
    let sim = Sim::new();
    put_durably(&sim, "/a", b"a");
    sim.rename(path("/a"), path("/b")).unwrap();
    assert_eq!(name_sets(&sim, &["/a", "/b"]), sets(&["/a", "/b", "/a/b"]));
    sim.rename(path("/b"), path("/c")).unwrap();
    assert!(!name_sets(&sim, &["/a", "/b", "/c"]).contains(""));
    sim.sync_dir(path("/")).unwrap();
    assert_eq!(name_sets(&sim, &["/a", "/b", "/c"]), sets(&["/c"]));
}

#[test]
fn a_replaced_file_comes_back_whole_if_the_rename_is_lost() {
    let sim = Sim::new();
    put_durably(&sim, "/old", b"old");
    put_durably(&sim, "/new", b"new");
    sim.rename(path("/new"), path("/old")).unwrap();
    let seen: BTreeSet<_> = sim.crash_states(1, 100).map(|s| get(&s, "/old").unwrap()).collect();
    assert_eq!(seen, BTreeSet::from([b"old".to_vec(), b"new".to_vec()]));
}

#[test]
fn a_removed_file_comes_back_and_names_are_lost_in_any_order() {
    let sim = Sim::new();
    put_durably(&sim, "/a", b"a");
    put_durably(&sim, "/b", b"b");
    sim.remove(path("/a")).unwrap();
    sim.remove(path("/b")).unwrap();
    put(&sim, "/c", b"");
    let all = sets(&["", "/a", "/b", "/c", "/a/b", "/a/c", "/b/c", "/a/b/c"]);
    assert_eq!(name_sets(&sim, &["/a", "/b", "/c"]), all);
}

#[test]
fn a_moved_file_is_durable_in_its_new_folder_before_it_is_gone() {
    let sim = Sim::new();
    create_dirs(&sim, path("/to")).unwrap();
    put_durably(&sim, "/a", b"a");
    sim.rename(path("/a"), path("/to/a")).unwrap();
    let other = sim.kill();
    let names = ["/a", "/to/a"];
    assert_eq!(name_sets(&other, &names), sets(&["/a", "/to/a", "/a/to/a"]));
    let source_alone = other.crash_states(0, 1).next().unwrap();
    source_alone.rename(path("/a"), path("/to/a")).unwrap();
    source_alone.sync_dir(path("/")).unwrap();
    assert_eq!(name_sets(&source_alone, &names), sets(&["/to/a"]));
    let target_synced = other.kill();
    target_synced.sync_dir(path("/to")).unwrap();
    assert_eq!(name_sets(&target_synced, &names), sets(&["/to/a", "/a/to/a"]));
    let source_synced = target_synced.kill();
    source_synced.sync_dir(path("/")).unwrap();
    assert_eq!(name_sets(&source_synced, &names), sets(&["/to/a"]));
}

#[test]
fn a_synced_sector_holds_old_or_new_bytes_and_nothing_else() {
    let sim = Sim::new();
    put_durably(&sim, "/a", &[1; 6_000]);
    let file = sim.open(path("/a"), OpenMode::ReadWrite).unwrap();
    file.write_at(&[2; 5_000], 700).unwrap();
    let mut mixed = 0;
    for state in sim.crash_states(3, 400) {
        let bytes = get(&state, "/a").unwrap();
        assert_eq!(bytes.len(), 6_000);
        for (sector, number) in bytes.chunks(512).zip(0..) {
            let start = number * 512;
            let within = |at: &usize| (700..5_700).contains(at);
            let news = (start..start + sector.len()).filter(within).count();
            let count = |wanted: u8| sector.iter().map(|byte| usize::from(*byte == wanted)).sum();
            let (ones, twos): (usize, usize) = (count(1), count(2));
            assert!(twos == 0 || twos == news, "sector {number}");
            assert_eq!(ones + twos, sector.len());
        }
        mixed += usize::from(bytes[1_024] != bytes[4_096]);
    }
    assert!(mixed > 20, "{mixed} torn states");
}

#[test]
fn an_append_never_harms_the_synced_bytes_before_it() {
    let sim = Sim::new();
    put_durably(&sim, "/a", &[1; 700]);
    let file = sim.open(path("/a"), OpenMode::ReadWrite).unwrap();
    file.write_at(&[2; 5_000], 700).unwrap();
    file.set_bytes(9_000).unwrap();
    for state in sim.crash_states(4, 400) {
        let bytes = get(&state, "/a").unwrap();
        assert!((700..=9_000).contains(&bytes.len()));
        assert!(bytes[..700] == [1; 700]);
    }
}

#[test]
fn a_lost_truncation_restores_bytes_and_a_kept_one_unsyncs_them() {
    let sim = Sim::new();
    put_durably(&sim, "/a", &[1; 2_000]);
    let file = sim.open(path("/a"), OpenMode::ReadWrite).unwrap();
    file.set_bytes(512).unwrap();
    file.set_bytes(2_000).unwrap();
    let states: Vec<_> = sim.crash_states(4, 200).map(|s| get(&s, "/a").unwrap()).collect();
    assert!(states.iter().all(|a| a[..512] == [1; 512]));
    assert!(states.contains(&vec![1; 2_000]));
    let is_garbage = |a: &&Vec<u8>| a[512..].iter().any(|byte| *byte > 1);
    assert!(states.iter().any(|a| is_garbage(&a)));
}

#[test]
fn the_first_states_are_none_all_and_each_alone() {
    let sim = Sim::new();
    put_durably(&sim, "/a", b"....");
    let file = sim.open(path("/a"), OpenMode::ReadWrite).unwrap();
    for (offset, byte) in [b"A", b"B", b"C", b"D"].iter().zip(0..) {
        file.write_at(*offset, byte).unwrap();
    }
    let seen: Vec<_> = sim.crash_states(0, 60).map(|s| get(&s, "/a").unwrap()).collect();
    assert_eq!(seen.len(), 60);
    assert_eq!((&seen[0][..], &seen[1][..]), (&b"...."[..], &b"ABCD"[..]));
    let singles = ["A...", ".B..", "..C.", "...D", ".BCD", "A.CD", "AB.D", "ABC.", "AB..", "ABC."];
    for wanted in singles {
        assert!(seen[2..40].iter().any(|a| a == wanted.as_bytes()), "{wanted}");
    }
}

#[test]
fn the_same_seed_gives_the_same_states_and_another_one_others() {
    let sim = Sim::new();
    for name in ["/a", "/b", "/c"] {
        put(&sim, name, &[7; 3_000]);
    }
    let run = |seed, count| -> Vec<_> {
        sim.crash_states(seed, count).map(|state| state.snapshot_of_files()).collect()
    };
    for count in [0, 1, 3, 10, 33, 100] {
        assert_eq!(run(5, count).len(), count);
    }
    assert!(run(5, 100) == run(5, 100));
    assert!(run(5, 100) != run(6, 100));
    assert!(run(5, 10) != run(6, 10), "too few for all: sampled by the seed");
}

#[test]
fn a_crash_state_is_durable_and_leaves_its_origin_alone() {
    let sim = Sim::new();
    put(&sim, "/a", b"a");
    for state in sim.crash_states(0, 40) {
        assert_eq!(state.unsynced(), 0);
        let files = state.snapshot_of_files();
        assert!(state.crash_states(1, 20).all(|again| again.snapshot_of_files() == files));
        put(&state, "/a", b"other");
    }
    assert_eq!(get(&sim, "/a").unwrap(), b"a");
    assert_eq!(sim.unsynced(), 2);
}

/// Two files and four operations: the simulator produces exactly the states enumerated by hand.
#[test]
fn the_states_of_a_small_case_are_those_of_a_naive_enumeration() {
    let sim = Sim::new();
    put_durably(&sim, "/a", &[1; 600]);
    let file = sim.open(path("/a"), OpenMode::ReadWrite).unwrap();
    file.write_at(&[2; 1_024], 0).unwrap();
    put(&sim, "/b", b"bytes");
    sim.rename(path("/b"), path("/c")).unwrap();

    let mut wanted = BTreeSet::new();
    for sectors in [[1, 1], [1, 2], [2, 1], [2, 2]] {
        for create in [false, true] {
            for rename in ["lost", "linked", "kept"] {
                for written in [false, true] {
                    let b = create && rename != "kept";
                    let c = rename != "lost";
                    wanted.insert((sectors, b, c, written && (b || c)));
                }
            }
        }
    }
    let mut seen = BTreeSet::new();
    for state in sim.crash_states(11, 3_000) {
        let a = get(&state, "/a").unwrap();
        assert!((600..=1_024).contains(&a.len()));
        assert!(a[..512].iter().all(|byte| *byte == a[0]));
        assert!(a[512..600].iter().all(|byte| *byte == a[512]));
        let (b, c) = (get(&state, "/b"), get(&state, "/c"));
        assert!(b.is_none() || c.is_none() || b == c, "two names of one file");
        let file = b.clone().or_else(|| c.clone());
        assert!(file.as_ref().is_none_or(|file| file.len() <= 5));
        let written = file.is_some_and(|file| file == b"bytes");
        seen.insert(([a[0], a[512]], b.is_some(), c.is_some(), written));
    }
    assert_eq!(seen, wanted);
}

/// A protocol that replaces `/kept` generation by generation.
type Protocol = fn(&Sim, u8) -> io::Result<()>;

/// Runs a protocol once for each of its operations, with a power cut at that operation. Returns the
/// first wrong state: a partial generation, or a lost acknowledged one.
fn wrong_state(protocol: Protocol) -> Option<String> {
    for cut in 0.. {
        let sim = Sim::new();
        sim.overwrite(path("/kept"), &[0; 1_500]);
        sim.power_cut_at(cut);
        let mut done = 0;
        let result = (1..=3).try_for_each(|generation| {
            protocol(&sim, generation)?;
            done = generation;
            Ok::<_, io::Error>(())
        });
        if let Err(error) = &result {
            assert!(DiskStopped::PowerCut.is_in(error), "{error}");
        }
        for (state, number) in sim.crash_states(cut, 60).zip(0..) {
            let kept = get(&state, "/kept").unwrap_or_default();
            let first = kept.first().copied().unwrap_or(u8::MAX);
            let whole = kept.len() == 1_500 && kept.iter().all(|byte| *byte == first);
            if !whole || first < done || first > done + 1 {
                return Some(format!("cut {cut}, state {number}, acknowledged {done}"));
            }
        }
        if result.is_ok() && !sim.is_stopped() {
            return None;
        }
    }
    None
}

fn write_tmp(sim: &Sim, generation: u8) -> io::Result<std::sync::Arc<dyn crate::storage::File>> {
    let file = sim.open(path("/tmp"), OpenMode::Create)?;
    file.write_at(&[generation; 1_500], 0)?;
    Ok(file)
}

#[test]
fn publish_survives_every_state_of_every_cut() {
    let protocol: Protocol = |sim, generation| {
        let file = write_tmp(sim, generation)?;
        publish_over(sim, &*file, path("/tmp"), path("/kept"))
    };
    assert_eq!(wrong_state(protocol), None);
}

#[test]
fn a_publish_with_any_of_its_syncs_left_out_is_found() {
    let no_sync_dir: Protocol = |sim, generation| {
        write_tmp(sim, generation)?.sync()?;
        sim.rename(path("/tmp"), path("/kept"))
    };
    let no_sync: Protocol = |sim, generation| {
        write_tmp(sim, generation)?;
        sim.rename(path("/tmp"), path("/kept"))?;
        sim.sync_dir(path("/"))
    };
    let late_sync: Protocol = |sim, generation| {
        let file = write_tmp(sim, generation)?;
        sim.rename(path("/tmp"), path("/kept"))?;
        file.sync()?;
        sim.sync_dir(path("/"))
    };
    let in_place: Protocol = |sim, generation| {
        let file = sim.open(path("/kept"), OpenMode::ReadWrite)?;
        file.write_at(&[generation; 1_500], 0)?;
        file.sync()
    };
    for protocol in [no_sync_dir, no_sync, late_sync, in_place] {
        assert!(wrong_state(protocol).is_some());
    }
}

#[test]
fn crashes_tear_unsynced_records_and_never_synced_ones() {
    let sim = Sim::new();
    put_durably(&sim, "/log", &[0; 16_384]);
    let log = sim.open(path("/log"), OpenMode::ReadWrite).unwrap();
    let record = |number: u8| [number; 300];
    for number in 1..=5 {
        log.write_at(&record(number), u64::from(number - 1) * 300).unwrap();
        if number == 3 {
            log.sync().unwrap();
        }
    }
    let (mut torn, mut holes) = (0, 0);
    for state in sim.crash_states(1, 300) {
        let bytes = get(&state, "/log").unwrap();
        assert_eq!(wide(bytes.len()), 16_384);
        let there = |number: u8| {
            let start = usize::from(number - 1) * 300;
            bytes[start..start + 300] == record(number)
        };
        assert!((1..=3).all(there));
        holes += u32::from(there(5) && !there(4));
        torn += u32::from(bytes[1_499] == 5 && bytes[1_200] != 5 || bytes[900] != bytes[1_199]);
    }
    assert!(torn > 0 && holes > 0, "{torn} torn, {holes} with holes");
}
