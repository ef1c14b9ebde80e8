//! Tests of redb on the simulated disk, with a power cut at every operation.

use super::Sim;
use super::tests::path;
use crate::storage::{File, OpenMode, Storage, publish};
use redb::{Database, ReadableDatabase, ReadableTable, StorageBackend, TableDefinition};
use std::io;
use std::sync::Arc;

const TABLE: TableDefinition<u64, u64> = TableDefinition::new("t");
const KEYS: u64 = 40;

#[derive(Debug)]
struct Backend(Arc<dyn File>);

impl StorageBackend for Backend {
    fn len(&self) -> io::Result<u64> {
        self.0.bytes()
    }

    fn read(&self, offset: u64, out: &mut [u8]) -> io::Result<()> {
        self.0.read_at(out, offset)
    }

    fn set_len(&self, len: u64) -> io::Result<()> {
        self.0.set_bytes(len)
    }

    fn sync_data(&self) -> io::Result<()> {
        self.0.sync()
    }

    fn write(&self, offset: u64, data: &[u8]) -> io::Result<()> {
        self.0.write_at(data, offset)
    }
}

type Failure = Box<dyn std::error::Error>;

fn open(sim: &Sim, name: &str, mode: OpenMode) -> Result<Database, Failure> {
    let file = sim.open(path(name), mode)?;
    Ok(Database::builder().set_cache_size(1 << 16).create_with_backend(Backend(file))?)
}

/// Sets every key to `generation`, in one transaction.
fn commit(database: &Database, generation: u64) -> Result<(), Failure> {
    let mut transaction = database.begin_write()?;
    transaction.set_quick_repair(true);
    {
        let mut table = transaction.open_table(TABLE)?;
        for key in 0..KEYS {
            table.insert(key, generation)?;
        }
    }
    Ok(transaction.commit()?)
}

/// The generation, which must be the same for all keys.
fn generation(database: &Database) -> Result<u64, Failure> {
    let table = database.begin_read()?.open_table(TABLE)?;
    let mut values = Vec::new();
    for entry in table.iter()? {
        values.push(entry?.1.value());
    }
    assert_eq!(values.len(), usize::try_from(KEYS)?);
    assert!(values.iter().all(|value| *value == values[0]), "half a transaction: {values:?}");
    Ok(values[0])
}

/// A durable database at generation 0.
fn base() -> Sim {
    let sim = Sim::new();
    commit(&open(&sim, "/tmp", OpenMode::Create).unwrap(), 0).unwrap();
    let file = sim.open(path("/tmp"), OpenMode::Read).unwrap();
    publish(&sim, &*file, path("/tmp"), path("/db")).unwrap();
    assert_eq!(sim.unsynced(), 0);
    sim
}

/// Runs some commits, and keeps the last acknowledged generation in `acknowledged`.
fn run(sim: &Sim, acknowledged: &mut u64) -> Result<(), Failure> {
    let database = open(sim, "/db", OpenMode::ReadWrite)?;
    for next in *acknowledged + 1..=*acknowledged + 4 {
        commit(&database, next)?;
        *acknowledged = next;
    }
    Ok(())
}

#[test]
fn redb_keeps_its_word_in_every_state_of_every_cut() {
    let base = base();
    let mut images = 0;
    for cut in 0.. {
        let sim = base.crash_states(0, 1).next().unwrap();
        sim.power_cut_at(cut);
        let mut acknowledged = 0;
        let finished = run(&sim, &mut acknowledged).is_ok() && !sim.is_stopped();
        for state in sim.crash_states(cut, 24) {
            images += 1;
            let mut database = open(&state, "/db", OpenMode::ReadWrite).unwrap();
            assert!(database.check_integrity().unwrap());
            let found = generation(&database).unwrap();
            assert!(
                found == acknowledged || found == acknowledged + 1,
                "cut {cut}: {found} for {acknowledged}"
            );
        }
        if finished {
            break;
        }
    }
    assert!(images > 500, "{images} images");
}

#[test]
fn redb_survives_a_second_cut_while_it_recovers_from_the_first() {
    let base = base();
    for cut in [9, 16, 23] {
        let sim = base.crash_states(0, 1).next().unwrap();
        sim.power_cut_at(cut);
        let mut acknowledged = 0;
        run(&sim, &mut acknowledged).unwrap_err();
        for (first, seed) in sim.crash_states(cut, 12).zip(0..) {
            first.power_cut_at(seed % 6);
            let mut later = acknowledged;
            let _ = run(&first, &mut later);
            for second in first.crash_states(seed, 8) {
                let found =
                    generation(&open(&second, "/db", OpenMode::ReadWrite).unwrap()).unwrap();
                assert!((acknowledged..=acknowledged + 1).contains(&found), "{cut} {seed}");
            }
        }
    }
}
