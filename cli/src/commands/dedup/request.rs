//! The request of a run: the arguments after checking, and what follows from them (format,
//! parameters, names).

use std::path::{Path, PathBuf};

use nearkin::{
    Against, Alike, Dedup as Decider, Duplicate, Guard, Keep, Key, Original, Params, Reader,
    Scheme, Shingles, Signature, Verified,
};

use super::deciding::Deciding;
use super::format::{self, OutputFormat};
use super::packed;
use super::verdicts::Pass;
use super::without::{self, Without};
use crate::args::Dedup;
use nearkin_input::fields::Fields;
use nearkin_input::files;
use nearkin_input::raw;
use nearkin_input::source::RowOptions;
use nearkin_kit::args::lines::LinesGiven;
use nearkin_kit::args::params::{Given, THRESHOLD_DEFAULT};
use nearkin_kit::failure::Failure;
use nearkin_kit::input::common;
use nearkin_kit::input::documents::Input;
use nearkin_kit::input::opened;
use nearkin_kit::input::originals::Originals;
use nearkin_kit::input::shards;
use nearkin_kit::output;
use nearkin_kit::scratch::Scratch;

/// How much longer than a part a text is of which the short parts are named.
const TIMES: u32 = 10;
/// The probability with which a part counts as found.
const FOUND: f64 = 0.95;

/// The checked request of a run.
pub(super) struct Request<'a> {
    pub(super) args: &'a Dedup,
    /// The input files. A folder is replaced by the files in it.
    pub(super) files: &'a [PathBuf],
    /// The output file. If the output goes to stdout, this is a temporary file.
    pub(super) out: PathBuf,
    pub(super) dropped: PathBuf,
    pub(super) format: OutputFormat,
    /// The folder of the temporary output file; `None` unless the output goes to stdout.
    pub(super) scratch: Option<Scratch>,
    pub(super) archive: Option<ArchiveIndex>,
    pub(super) without: Option<Without>,
    /// The parameters of the index of kept documents.
    pub(super) params: Params,
    /// The similarity or containment that makes a document a duplicate.
    pub(super) alike: Alike,
    pub(super) deciding: Deciding,
    /// What a document may differ in without being dropped.
    pub(super) guard: Guard,
    pub(super) fields: Fields,
    pub(super) rows: RowOptions,
    /// Names of the input files, for messages.
    pub(super) names: Vec<String>,
}

impl<'a> Request<'a> {
    pub(super) fn new(args: &'a Dedup, files: &'a [PathBuf]) -> Result<Self, Failure> {
        let to_stdout = args.out.as_os_str() == raw::STDIN;
        let scratch = if to_stdout { Some(Scratch::folder()?) } else { None };
        let out =
            scratch.as_ref().map_or_else(|| args.out.clone(), |folder| folder.path().join("out"));
        let dropped = args.dropped.clone().unwrap_or_else(|| {
            let mut name = out.as_os_str().to_owned();
            name.push(".dropped.jsonl");
            PathBuf::from(name)
        });
        for path in files {
            if files::length(path)?.is_none() && path.as_os_str() != raw::STDIN {
                return Err(Failure::new(
                    format!("{} cannot be read twice", path.display()),
                    "give a regular file, or pipe the stream to stdin and give `-`",
                ));
            }
        }
        check_out(&out, &out, args, files)?;
        check_out(&dropped, &out, args, files)?;
        format::check_dropped(&dropped)?;
        if let Some(apart) = &args.apart {
            check_apart(apart, args, files, [&out, &dropped])?;
        }
        let rows = args.rows.options(args.lenient);
        let format = format::choose(&args.out, files, &rows)?;
        check_cluster_field(args, format)?;
        let [out_tmp, dropped_tmp] = [&out, &dropped].map(|path| files::unfinished(path));
        let pairs = [(&out, &dropped), (&out_tmp, &dropped), (&out, &dropped_tmp)];
        if pairs.iter().any(|(one, other)| files::are_same(one, other)) {
            return Err(Failure::new(
                "--out and --dropped are the same file",
                "give two different files",
            ));
        }
        check_keep(args)?;
        check_effects(args)?;
        let index = args.index.as_deref().map(opened::to_read).transpose()?;
        let given = given(args, files, &rows, index.as_ref())?;
        let (params, alike) = params(args, &given, index.as_ref())?;
        let deciding = deciding(args);
        let guard = guard(args, &params, deciding)?;
        if (guard == Guard::None || args.keep == Keep::All) && args.apart.is_some() {
            return Err(Failure::new(
                "--apart lists what --guard keeps, and here it keeps nothing",
                "leave --apart out, or what switches the guard off: --guard none, --estimate, \
                 --contained, --items-field, --keep all",
            ));
        }
        let archive =
            index.map(|index| ArchiveIndex::new(args, index, alike, guard)).transpose()?;
        let fields = fields(args, files, &params)?;
        let without = Without::new(args, &params)?;
        let names = files.iter().map(|path| name_of(path)).collect();
        Ok(Self {
            args,
            files,
            out,
            dropped,
            format,
            scratch,
            archive,
            without,
            params,
            alike,
            deciding,
            guard,
            fields,
            rows,
            names,
        })
    }

