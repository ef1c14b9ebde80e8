//! `nearkin pairs` and `clusters` for an index of fingerprints: who copied from whom.
//!
//! This module prints. The library compares the texts.

use nearkin::passages::{PassagePair, PassageView};
use nearkin::{Alike, Conditions, Reader, SimilarityText};
use serde::Serialize;

use crate::args::{Clusters, Pairs};
use nearkin_kit::args::conditions::ConditionsGiven;
use nearkin_kit::ended::Ended;
use nearkin_kit::failure::Failure;
use nearkin_kit::interrupt;
use nearkin_kit::output::table::{Align, Table};
use nearkin_kit::output::{self, JsonBytes, Output, counted, grouped, visible};

/// Two texts that share a run of words.
#[derive(Serialize)]
struct CopiedPair<'a> {
    a: JsonBytes<'a>,
    b: JsonBytes<'a>,
    share_of_a: f64,
    share_of_b: f64,
    words: u64,
    longest: u64,
    stands_out: bool,
    #[serde(skip_serializing_if = "Option::is_none")]
    complete: Option<bool>,
}

pub(super) fn pairs(args: &Pairs, index: &Reader, output: &mut Output) -> Result<Ended, Failure> {
    let elsewhere = [
        (args.exact.exact, "--exact"),
        (args.collapse, "--collapse"),
        (args.sort.is_some(), "--sort"),
        (args.conditions.threshold.is_some(), "--threshold"),
    ];
    refuse(&elsewhere)?;
    let conditions = conditions(&args.conditions, index);
    let view = PassageView::new(&index.snapshot())?;
    let limit = args.limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
    let found = view
        .counted_pairs(&conditions.limit(limit))
        .map_err(|error| Failure::on_results(error.into()))?;
    interrupt::check().map_err(Failure::on_results)?;
    if output.json() {
        for pair in &found.pairs {
            output.object(&object(pair))?;
        }
    } else {
        table(&found.pairs, output)?;
    }
    output.flush()?;
    if found.incomplete > 0 {
        output::warn(format!(
            "{} not compared to the end, because the texts repeat the same words over and over: \
             they may share more",
            counted(found.incomplete, "pair")
        ));
    }
    if !output.json() {
        let (pairs, out) = (counted(found.found, "pair"), grouped(found.stand_out));
        output::note(format!("{pairs} share a run of words; {out} stand out (!)"));
    }
    Ok(Ended::Well)
}

fn refuse(given: &[(bool, &str)]) -> Result<(), Failure> {
    match given.iter().find(|(is_given, _)| *is_given) {
        None => Ok(()),
        Some((_, option)) => Err(Failure::new(
            format!("{option} is for similar documents; fingerprints say what texts share"),
            "drop it: pairs come with the longest shared run first; --contained 0.5 asks for pairs \
             of which the one holds half of the other",
        )),
    }
}

fn conditions(given: &ConditionsGiven, index: &Reader) -> Conditions<'static> {
    let own = Alike::similar(index.params().threshold());
    let alike = given.contained.map_or(own, Alike::contained);
    given.conditions(alike).cancel_if(interrupt::came)
}

/// A text of a group, which is named by its first text.
#[derive(Serialize)]
struct CopiedGroup<'a> {
    cluster: JsonBytes<'a>,
    key: JsonBytes<'a>,
}

pub(super) fn clusters(
    args: &Clusters,
    index: &Reader,
    output: &mut Output,
) -> Result<Ended, Failure> {
    refuse(&[
        (args.exact.exact, "--exact"),
        (args.direct, "--direct"),
        (args.sort.is_some(), "--sort"),
        (args.conditions.threshold.is_some(), "--threshold"),
    ])?;
    let limit = args.limit.unwrap_or(usize::MAX);
    let conditions = conditions(&args.conditions, index).limit(limit);
    let view = PassageView::new(&index.snapshot())?;
    let groups = view.clusters(&conditions).map_err(|error| Failure::on_results(error.into()))?;
    interrupt::check().map_err(Failure::on_results)?;
    for group in &groups {
        let Some(first) = group.first() else { continue };
        if !output.json() {
            output.line(format_args!("{}", counted(group.len() as u64, "text")))?;
        }
        for key in group {
            if output.json() {
                output.object(&CopiedGroup { cluster: JsonBytes(first), key: JsonBytes(key) })?;
            } else {
                output.line(format_args!("  {}", visible(key)))?;
            }
        }
    }
    output.flush()?;
    if !output.json() {
        output::note(counted(groups.len() as u64, "group"));
    }
    Ok(Ended::Well)
}

fn object(pair: &PassagePair) -> CopiedPair<'_> {
    CopiedPair {
        a: JsonBytes(&pair.a),
        b: JsonBytes(&pair.b),
        share_of_a: pair.share_of_a,
        share_of_b: pair.share_of_b,
        words: pair.words,
        longest: pair.longest,
        stands_out: pair.stands_out,
        complete: (!pair.complete).then_some(false),
    }
}

fn table(pairs: &[PassagePair], output: &mut Output) -> Result<(), Failure> {
    let columns = [
        ("", Align::Left),
        ("longest", Align::Right),
        ("words", Align::Right),
        ("of a", Align::Right),
        ("of b", Align::Right),
        ("a", Align::Left),
        ("b", Align::Left),
    ];
    let mut table = Table::new(columns);
    for pair in pairs {
        let share = |share| SimilarityText::Exact(share).to_string();
        let row = [
            if pair.stands_out { "!" } else { "" }.to_owned(),
            grouped(pair.longest),
            grouped(pair.words),
            share(pair.share_of_a),
            share(pair.share_of_b),
            visible(&pair.a),
            visible(&pair.b),
        ];
        table.row(row, output)?;
    }
    table.finish(output)
}
