//! Judges the rows that another program removed. The library judges.

use std::path::PathBuf;

use nearkin::{Apart, Audit, AuditCounts, AuditRow, Audited, Error, Evidence, Guard, Original};
use pyo3::prelude::*;

use crate::arrow::{Cell, Field, Kind};
use crate::columns::documents::Documents;
use crate::error::{InvalidError, engine};
use crate::index::originals::{Make, with_detailed};
use crate::interrupt::is_interrupted;
use crate::options::Threads;
use crate::parallel::{self, in_parts};
use crate::sketch::params::Params;
use crate::tables::table::Table;

/// Number of rows whose signatures are made together, and that a thread makes at a time.
const ROWS: usize = 4_096;
const ROWS_OF_A_PART: usize = 64;

/// The counts of an audit, in the order of `nearkin.Audited`, and the blank removed rows.
type Counts = (u64, u64, Vec<(f64, u64)>, u64, u64, Option<u64>, Option<u64>, u64, usize);

/// The documents of one side.
struct Side<'a> {
    make: &'a Make<'a>,
    /// The rows that have something to compare.
    rows: Vec<usize>,
}

impl Side<'_> {
    /// Makes the documents of a range of rows, and passes on the signatures of those that have
    /// something to compare.
    fn read(
        make: &Make<'_>,
        count: usize,
        threads: usize,
        mut add: impl FnMut(&[nearkin::Signature]) -> nearkin::Result<()>,
    ) -> nearkin::Result<Vec<usize>> {
        let mut rows = Vec::with_capacity(count);
        for begin in (0..count).step_by(ROWS) {
            let end = count.min(begin + ROWS);
            let all = in_parts(threads, end - begin, ROWS_OF_A_PART, |range| {
                let one = |row| Ok((row, make(row)?));
                range.map(|row| one(begin + row)).collect::<nearkin::Result<Vec<_>>>()
            });
            let mut signatures = Vec::new();
            for (row, document) in all.into_iter().collect::<nearkin::Result<Vec<_>>>()?.concat() {
                if let Some(document) = document {
                    rows.push(row);
                    signatures.push(document.signature().clone());
                }
            }
            add(&signatures)?;
        }
        Ok(rows)
    }

    fn document(&self, number: u64) -> nearkin::Result<Original> {
        let row = usize::try_from(number).ok().and_then(|number| self.rows.get(number));
        let made = row.map_or(Ok(None), |row| (self.make)(*row))?;
        made.ok_or_else(|| Error::invalid("a row changed while it was judged"))
    }

    fn row(&self, number: u64) -> Option<usize> {
        self.rows.get(usize::try_from(number).ok()?).copied()
    }
}

/// Judges removed rows; called by `nearkin.audit`. Returns a table, and the counts.
#[pyfunction]
#[expect(clippy::too_many_arguments, reason = "the arguments of `nearkin.audit`")]
pub(crate) fn audit_rows<'py>(
    py: Python<'py>,
    removed: &Bound<'py, PyAny>,
    kept: &Bound<'py, PyAny>,
    params: &Bound<'py, Params>,
    threshold: Option<f64>,
    guard: Option<&str>,
    threads: Option<Threads>,
    folder: PathBuf,
) -> PyResult<(Table, Counts)> {
    let given = params.get();
    let threshold = threshold.unwrap_or_else(|| given.inner.threshold());
    let builder = given.given.clone().unwrap_or_else(|| given.inner.to_builder().choose_bands());
    let params = engine(py, || Audit::choose(&builder, threshold))?;
    let (removed, kept) = (Documents::new(removed, &params)?, Documents::new(kept, &params)?);
    let given = guard.map(|name| engine(py, || name.parse())).transpose()?;
    let guard = match (&removed, given) {
        (Documents::Texts(_), given) => given.unwrap_or_else(|| Guard::for_params(&params)),
        (Documents::Items(_), Some(given)) if given != Guard::None => {
            return Err(InvalidError::new_err("guard= does nothing with sets: leave it out"));
        }
        _ => Guard::None,
    };
    let threads = parallel::threads(threads);
    let audit = engine(py, || Audit::new(&folder, &params, threshold, guard))?;
    let mut audit = audit.threads(threads).cancel_if(is_interrupted);
    let (sketcher, counts) = (audit.sketcher(), [removed.len(), kept.len()]);
    let (rows, counts, blank) = with_detailed(&removed, &sketcher, |make_removed| {
        with_detailed(&kept, &sketcher, |make_kept| {
            engine(py, || {
                let [count, of_kept] = counts;
                let rows = Side::read(make_kept, of_kept, threads, |all| audit.add_kept(all))?;
                let kept = Side { make: make_kept, rows };
                let rows = Side::read(make_removed, count, threads, |all| audit.add_removed(all))?;
                let removed = Side { make: make_removed, rows };
                let (rows, counts) = judged(&audit, &removed, &kept, threads)?;
                Ok((rows, counts, count - removed.rows.len()))
            })
        })
    })?;
    let AuditCounts { kept, removed, wrong, equal, chained, in_numbers, in_rare, .. } = counts;
    let unsettled = counts.unsettled;
    let counts = (kept, removed, wrong, equal, chained, in_numbers, in_rare, unsettled, blank);
    Ok((table(&rows), counts))
}