    /// The files that the run writes, in the order in which they get their names.
    pub(super) fn outputs(&self) -> Vec<&PathBuf> {
        self.args.apart.iter().chain([&self.dropped, &self.out]).collect()
    }

    /// Whether what was dropped is looked at once more.
    pub(super) fn is_guarded(&self) -> bool {
        self.guard != Guard::None
    }

    /// Whether documents are decided in the order in which they are read, and while they are read.
    pub(super) fn decides_as_read(&self) -> bool {
        let is_in_order = self.args.keep == Keep::First && self.args.keep_by.is_none();
        is_in_order && self.deciding != Deciding::Exact
    }

    /// Which file of verdicts is written out.
    pub(super) fn last_pass(&self) -> Pass {
        if self.is_guarded() { Pass::Judged } else { Pass::Decided }
    }

    /// Whether lines with nothing to compare are kept. With `--strict` they are an error.
    pub(super) fn keeps_blank(&self) -> bool {
        !self.args.drop_blank && !self.args.strict
    }

    /// Whether documents of the archive are read again.
    pub(super) fn reads_again(&self) -> bool {
        self.args.exact && self.archive.is_some()
    }
}

/// Fails if nothing could be dropped.
fn check_keep(args: &Dedup) -> Result<(), Failure> {
    if args.keep == Keep::All && args.index.is_none() && args.without.without.is_empty() {
        return Err(Failure::new(
            "--keep all drops nothing",
            "say what to drop: --without FILE or --index INDEX, or leave --keep out",
        ));
    }
    Ok(())
}

/// Fails if an option has no effect because rows are not compared with each other, only their words
/// with those of questions, or of passages.
fn check_effects(args: &Dedup) -> Result<(), Failure> {
    let by = match args.cut_passages {
        Some(_) => "--cut-passages",
        None if args.keep == Keep::All && args.index.is_none() => "--keep all",
        None => return Ok(()),
    };
    let own = [
        ("--contained", args.contained.is_some()),
        ("--exact", args.exact),
        ("--estimate", args.estimate),
    ];
    let own = own.into_iter().find_map(|(option, given)| given.then_some(option));
    match own.or_else(|| args.given.without_effect_on_words()) {
        Some(option) => Err(Failure::new(
            format!("{option} has no effect with {by}"),
            format!("leave {option} or {by} out"),
        )),
        None => Ok(()),
    }
}

/// Fails if OUT cannot have more columns of this name.
fn check_cluster_field(args: &Dedup, format: OutputFormat) -> Result<(), Failure> {
    let Some(name) = &args.cluster_field else { return Ok(()) };
    if format == OutputFormat::Parquet {
        return Err(Failure::new(
            "--cluster-field adds no columns to Parquet",
            "write lines of JSON: --out OUT.jsonl",
        ));
    }
    let is_plain = |c: char| c.is_alphanumeric() || "_-. ".contains(c);
    if name.is_empty() || !name.chars().all(is_plain) {
        return Err(Failure::new(
            format!("--cluster-field {name:?} is no name of a column"),
            "give letters, digits, and _",
        ));
    }
    Ok(())
}

fn name_of(path: &Path) -> String {
    if path.as_os_str() == raw::STDIN {
        return "stdin".to_owned();
    }
    path.display().to_string()
}

/// What is known of a document and the archive.
#[derive(Default)]
pub(super) struct InArchive {
    /// The document that it duplicates.
    pub(super) duplicate: Option<Duplicate<Key<'static>>>,
    /// Whether it duplicates none, but only numbers set it apart from one.
    pub(super) is_apart: bool,
    /// How many documents could not be read again.
    pub(super) unread: u32,
}

/// The index given by `--index`, whose documents are never dropped.
pub(super) struct ArchiveIndex {
    pub(super) index: Reader,
    against: Against,
    /// With `--exact`: where its documents can be read again.
    originals: Option<Originals>,
}

impl ArchiveIndex {
    fn new(args: &Dedup, index: Reader, alike: Alike, guard: Guard) -> Result<Self, Failure> {
        let against = Against::new(&index.snapshot(), alike)?.guard(guard);
        let originals = if args.exact {
            Some(args.originals().originals(index.params(), index.sketcher(), &args.rows)?)
        } else {
            None
        };
        Ok(Self { index, against, originals })
    }

