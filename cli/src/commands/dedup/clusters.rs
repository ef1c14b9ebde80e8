//! The cluster of each row: the number of the kept row, and how many rows it stands for.

use std::io;

use nearkin_input::fields::has_field;
use nearkin_kit::failure::Failure;

use super::ledger::Ledger;
use super::verdicts::{Verdict, Verdicts};

/// The cluster of a row.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) struct Cluster {
    /// Number of the kept row among all rows of the input, counted from 1.
    pub(super) number: u64,
    /// Number of rows: the kept one, and those that were dropped for it.
    pub(super) size: u32,
}

/// The sizes of all clusters. They take 4 bytes of memory for each row of the input.
pub(super) struct ClusterSizes(Vec<u32>);

impl ClusterSizes {
    pub(super) fn count(verdicts: &Verdicts, ledger: &Ledger) -> io::Result<Self> {
        let mut sizes = vec![1; usize::try_from(ledger.count).unwrap_or(0)];
        for begin in (0..ledger.count).step_by(4_096) {
            let numbers: Vec<u64> = (begin..ledger.count.min(begin + 4_096)).collect();
            for verdict in verdicts.read(&numbers)? {
                if let Verdict::Dropped { of, .. } = verdict
                    && let Some(size) = usize::try_from(of).ok().and_then(|of| sizes.get_mut(of))
                {
                    *size += 1;
                }
            }
        }
        Ok(Self(sizes))
    }

    /// The cluster of the kept row `number`, counted from 0.
    pub(super) fn of(&self, number: u64) -> Cluster {
        let size = usize::try_from(number).ok().and_then(|number| self.0.get(number));
        Cluster { number: number + 1, size: size.copied().unwrap_or(1) }
    }
}

impl Cluster {
    /// A JSON object with two more fields.
    pub(super) fn in_object(self, line: &[u8], name: &str) -> Result<Vec<u8>, Failure> {
        let Self { number, size } = self;
        if has_field(line, name) || has_field(line, &format!("{name}_size")) {
            return Err(taken(name));
        }
        let end = line.iter().rposition(|byte| *byte == b'}').unwrap_or(line.len());
        let (begin, rest) = line.split_at(end);
        let comma = if begin.trim_ascii_end().ends_with(b"{") { "" } else { "," };
        let [name, name_size] =
            [name.to_owned(), format!("{name}_size")].map(serde_json::Value::from);
        let more = format!("{comma}{name}:{number},{name_size}:{size}");
        Ok([begin, more.as_bytes(), rest].concat())
    }

    /// A row of a table with two more cells.
    pub(super) fn in_row(self, row: &[u8], delimiter: u8) -> Vec<u8> {
        let (mark, Self { number, size }) = (char::from(delimiter), self);
        [row, format!("{mark}{number}{mark}{size}").as_bytes()].concat()
    }
}

/// The error for a name that a row has already.
pub(super) fn taken(name: &str) -> Failure {
    Failure::new(
        format!("a row has a field {name} or {name}_size already"),
        "give another name: --cluster-field NAME",
    )
    .of_wrong_input()
}
