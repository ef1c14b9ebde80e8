//! The request of a run: the arguments after checking, and what follows from them (format,
//! parameters, names).

use std::path::{Path, PathBuf};

use nearkin::{Alike, Params, Reader, Scheme, Shingles};

use super::format::{self, Format};
use crate::args::{Dedup, LinesGiven};
use crate::failure::Failure;
use crate::fields::Fields;
use crate::files;
use crate::input;
use crate::opened;
use crate::params_args::Given;
use crate::raw;
use crate::scratch::Scratch;
use crate::source::RowOptions;

/// The checked request of a run.
pub(super) struct Asked<'a> {
    pub(super) args: &'a Dedup,
    /// The input files. A folder is replaced by the files in it.
    pub(super) files: &'a [PathBuf],
    /// The output file. If the output goes to stdout, this is a temporary file.
    pub(super) out: PathBuf,
    pub(super) dropped: PathBuf,
    pub(super) format: Format,
    /// The folder of the temporary output file; `None` unless the output goes to stdout.
    pub(super) scratch: Option<Scratch>,
    pub(super) archive: Option<Reader>,
    /// The parameters of the index of kept documents.
    pub(super) params: Params,
    /// The similarity or containment that makes a document a duplicate.
    pub(super) alike: Alike,
    pub(super) fields: Fields,
    pub(super) rows: RowOptions,
    /// Names of the input files, for messages.
    names: Vec<String>,
}

impl<'a> Asked<'a> {
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
        check_out(&out, args, files)?;
        check_out(&dropped, args, files)?;
        format::check_dropped(&dropped)?;
        let rows = args.rows.options(args.lenient);
        let format = format::of(&args.out, files, &rows)?;
        let [out_tmp, dropped_tmp] = [&out, &dropped].map(|path| files::unfinished(path));
        let pairs = [(&out, &dropped), (&out_tmp, &dropped), (&out, &dropped_tmp)];
        if pairs.iter().any(|(one, other)| files::are_same(one, other)) {
            return Err(Failure::new(
                "--out and --dropped are the same file",
                "give two different files",
            ));
        }
        let archive = args.index.as_deref().map(opened::to_read).transpose()?;
        let (params, alike) = params(args, archive.as_ref())?;
        let lines = LinesGiven {
            jsonl: files.to_vec(),
            key_field: args.key_field.clone(),
            text_field: args.text_field.clone(),
            items_field: args.items_field.clone(),
            ..LinesGiven::default()
        };
        let fields = input::fields(&lines, &params)?.with_key_optional();
        let names = files.iter().map(|path| name_of(path)).collect();
        Ok(Self {
            args,
            files,
            out,
            dropped,
            format,
            scratch,
            archive,
            params,
            alike,
            fields,
            rows,
            names,
        })
    }

    /// Name of an input file, for messages.
    pub(super) fn name(&self, file: u32) -> &str {
        self.names.get(file as usize).map_or("", String::as_str)
    }
}

fn name_of(path: &Path) -> String {
    if path.as_os_str() == raw::STDIN {
        return "stdin".to_owned();
    }
    path.display().to_string()
}

/// The parameters: those of the archive (`--index`), or of a new index, changed by the given
/// options. Also returns the similarity or containment that makes a document a duplicate.
fn params(args: &Dedup, archive: Option<&Reader>) -> Result<(Params, Alike), Failure> {
    if args.exact && archive.is_some() {
        return Err(Failure::new(
            "--exact compares documents, but --index holds only signatures",
            "drop --index; or give the documents of the index as the first FILE",
        ));
    }
    let contained = args.contained.map(|contained| {
        let alike = Alike::contained(contained);
        args.given.own_threshold().map_or(alike, |threshold| alike.and_similar(threshold))
    });
    let given = match contained {
        Some(alike) => args.given.clone().with_threshold(alike.similarity_needed().max(0.05)),
        None => args.given.clone(),
    };
    let sets = args.items_field.is_some();
    let or_items = |given: &Given| {
        if sets { given.clone().or_shingles(Shingles::Items) } else { given.clone() }
    };
    let params = match archive {
        None => or_items(&given).params()?,
        Some(archive) => {
            let params = given.changed(archive.params())?;
            let differences = archive.params().signature_differences(&params);
            if !differences.is_empty() {
                let differences = differences.join("; ");
                return Err(Failure::new(
                    format!("the options differ from the settings of the index: {differences}"),
                    "drop these options, or drop --index",
                ));
            }
            match args.contained {
                Some(contained) => {
                    opened::warn_if_contained_are_missed(archive.params(), contained);
                }
                None => opened::warn_if_missed(archive.params(), Some(params.threshold())),
            }
            params
        }
    };
    opened::check_of_documents(&params, "dedup")?;
    if let Scheme::External(_) = params.scheme() {
        return Err(Failure::new(
            format!("signatures of {} come from another program", params.scheme()),
            "use `nearkin admit` for rows; dedup reads texts or sets",
        ));
    }
    let alike = contained.unwrap_or_else(|| params.threshold().into());
    if args.exact && !args.given.names_bands() {
        return Ok((nearkin::Dedup::params(&params, alike)?, alike));
    }
    if let Some(contained) = args.contained.filter(|_| args.given.names_bands()) {
        opened::warn_if_contained_are_missed(&params, contained);
    }
    Ok((params, alike))
}

fn check_out(path: &Path, args: &Dedup, files: &[PathBuf]) -> Result<(), Failure> {
    let name = path.display();
    // The output at `path` is first written to `tmp`, which overwrites any file of that name. So
    // neither name may be that of an input file.
    let tmp = files::unfinished(path);
    let is_written = |input: &&PathBuf| [path, &tmp].iter().any(|out| files::are_same(input, out));
    if let Some(input) = files.iter().find(is_written) {
        let input = input.display();
        return Err(Failure::new(format!("{input} is an input"), "write to another file"));
    }
    if args.index.as_deref().is_some_and(|index| files::lies_in(path, index)) {
        return Err(Failure::new(
            format!("{name} is inside the folder of the index"),
            "write to another folder",
        ));
    }
    if path.exists() && !path.is_file() || path.as_os_str() == raw::STDIN {
        return Err(Failure::new(format!("{name} is not a regular file"), "give a regular file"));
    }
    Ok(())
}