    /// The document of the archive that a document duplicates, by the estimate.
    pub(super) fn find(&self, signature: &Signature) -> nearkin::Result<InArchive> {
        let mut found = self.against.find(std::slice::from_ref(signature))?;
        Ok(InArchive { duplicate: found.pop().flatten(), ..InArchive::default() })
    }

    /// The document of the archive that a document duplicates, by the documents themselves. If it
    /// has what can set it apart, so have they.
    pub(super) fn find_exactly(&self, document: &Original) -> nearkin::Result<InArchive> {
        let Some(originals) = &self.originals else { return Ok(InArchive::default()) };
        let is_guarded = document.details().is_some();
        let fetch = &mut |key: &[u8]| {
            Ok(if is_guarded { originals.fetch_detailed(key) } else { originals.fetch(key) })
        };
        let Verified { duplicate, apart, unread, .. } =
            self.against.find_exactly(document, fetch)?;
        let is_apart = duplicate.is_none() && apart.is_some();
        Ok(InArchive { duplicate, is_apart, unread })
    }
}

fn deciding(args: &Dedup) -> Deciding {
    match (args.estimate || args.keep == Keep::All, args.exact) {
        (true, false) => Deciding::Estimate,
        (_, true) => Deciding::Exact,
        (false, false) => Deciding::Confirmed,
    }
}

/// The guard that was asked for. Sets have no words, the estimate has no texts, and a part differs
/// from the whole by what only the whole has: there, nothing is guarded; nor is it if nothing is
/// compared by its text.
fn guard(args: &Dedup, params: &Params, deciding: Deciding) -> Result<Guard, Failure> {
    let is_sets = params.shingles() == Shingles::Items;
    let why = match (deciding, args.contained) {
        _ if args.keep == Keep::All && !(args.exact && args.index.is_some()) => "--keep all",
        (Deciding::Estimate, _) => "--estimate",
        (_, Some(_)) => "--contained",
        _ if is_sets && args.items_field.is_some() => "--items-field",
        _ if is_sets => "an index of sets",
        _ => return Ok(args.guard.unwrap_or_else(|| Guard::for_params(params))),
    };
    match args.guard {
        None | Some(Guard::None) => Ok(Guard::None),
        Some(_) => Err(Failure::new(
            format!("--guard does nothing with {why}"),
            if args.keep == Keep::All && args.index.is_some() {
                "leave --guard out, or add --exact, which reads the texts of the index".to_owned()
            } else if is_sets {
                "leave --guard out".to_owned()
            } else {
                format!("leave --guard or {why} out")
            },
        )),
    }
}

/// The fields to read in each line.
fn fields(args: &Dedup, files: &[PathBuf], params: &Params) -> Result<Fields, Failure> {
    let lines = LinesGiven {
        jsonl: files.to_vec(),
        key_field: args.key_field.clone(),
        text_field: args.text_field.clone(),
        items_field: args.items_field.clone(),
        ..LinesGiven::default()
    };
    Ok(lines.fields(params)?.with_key_optional())
}

/// The options for parameters. Without an archive, common shingles are learned from the input if a
/// share was given.
fn given(
    args: &Dedup,
    files: &[PathBuf],
    rows: &RowOptions,
    archive: Option<&Reader>,
) -> Result<Given, Failure> {
    let given = match args.items_field {
        Some(_) if archive.is_none() => args.given.clone().or_shingles(Shingles::Items),
        _ => args.given.clone(),
    };
    let Some(share) = given.share_of_common().filter(|_| archive.is_none()) else {
        return Ok(given);
    };
    common::check_readable_twice(files)?;
    let given = given.with_common(None);
    let params = given.params()?;
    let fields = fields(args, files, &params)?;
    let mut input = Input::lines(files, rows.clone())?.of_fields(&fields);
    let learned = common::learn(&params, share, &mut input, fields)?;
    Ok(given.with_common(learned.list))
}

/// The parameters of the index of kept documents, and the similarity or containment that makes a
/// document a duplicate.
fn params(
    args: &Dedup,
    given: &Given,
    archive: Option<&Reader>,
) -> Result<(Params, Alike), Failure> {
    let own = given.threshold().or(archive.map(|archive| archive.params().threshold()));
    let alike = match args.contained {
        Some(contained) => {
            let alike = Alike::contained(contained);
            given.own_threshold().map_or(alike, |threshold| alike.and_similar(threshold))
        }
        None => Alike::similar(own.unwrap_or(THRESHOLD_DEFAULT)),
    };
    let searched = if args.exact { alike.for_verification() } else { alike };
    let params = match archive {
        None => Decider::choose(&given.builder(), searched)?,
        Some(archive) => of_archive(args, archive.params(), searched)?,
    };
    opened::check_of_documents(&params, "dedup")?;
    if let Scheme::External(_) = params.scheme() {
        return Err(Failure::new(
            format!("signatures of {} come from another program", params.scheme()),
            "use `nearkin admit` for rows; dedup reads texts or sets",
        ));
    }
    if let Some(contained) = args.contained {
        note_short_parts(&params, contained);
    }
    if let Some(contained) = args.contained.filter(|_| given.names_bands()) {
        opened::warn_if_contained_are_missed(&params, contained);
    }
    Ok((params, alike))
}

