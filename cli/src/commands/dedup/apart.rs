//! The list of lines that the guard kept (`--apart`): each with the line it is similar to, and what
//! sets them apart.

use std::io;

use nearkin::Overlap;
use serde::Serialize;

use super::packed::Packed;
use super::request::Request;
use super::verdicts::{Pass, Verdict, Verdicts};
use super::work::Work;
use super::write;
use nearkin_kit::failure::Failure;
use nearkin_kit::output::JsonBytes;
use nearkin_kit::output::differences::Differences;

/// An entry: a line that is kept.
#[derive(Serialize)]
struct ApartObject<'a> {
    key: Option<JsonBytes<'a>>,
    file: &'a str,
    line: u64,
    /// The line that it is similar to.
    of_key: Option<JsonBytes<'a>>,
    of_file: &'a str,
    of_line: u64,
    similarity: f64,
    /// `numbers`, or `rare`.
    apart: &'a str,
    #[serde(flatten)]
    differences: Option<Differences>,
}

/// Writes the list, if it was asked for.
pub(super) fn write(request: &Request<'_>, work: &Work) -> Result<(), Failure> {
    let Some(path) = &request.args.apart else { return Ok(()) };
    let Some(mut list) = Packed::open(path, 0)? else { return Err(write::changed()) };
    let failed = |error: io::Error| work.failed(&error);
    let verdicts = Verdicts::open(&work.folder, Pass::Judged, work.ledger.count).map_err(failed)?;
    for begin in (0..work.ledger.count).step_by(4_096) {
        let numbers: Vec<u64> = (begin..work.ledger.count.min(begin + 4_096)).collect();
        let read = verdicts.read(&numbers).map_err(failed)?;
        for (number, verdict) in numbers.into_iter().zip(read) {
            if let Verdict::Apart { of, equal, in_numbers } = verdict {
                let object = object(request, work, (number, of, equal, in_numbers));
                list.line(&object.map_err(failed)?, b"\n")?;
            }
        }
    }
    list.finish()
}

fn object(
    request: &Request<'_>,
    work: &Work,
    (number, of, equal, in_numbers): (u64, u64, u32, bool),
) -> io::Result<Vec<u8>> {
    let [own, other] = [work.ledger.head(number)?, work.ledger.head(of)?];
    let [key, of_key] = [work.ledger.text(own.key)?, work.ledger.text(other.key)?];
    let compared = [(number, own), (of, other)];
    let differences = write::differences(work, &compared)?;
    let [(_, own), (_, other)] = &compared;
    let counts = (own.shingles as usize, other.shingles as usize);
    let object = ApartObject {
        key: write::key(&key),
        file: write::name(request, own.file),
        line: own.line,
        of_key: write::key(&of_key),
        of_file: write::name(request, other.file),
        of_line: other.line,
        similarity: Overlap::of(equal as usize, counts.0, counts.1).similarity,
        apart: if in_numbers { "numbers" } else { "rare" },
        differences,
    };
    Ok(serde_json::to_vec(&object)?)
}
