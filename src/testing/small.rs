//! The sizes that are small in tests: batches, chunks and windows of a few entries, so that a model
//! with some dozen documents crosses their limits as often as an index in use does.
//!
//! The size in use stands where it is used: `small!(FILE::NAME, SIZE)` is `SIZE`, and in tests the
//! constant of that name below. FILE is the one that uses the size.

/// A size; in tests the small one of the table in `src/testing/small.rs`.
macro_rules! small {
    ($file:ident::$name:ident, $size:expr) => {{
        #[cfg(test)]
        {
            $crate::testing::small::$file::$name
        }
        #[cfg(not(test))]
        {
            $size
        }
    }};
}

#[cfg(test)]
macro_rules! table {
    ($($file:ident { $($name:ident: $type:ty = $size:expr;)+ })+) => {
        $(pub(crate) mod $file {
            $(pub(crate) const $name: $type = $size;)+
        })+
    };
}

#[cfg(test)]
table! {
    admit {
        COMPARED_MAX: usize = 2;
        NEWCOMERS_PER_HOLD: usize = 7;
    }
    audit {
        TOGETHER: usize = 7;
    }
    backup {
        CHUNK_BYTES: u64 = 5_000;
    }
    block_check {
        BLOCKS_PER_CHECK: usize = 5;
    }
    blocks {
        BLOCKS_PER_RELEASE: usize = 3;
    }
    builder {
        CHUNK_BYTES: usize = 3_000;
    }
    cache {
        BYTES_MAX: usize = 4 << 10;
    }
    comparisons {
        QUERIES_MAX: u64 = 8;
        CANDIDATES_MAX: usize = 400;
        CANDIDATES_OF_ALL_MAX: u64 = 200;
        DEAD_MAX: u32 = 4;
    }
    connect {
        PRUNE_MIN: usize = 4;
    }
    counts {
        CELLS_MAX: usize = 1 << 20;
    }
    cover {
        DOCS_TOGETHER: u32 = 3;
        KEYS_MIN: u64 = 1;
    }
    form_index {
        BYTES_MAX: usize = 300 << 10;
        STEPS_MAX: u64 = 400;
        SEARCHES_MIN: u64 = 40;
    }
    exact {
        USUAL: usize = 0;
        EXCESS_MAX: usize = 2;
    }
    crowd {
        CROWD_MIN: u32 = 6;
        WINDOW: u32 = 128;
    }
    cut {
        TABLE_BYTES: usize = 100;
    }
    dead {
        WRITE_BYTES: usize = 1 << 10;
    }
    event {
        STALL_MILLIS: u64 = 0;
    }
    folder {
        LOOK_MIN_MICROS: u64 = 50;
    }
    follow {
        PAUSE_MILLIS: u64 = 0;
    }
    import {
        BATCH_BYTES: usize = 2 << 10;
    }
    inspect {
        KEYS_TOGETHER: u32 = 3;
    }
    look_up {
        ORDINALS_MAX: u32 = 8;
        LOOK_UPS_TOGETHER: usize = 4;
    }
    memtable {
        DEAD_DOCS_MIN: u32 = 64;
        STEPS_PER_HOLD: usize = 3;
        DEATHS_PER_HOLD: usize = 4;
        ENTRIES_TOGETHER: usize = 4;
    }
    merging {
        RELEASED_BYTES: usize = 5_000;
        DOCS_PER_HOLD: usize = 4;
        RUN_DOCS_MAX: u32 = 4;
    }
    nearest {
        CANDIDATES: usize = 3;
        CANDIDATES_MAX: usize = 20;
        SHINGLES_MAX: u64 = 200;
    }
    options {
        TINY_BYTES_MAX: u64 = 0;
    }
    ordered {
        HOLD: u32 = 5;
    }
    parallel_tables {
        DOCS_MIN: usize = 32;
        FED_DOCS_MAX: u32 = 7;
    }
    partitions {
        PARTITIONS_MAX: usize = 7;
        PARTS_OF_PASS: usize = 1024;
        PASSES_MIN: usize = 1;
        SLICES_MAX: usize = 3;
        STORED_MAX: usize = 100;
        STORED_MIN: usize = 50;
    }
    plan {
        KEPT_BYTES_MAX: usize = 1 << 20;
    }
    query {
        BATCH_SIGNATURES: usize = 3;
        FOUND_UNMERGED: usize = 2;
        BATCH_PIECES: usize = 3;
    }
    rank {
        BLOCK: usize = 4;
    }
    reader {
        NEAR_BYTES_MAX: usize = 1 << 10;
        CHUNK_BYTES_MIN: u64 = 512;
        CHUNK_BYTES_MAX: u64 = 2 << 10;
    }
    rebind {
        CHUNK_BYTES: u64 = 5_000;
    }
    search {
        LOOK_UPS_MAX: usize = 24;
        CANDIDATES_MAX: usize = 5;
        PRESUMED_MAX: usize = 2;
    }
    sweep {
        ENTRIES: u64 = 16;
        BATCH_PAIRS: usize = 5;
    }
    table {
        SMALL_DOCS: usize = 128;
        ROOM_MIN: usize = 2;
    }
    tables {
        RUN_ENTRIES: usize = 32;
        SLICE_BITS: u32 = 1;
    }
    verify {
        MEMORY_BYTES: usize = 4_000;
    }
    walk {
        GROUPS: u32 = 3;
    }
    warm_up {
        STEPS_MAX: usize = 4;
    }
    watch {
        CHUNK_BYTES: usize = 3_000;
    }
    write_path {
        EFFECTS_TOGETHER: usize = 3;
        STARTED_BYTES: std::ops::RangeInclusive<u64> = 200..=8 << 10;
        RECORD_BYTES_KEPT: u64 = 512;
    }
    writer {
        BUFFER_BYTES: usize = crate::format::blocks::BLOCK_BYTES;
        UNSYNCED_BYTES_MAX: usize = 1 << 20;
    }
}