/// Says how short a part the bands find. A part of a much longer text is hardly similar to it.
fn note_short_parts(params: &Params, contained: f64) {
    let found = |times: u32| {
        params.candidate_probability(Params::similarity_of_contained(contained, f64::from(times)))
    };
    let times = (2..TIMES).take_while(|times| found(*times) >= FOUND).last();
    if found(TIMES) >= FOUND {
        return;
    }
    let down_to = times.map_or_else(String::new, |times| {
        format!("parts down to 1/{times} of the longer text are found; ")
    });
    output::note(format!(
        "{down_to}of parts of a tenth, {:.0} in 100: an index of passages finds short ones \
         (`nearkin add --for quotes`)",
        100.0 * found(TIMES)
    ));
}

/// The parameters of the index of kept documents if there is an archive: the signatures are those
/// of the archive.
fn of_archive(args: &Dedup, archive: &Params, alike: Alike) -> Result<Params, Failure> {
    let params = args.given.changed(archive)?;
    let differences = archive.signature_differences(&params);
    if !differences.is_empty() {
        return Err(Failure::new(
            format!(
                "the options differ from the settings of the index: {}",
                differences.join("; ")
            ),
            "drop these options, or drop --index",
        ));
    }
    opened::check_of_documents(archive, "dedup")?;
    match args.contained {
        Some(contained) => opened::warn_if_contained_are_missed(archive, contained),
        None => opened::warn_if_missed(archive, Some(alike.similarity_needed())),
    }
    if args.given.names_bands() { Ok(params) } else { Ok(Decider::params(&params, alike)?) }
}

/// Fails if the list of `--apart` would not be written, or is another file of the run.
fn check_apart(
    apart: &Path,
    args: &Dedup,
    files: &[PathBuf],
    others: [&PathBuf; 2],
) -> Result<(), Failure> {
    check_out(apart, others[0], args, files)?;
    format::check_dropped(apart)?;
    let name = apart.display();
    if apart.is_symlink() {
        return Err(Failure::new(format!("{name} is a link"), "give the name of a file"));
    }
    let tmp = files::unfinished(apart);
    let is_taken = |other: &&PathBuf| {
        let others = [(*other).clone(), files::unfinished(other)];
        let mine = [apart, tmp.as_path()];
        others.iter().any(|other| mine.iter().any(|mine| files::are_same(mine, other)))
    };
    if others.iter().any(is_taken) {
        return Err(Failure::new(
            "--apart is --out or --dropped, or a file that the run makes",
            "give three different files",
        ));
    }
    let folder = apart.parent().filter(|folder| !folder.as_os_str().is_empty());
    match folder.filter(|folder| !folder.is_dir()) {
        Some(folder) => Err(Failure::new(
            format!("{name} cannot be written: there is no folder {}", folder.display()),
            "make the folder, or give another name",
        )),
        None => Ok(()),
    }
}

/// Fails if `path` cannot be a file of the run that writes `out`.
fn check_out(path: &Path, out: &Path, args: &Dedup, files: &[PathBuf]) -> Result<(), Failure> {
    let name = path.display();
    // The output at `path` is first written to `tmp`, which overwrites any file of that name. So
    // neither name may be that of an input file.
    let tmp = files::unfinished(path);
    let is_written = |input: &&PathBuf| [path, &tmp].iter().any(|out| files::are_same(input, out));
    let (from, without) = (shards::expand(&args.from)?, without::files(args)?);
    if let Some(input) = files.iter().chain(&from).chain(&without).find(is_written) {
        let input = input.display();
        return Err(Failure::new(format!("{input} is an input"), "write to another file"));
    }
    if args.index.as_deref().is_some_and(|index| files::lies_in(path, index)) {
        return Err(Failure::new(
            format!("{name} is inside the folder of the index"),
            "write to another folder",
        ));
    }
    // The folder may not be there yet.
    let work = packed::work_folder(out);
    if path.starts_with(&work) || files::lies_in(path, &work) {
        return Err(Failure::new(
            format!("{name} is inside the folder of the run's temporary files, which it removes"),
            "write to another folder",
        ));
    }
    if path.exists() && !path.is_file() || path.as_os_str() == raw::STDIN {
        return Err(Failure::new(format!("{name} is not a regular file"), "give a regular file"));
    }
    Ok(())
}
