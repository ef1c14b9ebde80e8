//! Sketching through the public API: repeated items do not change the signature of a set.

use crate::support::params;
use nearkin::Sketcher;

#[test]
fn repeated_items_change_nothing_however_many_there_are() {
    let sketcher = Sketcher::new(&params());
    for distinct in [1_u32, 2, 15, 16, 17, 100, 500, 1_000, 1_030] {
        let plain = sketcher.items(0..distinct).unwrap();
        assert_eq!(plain.shingle_count(), distinct);
        // Items are repeated at the end, at the front, or interleaved.
        for repeats in (0..40).filter(|repeats| *repeats <= distinct) {
            let orders: [Vec<u32>; 3] = [
                (0..distinct).chain(0..repeats).collect(),
                (0..repeats).chain(0..distinct).collect(),
                (0..distinct).flat_map(|at| vec![at; if at < repeats { 2 } else { 1 }]).collect(),
            ];
            for items in orders {
                let signature = sketcher.items(items).unwrap();
                assert!(signature == plain, "{repeats} repeats among {distinct}");
            }
        }
    }
}