/// A judged row, and the rows that it is similar to.
type JudgedRow = (Audited, [Option<usize>; 3]);

fn judged(
    audit: &Audit,
    removed: &Side<'_>,
    kept: &Side<'_>,
    threads: usize,
) -> nearkin::Result<(Vec<JudgedRow>, AuditCounts)> {
    let mut rows = Vec::with_capacity(removed.rows.len());
    let mut fetch = |asked: &[AuditRow]| {
        let made = in_parts(threads, asked.len(), ROWS_OF_A_PART, |range| {
            let document = |row: &AuditRow| match row {
                AuditRow::Kept(number) => kept.document(*number),
                AuditRow::Removed(number) => removed.document(*number),
            };
            let some = asked.get(range).unwrap_or_default();
            some.iter().map(document).collect::<nearkin::Result<Vec<_>>>()
        });
        Ok(made.into_iter().collect::<nearkin::Result<Vec<_>>>()?.concat())
    };
    let counts = audit.run(&mut fetch, &mut |one| {
        let of = one.kept.and_then(|found| kept.row(found.of));
        let chained = one.chained.and_then(|found| removed.row(found.of));
        rows.push((one, [removed.row(one.row), of, chained]));
        Ok(())
    })?;
    Ok((rows, counts))
}

fn table(rows: &[JudgedRow]) -> Table {
    let fields = [
        Field::new("row", Kind::Integer),
        Field::new("similarity", Kind::Float),
        Field::nullable("kept_row", Kind::Integer),
        Field::nullable("shingles", Kind::Integer),
        Field::nullable("of_shingles", Kind::Integer),
        Field::nullable("shared", Kind::Integer),
        Field::nullable("apart", Kind::Text),
        Field::nullable("chained_to", Kind::Integer),
        Field::nullable("chained_similarity", Kind::Float),
        Field::new("settled", Kind::Bool),
    ];
    let cells = |(one, [row, of, chained]): &JudgedRow| -> [Cell<'static>; 10] {
        let counts = one.kept.and_then(|found| match found.evidence {
            Evidence::Shingles { own, other, shared, .. } => Some([own, other, shared]),
            _ => None,
        });
        let [own, other, shared] = [0, 1, 2].map(|at| counts.and_then(|all| all.get(at).copied()));
        let apart = one.apart.map(|apart| match apart {
            Apart::Numbers => &b"numbers"[..],
            _ => b"rare",
        });
        [
            (*row).into(),
            Some(one.kept.map_or(0.0, |found| found.similarity)).into(),
            (*of).into(),
            own.into(),
            other.into(),
            shared.into(),
            apart.into(),
            (*chained).into(),
            one.chained.map(|found| found.similarity).into(),
            one.is_settled.into(),
        ]
    };
    Table::filled(&fields, rows.iter().map(cells))
}
