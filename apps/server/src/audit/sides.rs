//! Reads the rows of both sides: signatures go to the audit, rows to temporary files.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::path::PathBuf;

use nearkin::{Audit as Auditor, Signature};

use super::spool::{Spool, Spooled};
use crate::args::audit::Audit;
use nearkin_input::fields::{Content, Fields};
use nearkin_input::raw::{Origin, Raw, Reason, STDIN, Skipped};
use nearkin_kit::ended::Ended;
use nearkin_kit::failure::Failure;
use nearkin_kit::input::content::{Reading, Sketched};
use nearkin_kit::input::documents::Input;
use nearkin_kit::input::pipeline::{self, Pace};
use nearkin_kit::input::shards;
use nearkin_kit::input::skips::Skips;
use nearkin_kit::output::progress::Progress;

/// Both sides, read.
pub(super) struct Sides {
    pub(super) kept: Spooled,
    pub(super) removed: Spooled,
    pub(super) counts: SideCounts,
    /// How reading ended.
    pub(super) ended: Ended,
}

/// What was read.
#[derive(Default)]
pub(super) struct SideCounts {
    pub(super) kept: u64,
    pub(super) removed: u64,
    /// Rows with nothing to compare: kept ones, and removed ones, which are not judged.
    pub(super) blank: [u64; 2],
    /// Rows that could not be read, of the kept and of the removed ones.
    pub(super) skipped: [u64; 2],
    /// Removed rows with a key that a kept row has, too.
    pub(super) same_keys: u64,
    /// With `--all`: kept rows that the input lacks.
    pub(super) unknown: u64,
    /// With `--all`: whether rows were told by their texts or items, for want of keys.
    pub(super) by_text: bool,
}

/// A row that can be compared, or that has nothing to compare.
struct SideRow {
    place: (u32, u64),
    /// Hashes of its key, if it has one, and of its text or its items.
    key: Option<u64>,
    text: u64,
    /// `None`: blank.
    document: Option<(Signature, Raw)>,
}

/// Which rows stay: how often the kept side has each key, or each text.
#[derive(Default)]
struct KeptNames {
    counts: HashMap<u64, u32>,
    /// Whether rows are told by their texts; `None` before the first row.
    by_text: Option<bool>,
}

impl KeptNames {
    /// The name of a row; `None` if it has none.
    fn name(&self, row: &SideRow) -> Option<u64> {
        if self.by_text == Some(true) { Some(row.text) } else { row.key }
    }
}

/// Reads both sides.
pub(super) fn read(args: &Audit, fields: &Fields, audit: &mut Auditor) -> Result<Sides, Failure> {
    let reading = Reading::new(audit.sketcher(), fields.clone());
    let is_all = !args.all.is_empty();
    let hasher = RandomState::new();
    let (mut names, mut nameless) = (KeptNames::default(), None);
    let takes = |row: &SideRow| {
        names.by_text.get_or_insert(is_all && row.key.is_none());
        match names.name(row) {
            Some(name) => *names.counts.entry(name).or_default() += 1,
            None => nameless = nameless.or(Some(row.place)),
        }
        true
    };
    let (paths, what) = (&args.kept, "reading kept rows");
    let kept =
        side(args, (paths, what), (&reading, fields, &hasher), takes, |all| audit.add_kept(all))?;
    if let Some((file, line)) = nameless.filter(|_| is_all) {
        let file = kept.names.get(file as usize).map_or("", String::as_str);
        return Err(Failure::new(
            format!("{file} line {line} has no key, and the first row has"),
            "name the field of the key with --key-field NAME; with a field that no row has, rows \
             are told by their texts",
        ));
    }
    let mut same_keys = 0;
    let (paths, what) = if is_all {
        (&args.all, "reading input rows")
    } else {
        (&args.removed, "reading removed rows")
    };
    let takes = |row: &SideRow| {
        let stays = names.name(row).and_then(|name| names.counts.get_mut(&name));
        same_keys += u64::from(stays.is_some());
        let Some(left) = stays.filter(|left| is_all && **left > 0) else { return true };
        *left -= 1;
        false
    };
    let add = |all: &[Signature]| audit.add_removed(all);
    let removed = side(args, (paths, what), (&reading, fields, &hasher), takes, add)?;
    let mut counts = SideCounts {
        kept: kept.count,
        removed: removed.count,
        blank: [kept.blank, removed.blank],
        skipped: [kept.skipped, removed.skipped],
        same_keys: if is_all { 0 } else { same_keys },
        unknown: 0,
        by_text: is_all && names.by_text == Some(true),
    };
    if is_all {
        counts.unknown = names.counts.values().map(|left| u64::from(*left)).sum();
        check_known(args, &counts)?;
    }
    reading.note_replaced();
    let ended = if matches!(kept.ended, Ended::Well) { removed.ended } else { kept.ended };
    let kept = kept.rows.finish(kept.names)?;
    Ok(Sides { kept, removed: removed.rows.finish(removed.names)?, counts, ended })
}

