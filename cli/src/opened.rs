//! Opening the index that the command line names, and what to say when it is not there.
//!
//! Knows the commands' first argument and no other.

use std::path::Path;

use std::time::{Duration, SystemTime, UNIX_EPOCH};

use nearkin::{Error, ErrorKind, Index, Options, Params, Reader, Scheme, Windows};

use crate::args::{ContainedGiven, ExactGiven, Likeness};
use crate::failure::Failure;
use crate::given::Given;
use crate::output;

/// The least chance of being found that is no cause for a warning.
const FOUND_MIN: f64 = 0.9;

/// Opens an index to read: writes nothing, and others may read it meanwhile.
pub(crate) fn to_read(dir: &Path) -> Result<Reader, Failure> {
    Reader::open(dir, Options::default()).map_err(not_opened)
}

/// Opens an index that must exist to change it.
pub(crate) fn to_change(dir: &Path) -> Result<Index, Failure> {
    Index::open(dir, Options::default()).map_err(not_opened)
}

/// Options of an index whose documents live so long.
fn options(ttl: Option<Duration>) -> Options {
    match ttl {
        Some(ttl) => Options::default().ttl(ttl),
        None => Options::default(),
    }
}

/// Closes an index after all was done, or as much as there was before a signal. Not after another
/// failure: closing would only fail again, and loses nothing by being left out.
pub(crate) fn close<E>(
    ended: Result<(), Failure>,
    close: impl FnOnce() -> Result<(), E>,
) -> Result<(), Failure>
where
    Failure: From<E>,
{
    match ended {
        Err(failure) if !failure.is_interruption() => Err(failure),
        // A flush that fails has lost nothing, either: the documents are in the WAL.
        ended => {
            close()?;
            ended
        }
    }
}

/// Runs a command that may create an index; if it fails with nothing in the new index, the index is
/// removed again. An interruption is no failure: the same command goes on.
pub(crate) fn leaving_nothing<T>(
    dir: &Path,
    command: impl FnOnce() -> Result<T, Failure>,
) -> Result<T, Failure> {
    let is_new = Index::exists(dir).is_ok_and(|exists| !exists);
    let had_folder = dir.exists();
    command().map_err(|failure| {
        if is_new && !failure.is_interruption() && remove_if_empty(dir, had_folder) {
            return failure.after(&format!("{} was not kept: nothing was in it", dir.display()));
        }
        failure
    })
}

/// Removes an index that holds nothing, while its lock is held; whether it is gone.
fn remove_if_empty(dir: &Path, had_folder: bool) -> bool {
    let Ok(index) = Index::open(dir, Options::default()) else { return false };
    if !index.is_empty() || std::fs::remove_dir_all(dir).is_err() {
        return false;
    }
    drop(index);
    !had_folder || std::fs::create_dir(dir).is_ok()
}

/// Removes what is older than that, however much it is; how many documents.
pub(crate) fn expire(index: &Index, ttl: Option<Duration>) -> Result<u64, Failure> {
    let Some(ttl) = ttl else { return Ok(0) };
    let since = SystemTime::now().duration_since(UNIX_EPOCH).unwrap_or_default();
    let limit = u64::try_from(since.saturating_sub(ttl).as_millis()).unwrap_or(u64::MAX);
    Ok(index.remove_before(limit)?)
}

/// Opens an index that must exist to change it for a long time, over which documents expire.
#[cfg(feature = "serve")]
pub(crate) fn to_serve(dir: &Path, ttl: Option<Duration>) -> Result<Index, Failure> {
    Index::open(dir, options(ttl)).map_err(not_opened)
}

/// Whether there is an index; an error if there is something else.
pub(crate) fn exists(dir: &Path) -> Result<bool, Failure> {
    Index::exists(dir).map_err(not_opened)
}

/// Opens an index to add to it, after comparing the parameters given with its own.
pub(crate) fn to_add(dir: &Path, given: &Given, ttl: Option<Duration>) -> Result<Index, Failure> {
    let index = Index::open(dir, options(ttl)).map_err(not_opened)?;
    check_given(index.params(), dir, given)?;
    Ok(index)
}

/// Refuses parameters that are others than those of an index.
pub(crate) fn check_given(params: &Params, dir: &Path, given: &Given) -> Result<(), Failure> {
    let differences = given.differences(params);
    if differences.is_empty() {
        return Ok(());
    }
    let name = dir.display();
    let advice =
        match given.threshold().filter(|asked| asked.to_bits() != params.threshold().to_bits()) {
            Some(threshold) => format!(
                "leave the option out to add with the index's own; for another threshold, `nearkin \
             rebuild {name} NEW --threshold {threshold}` makes an index of the same documents"
            ),
            None => "leave the options out to add with the index's own, or create another index"
                .to_owned(),
        };
    Err(Failure::new(format!("{name} has other parameters: {}", differences.join("; ")), advice))
}

/// Creates an index and warns of what its parameters cost.
pub(crate) fn create(dir: &Path, params: &Params, ttl: Option<Duration>) -> Result<Index, Failure> {
    if exists(dir)? {
        return Err(Failure::new(
            format!("there is an index at {} already", dir.display()),
            "add to it with `nearkin add`, or choose another folder",
        ));
    }
    for warning in params.warnings() {
        output::note(format!("warning: {warning}"));
    }
    note_quotation_words(params, params.threshold());
    Ok(Index::create(dir, params, options(ttl))?)
}

