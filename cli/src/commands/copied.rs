//! `nearkin pairs` for an index of fingerprints: who copied from whom.
//!
//! This module prints. The library compares the texts.

use nearkin::passages::{PassagePair, PassageView};
use nearkin::{Alike, Reader, SimilarityText};
use serde::Serialize;

use crate::args::Pairs;
use nearkin_kit::ended::Ended;
use nearkin_kit::failure::Failure;
use nearkin_kit::interrupt;
use nearkin_kit::output::table::{Align, Table};
use nearkin_kit::output::{self, JsonBytes, Output, counted, grouped, visible};

/// Two texts that share a run of words.
#[derive(Serialize)]
struct PairObject<'a> {
    a: JsonBytes<'a>,
    b: JsonBytes<'a>,
    share_of_a: f64,
    share_of_b: f64,
    words: u64,
    longest: u64,
    stands_out: bool,
}

pub(super) fn pairs(args: &Pairs, index: &Reader, output: &mut Output) -> Result<Ended, Failure> {
    let elsewhere = [
        (args.exact.exact, "--exact"),
        (args.collapse, "--collapse"),
        (args.sort.is_some(), "--sort"),
        (args.conditions.threshold.is_some(), "--threshold"),
    ];
    if let Some((_, option)) = elsewhere.iter().find(|(is_given, _)| *is_given) {
        return Err(Failure::new(
            format!("{option} is for similar documents; fingerprints say what texts share"),
            "drop it: pairs come with the longest shared run first; --contained 0.5 asks for pairs \
             of which the one holds half of the other",
        ));
    }
    let own = Alike::similar(index.params().threshold());
    let alike = args.conditions.contained.map_or(own, Alike::contained);
    let conditions = args.conditions.conditions(alike).cancel_if(interrupt::came);
    let view = PassageView::new(&index.snapshot())?;
    let pairs = view.pairs(&conditions).map_err(|error| Failure::on_results(error.into()))?;
    interrupt::check().map_err(Failure::on_results)?;
    let shown = args.limit.and_then(|limit| usize::try_from(limit).ok()).unwrap_or(usize::MAX);
    if output.json() {
        for pair in pairs.iter().take(shown) {
            output.object(&object(pair))?;
        }
    } else {
        table(&pairs, shown, output)?;
    }
    output.flush()?;
    if !output.json() {
        let out = pairs.iter().filter(|pair| pair.stands_out).count() as u64;
        let pairs = counted(pairs.len() as u64, "pair");
        output::note(format!("{pairs} share a run of words; {} stand out (!)", grouped(out)));
    }
    Ok(Ended::Well)
}

fn object(pair: &PassagePair) -> PairObject<'_> {
    PairObject {
        a: JsonBytes(&pair.a),
        b: JsonBytes(&pair.b),
        share_of_a: pair.share_of_a,
        share_of_b: pair.share_of_b,
        words: pair.words,
        longest: pair.longest,
        stands_out: pair.stands_out,
    }
}

fn table(pairs: &[PassagePair], shown: usize, output: &mut Output) -> Result<(), Failure> {
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
    for pair in pairs.iter().take(shown) {
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