/// Fails if most kept rows are not in the input: they were told by the wrong field.
fn check_known(args: &Audit, counts: &SideCounts) -> Result<(), Failure> {
    let kept = counts.kept + counts.blank[0];
    if counts.unknown * 2 <= kept {
        return Ok(());
    }
    let by = if counts.by_text { args.content_noun() } else { "key" };
    let advice = if counts.by_text {
        "give the input that the tool read, or the field as it was: --text-field NAME, \
         --items-field NAME"
    } else {
        "give the input that the tool read, or its key: --key-field NAME; with a field that no row \
         has, rows are told by their texts"
    };
    let message =
        format!("{} of {kept} kept rows are not in the input, by their {by}", counts.unknown);
    Err(Failure::new(message, advice).of_wrong_input())
}

/// The rows of one side, while they are read.
struct Side {
    names: Vec<String>,
    rows: Spool,
    count: u64,
    blank: u64,
    skipped: u64,
    ended: Ended,
}

/// Reads the rows of one side. `takes` says which are of it, and `add` adds their signatures.
fn side(
    args: &Audit,
    (paths, doing): (&[PathBuf], &'static str),
    (reading, fields, hasher): (&Reading, &Fields, &RandomState),
    mut takes: impl FnMut(&SideRow) -> bool + Send,
    mut add: impl FnMut(&[Signature]) -> nearkin::Result<()> + Send,
) -> Result<Side, Failure> {
    let files = shards::expand(paths)?;
    let mut input = Input::lines(&files, args.rows.options(args.lenient))?.of_fields(fields);
    let (unit, total) = input.size();
    let progress = Progress::start(doing, unit, total);
    let name = |path: &PathBuf| {
        if path.as_os_str() == STDIN { "stdin".to_owned() } else { path.display().to_string() }
    };
    let names = files.iter().map(name).collect();
    let rows = Spool::new()?;
    let mut side = Side { names, rows, count: 0, blank: 0, skipped: 0, ended: Ended::Well };
    let mut skips = Skips::new(args.lenient);
    let read = |raw| side_row(reading, hasher, raw);
    pipeline::run(&mut input, Pace::Full, &progress, read, |chunk| {
        skips.count(&chunk, reading)?;
        let (mut signatures, mut skipped) = (Vec::with_capacity(chunk.len()), Vec::new());
        for row in chunk {
            match row {
                Err(one) => skipped.push(one),
                Ok(row) if !takes(&row) => {}
                Ok(SideRow { document: None, .. }) => side.blank += 1,
                Ok(SideRow { place, document: Some((signature, raw)), .. }) => {
                    side.rows.push(place, &raw)?;
                    signatures.push(signature);
                }
            }
        }
        side.count += signatures.len() as u64;
        side.skipped += skipped.len() as u64;
        skips.note(&skipped, &progress);
        Ok(add(&signatures)?)
    })?;
    drop(progress);
    skips.finish();
    skips.judge(reading)?;
    side.ended = skips.ended();
    Ok(side)
}

/// The same for equal texts, and for the same items in any order.
fn content_hash(hasher: &RandomState, content: &Content) -> u64 {
    match content {
        Content::Text(text) => hasher.hash_one(text),
        Content::Items(items) => {
            let mut items: Vec<&String> = items.iter().collect();
            items.sort_unstable();
            hasher.hash_one(items)
        }
        Content::Rows(rows) => hasher.hash_one(rows),
    }
}

fn side_row(reading: &Reading, hasher: &RandomState, raw: Raw) -> Result<SideRow, Skipped> {
    let place = match &raw.origin {
        Origin::Line { file_number, number, .. } => (*file_number, *number),
        _ => (0, 0),
    };
    let row = Raw { origin: raw.origin.clone(), body: raw.body.clone() };
    let name = |key: &[u8]| (!key.is_empty()).then(|| hasher.hash_one(key));
    match reading.sketch_and(raw, |content| content_hash(hasher, content)) {
        Ok((Sketched { name: key, signature, .. }, text)) => {
            Ok(SideRow { place, key: name(&key), text, document: Some((signature, row)) })
        }
        Err(Skipped { reason: Reason::Empty, key, .. }) => {
            let key = key.and_then(|key| name(&key));
            Ok(SideRow { place, key, text: hasher.hash_one(""), document: None })
        }
        Err(skipped) => Err(skipped),
    }
}
