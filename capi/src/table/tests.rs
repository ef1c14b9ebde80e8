//! Handles that threads make, use and free at once, rightly and wrongly.

use super::*;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, AtomicUsize, Ordering};

struct Counted(());
handle!(Counted, Count, "counted");

/// Counts its drops, and knows whether it was dropped.
struct Count {
    number: usize,
    is_dropped: AtomicBool,
    drops: Arc<AtomicUsize>,
}

impl Drop for Count {
    fn drop(&mut self) {
        assert!(!self.is_dropped.swap(true, Ordering::SeqCst), "dropped twice");
        self.drops.fetch_add(1, Ordering::SeqCst);
    }
}

struct Other(());
handle!(Other, String, "other");

fn count(number: usize, drops: &Arc<AtomicUsize>) -> *mut Counted {
    let (is_dropped, drops) = (AtomicBool::new(false), Arc::clone(drops));
    make::<Counted>(Count { number, is_dropped, drops }).ok().expect("there is a place")
}

#[test]
fn a_handle_that_is_null_freed_wrong_or_made_up_is_told() {
    let drops = Arc::new(AtomicUsize::new(0));
    let handle = count(7, &drops);
    assert_eq!(get(handle).map(|held| held.number).ok(), Some(7));
    assert!(get::<Other>(handle.cast()).is_err());
    assert!(get::<Counted>(std::ptr::null()).is_err());
    for made_up in [1, 5, usize::MAX, handle.addr() ^ (1 << PLACE_BITS)] {
        assert!(get::<Counted>(std::ptr::without_provenance(made_up)).is_err(), "{made_up:x}");
        assert!(free(made_up).is_err(), "{made_up:x}");
    }
    assert!(free(handle.addr()).is_ok() && free(handle.addr()).is_err());
    assert_eq!(drops.load(Ordering::SeqCst), 1);
    let next = count(8, &drops);
    assert!(next != handle, "another generation, or another place");
    assert!(get(handle).is_err() && free(handle.addr()).is_err());
    assert!(free(next.addr()).is_ok() && free(0).is_ok());
}

#[test]
fn each_place_has_one_slot_in_one_chunk() {
    assert_eq!(chunk_of(0), (0, 0));
    for chunk in 0..CHUNKS {
        let (first, slots) = (CHUNK * ((1 << chunk) - 1), CHUNK << chunk);
        assert_eq!(
            (chunk_of(first), chunk_of(first + slots - 1)),
            ((chunk, 0), (chunk, slots - 1))
        );
    }
    assert_eq!(chunk_of(PLACES_MAX - 1).0, CHUNKS - 1, "the last place is in the last chunk");
    const { assert!(PLACES_MAX < 1 << PLACE_BITS, "places fit into a handle") };
}

#[test]
fn an_object_freed_while_in_use_is_dropped_by_its_last_user() {
    let drops = Arc::new(AtomicUsize::new(0));
    let handle = count(3, &drops);
    let (Ok(first), Ok(second)) = (get(handle), get(handle)) else { panic!("it is live") };
    assert!(free(handle.addr()).is_ok() && free(handle.addr()).is_err());
    assert!(get(handle).is_err(), "no new users");
    drop(first);
    assert_eq!((drops.load(Ordering::SeqCst), second.number), (0, 3));
    drop(second);
    assert_eq!(drops.load(Ordering::SeqCst), 1);
}

#[test]
fn threads_that_race_for_the_same_handles_drop_each_object_once() {
    const ROUNDS: usize = 20_000;
    const HANDLES: usize = 8;
    let drops = Arc::new(AtomicUsize::new(0));
    let shared: Vec<AtomicUsize> = (0..HANDLES).map(|_| AtomicUsize::new(0)).collect();
    let freed = AtomicUsize::new(0);
    let made = AtomicUsize::new(0);
    std::thread::scope(|scope| {
        for thread in 0..4_usize {
            let (shared, drops, freed, made) = (&shared, &drops, &freed, &made);
            scope.spawn(move || {
                for round in 0..ROUNDS {
                    let at = (round * 7 + thread * 3) % HANDLES;
                    let handle = shared[at].load(Ordering::SeqCst);
                    match (round + thread) % 3 {
                        // Two threads may free the same handle: one of them is told.
                        0 if handle != 0 && free(handle).is_ok() => {
                            freed.fetch_add(1, Ordering::SeqCst);
                        }
                        1 => {
                            let new = count(at, drops).addr();
                            made.fetch_add(1, Ordering::SeqCst);
                            let before = shared[at].swap(new, Ordering::SeqCst);
                            if before != 0 && free(before).is_ok() {
                                freed.fetch_add(1, Ordering::SeqCst);
                            }
                        }
                        _ => {
                            let handle = std::ptr::without_provenance::<Counted>(handle);
                            if let Ok(held) = get(handle) {
                                assert_eq!(held.number, at, "the object of another handle");
                                assert!(!held.is_dropped.load(Ordering::SeqCst), "it is in use");
                            }
                        }
                    }
                }
            });
        }
    });
    for handle in &shared {
        freed.fetch_add(usize::from(free(handle.load(Ordering::SeqCst)).is_ok()), Ordering::SeqCst);
    }
    let made = made.load(Ordering::SeqCst);
    assert!(made > ROUNDS);
    assert_eq!((freed.load(Ordering::SeqCst), drops.load(Ordering::SeqCst)), (made, made));
}