/// The parameters that matter most, in one line.
pub(crate) fn describe(params: &Params) -> String {
    let what = match params.scheme() {
        // Its shingles are the maker's affair.
        Scheme::External(_) => params.scheme().to_string(),
        _ => params.shingles().to_string(),
    };
    let passages = params.passages();
    let passages = passages.map_or_else(String::new, |windows| format!("passages {windows}, "));
    format!(
        "{passages}threshold {}, {what}, {} hashes of {} bits, {} bands of {} rows",
        params.threshold(),
        params.hashes(),
        params.lane_bits(),
        params.bands(),
        params.rows_per_band()
    )
}

/// Warns when more than a tenth of the pairs at the threshold asked for are missed, or half of them
/// at the index's own. At zero the best of what there is is wanted, and no more.
pub(crate) fn warn_if_missed(params: &Params, threshold: Option<f64>) {
    let own = params.threshold();
    let Some(threshold) = threshold.filter(|threshold| *threshold > 0.0) else { return };
    let chance = params.candidate_probability(threshold);
    // Bands that were chosen to find less of it were chosen.
    if chance < if threshold < own { FOUND_MIN } else { 0.5 } {
        output::note(format!(
            "warning: this index, made for similarities of {own} and above, misses {:.0} % of the \
             documents of similarity {threshold}; `nearkin rebuild INDEX NEW --threshold \
             {threshold}` makes one of the same documents that finds them",
            (100.0 * (1.0 - chance)).min(99.0)
        ));
    }
}

/// What makes two documents alike: what was given, or the index's own threshold. Warns where the
/// index finds few of them.
pub(crate) fn likeness(
    params: &Params,
    threshold: Option<f64>,
    contained: ContainedGiven,
    exact: Option<&ExactGiven>,
) -> Likeness {
    match contained.contained {
        Some(contained) => warn_if_contained_are_missed(params, contained),
        None => warn_if_missed(params, exact.and_then(|exact| exact.at_least).or(threshold)),
    }
    Likeness::of(params.threshold(), threshold, contained, exact)
}

/// Says how often the index finds what is contained to this extent in a document twice as long.
pub(crate) fn warn_if_contained_are_missed(params: &Params, contained: f64) {
    let similarity = Params::similarity_of_contained(contained, 2.0);
    let chance = params.candidate_probability(similarity);
    if chance < FOUND_MIN {
        output::note(format!(
            "warning: a document that has {contained} of one half as long is similar to it to \
             {similarity:.2}, which this index finds with a chance of {chance:.2}; build one with \
             --threshold {:.1}",
            (similarity - 0.1).max(0.1)
        ));
    }
}

/// Says of an index of passages how short a quotation it does not find, and what does.
pub(crate) fn note_quotation_words(params: &Params, threshold: f64) {
    let Some(windows) = params.passages() else { return };
    let Some(words) = params.quotation_words(threshold) else {
        return output::note(format!(
            "warning: windows of {windows} miss quotations of every length at {threshold}; make an \
             index of a lower --threshold"
        ));
    };
    let smaller = halved(params, windows).and_then(|smaller| {
        let enough = smaller.quotation_words(threshold).filter(|enough| *enough < words)?;
        Some(format!(" (--passages {} finds those of {enough})", smaller.passages()?))
    });
    output::note(format!(
        "quotations under {words} words need a smaller window than {windows}{}",
        smaller.unwrap_or_default()
    ));
}

/// The same with windows half as long, half as far apart.
fn halved(params: &Params, windows: Windows) -> Option<Params> {
    let half = |words: usize| u32::try_from(words / 2).ok();
    let smaller = Windows::new(half(windows.window())?, half(windows.stride())?).ok()?;
    params.to_builder().passages(smaller).build().ok()
}

/// Refuses an index of passages where only one of documents makes sense.
pub(crate) fn check_of_documents(params: &Params, what: &str) -> Result<(), Failure> {
    match params.passages() {
        None => Ok(()),
        Some(windows) => Err(Failure::new(
            format!("the index is of passages ({windows}), and {what} needs one of documents"),
            "add the texts to another index, created without --passages",
        )),
    }
}

/// Why a second index could not be made.
pub(crate) fn not_made(error: Error) -> Failure {
    let is_there = matches!(error.kind(), ErrorKind::Invalid | ErrorKind::Exists);
    let failure = Failure::from(error);
    if is_there {
        failure.advise("the new folder must not be there yet, or be empty: choose another name")
    } else {
        failure
    }
}

/// Why an index could not be opened, and what to do.
pub(crate) fn not_opened(error: Error) -> Failure {
    let kind = error.kind();
    let failure = Failure::from(error);
    match kind {
        ErrorKind::NotFound => {
            failure.advise("create it with `nearkin create INDEX` or `nearkin add INDEX PATH...`")
        }
        ErrorKind::Invalid => failure.advise(
            "the first argument must be the index, as in `nearkin add INDEX PATH...`; was it \
             forgotten?",
        ),
        _ => failure,
    }
}
