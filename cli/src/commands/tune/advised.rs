//! Prints the recommended preset: the measurements, the conclusion and how certain it is.

use nearkin::{Params, Preset, Shingles};
use serde::Serialize;

use super::advice::Measured;
use nearkin_kit::args::params::Given;
use nearkin_kit::failure::Failure;
use nearkin_kit::output::{Output, grouped};

#[derive(Serialize)]
struct AdviceObject<'a> {
    preset: &'a str,
    because: &'a str,
    /// Why another preset may fit better; `None` if there is no such reason.
    #[serde(skip_serializing_if = "Option::is_none")]
    unsure: Option<&'a str>,
    texts: usize,
    words_median: u32,
    words_of_tenth: u32,
    words_of_last_tenth: u32,
    like_program_text: f64,
    odd_words: f64,
    lines_cut_by_hyphens: f64,
    signs_per_word: f64,
    /// Number of texts that differ from another one only by signs that words do not have.
    differ_by_signs: usize,
    /// Number of texts that differ from another one only in numbers.
    differ_by_numbers: usize,
    /// Number of texts that begin or end with a sentence of many others.
    with_boilerplate: usize,
    /// Number of texts in a script without spaces.
    without_spaces: usize,
    /// Number of texts with words in which a letter of another script looks like a Latin one.
    with_look_alikes: usize,
    /// What the given shingles do not see.
    #[serde(skip_serializing_if = "Option::is_none")]
    unseen: Option<&'a str>,
    #[serde(skip_serializing_if = "Option::is_none")]
    near_copies_per_text: Option<f64>,
}

/// Minimum median length, in words, at which the advice mentions quotations.
const LONG: u32 = 3_000;

/// Prints the measurements of the texts, and the preset that fits them.
pub(super) fn print(
    measured: &Measured,
    shingles: Shingles,
    copies: Option<f64>,
    output: &mut Output,
) -> Result<(), Failure> {
    let advice = measured.advice();
    let unseen = measured.unseen_by(shingles);
    let Measured { texts, words, words_of_tenth, words_of_last_tenth, code, odd, hyphens, .. } =
        *measured;
    if output.json() {
        return output.object(&AdviceObject {
            preset: advice.preset.name(),
            because: &advice.because,
            unsure: advice.unsure.as_deref(),
            texts,
            words_median: words,
            words_of_tenth,
            words_of_last_tenth,
            like_program_text: code,
            odd_words: odd,
            lines_cut_by_hyphens: hyphens,
            signs_per_word: measured.signs,
            differ_by_signs: measured.unseen,
            differ_by_numbers: measured.numbered,
            with_boilerplate: measured.boilerplate,
            without_spaces: measured.unspaced,
            with_look_alikes: measured.look_alikes,
            unseen: unseen.as_deref(),
            near_copies_per_text: copies,
        });
    }
    let percent = |share: f64| format!("{:.1} %", 100.0 * share);
    let number = |words: u32| grouped(u64::from(words));
    output.line(format_args!("\nwhat {} texts look like", grouped(texts as u64)))?;
    output.line(format_args!(
        "  words per text: median {}, 10th percentile {}, 90th percentile {}",
        number(words),
        number(words_of_tenth),
        number(words_of_last_tenth)
    ))?;
    output.line(format_args!("  like program text: {}", percent(code)))?;
    output.line(format_args!("  odd words (br1ght, toWn), as in scans: {}", percent(odd)))?;
    output.line(format_args!("  line ends with a hyphen: {}", percent(hyphens)))?;
    if let Some(copies) = copies {
        output.line(format_args!("  near-copies: {copies:.2} others for each text"))?;
    }
    output.line(format_args!("preset: --for {}, because {}", advice.preset, advice.because))?;
    if let Some(unsure) = &advice.unsure {
        output.line(format_args!("unsure: {unsure}; compare the two on texts that you know"))?;
    }
    if let Some(unseen) = unseen {
        // `chars` see signs, too, but with the threshold of a preset tolerate one.
        let instead = match advice.preset {
            Preset::Code => "--for code",
            Preset::Short => "--shingles tokens:2",
            _ => "--shingles tokens:3",
        };
        output
            .line(format_args!("unseen: {unseen}; if that matters: {instead}, which see signs"))?;
    }
    if measured.numbered > 0 {
        output.line(format_args!(
            "numbers: {} of {} texts differ from another only in numbers; dedup, dups and admit \
             keep them apart (--guard), pairs and clusters do not",
            measured.numbered, measured.texts
        ))?;
    }
    causes(measured, shingles, advice.preset, output)?;
    if words >= LONG {
        output.line("for quotations within such long texts: --for quotes")?;
    }
    Ok(())
}

/// Prints what else makes texts more or less similar than they are, and what helps.
fn causes(
    measured: &Measured,
    shingles: Shingles,
    preset: Preset,
    output: &mut Output,
) -> Result<(), Failure> {
    let Measured { texts, boilerplate, unspaced, look_alikes, .. } = *measured;
    if boilerplate * 20 >= texts && boilerplate > 0 {
        output.line(format_args!(
            "common: {boilerplate} of {texts} texts begin or end with a sentence that many others \
             have; --ignore-common 3% compares without it"
        ))?;
    }
    if unspaced * 2 >= texts && matches!(shingles, Shingles::Words(..=5)) {
        output.line(format_args!(
            "script: {unspaced} of {texts} texts have no spaces between words, and {shingles} are \
             as many characters; --shingles words:8 holds more"
        ))?;
    }
    if look_alikes > 0 {
        output.line(format_args!(
            "look-alikes: {look_alikes} of {texts} texts have Latin words with Cyrillic or Greek \
             letters that look the same; --normalise fold,lookalikes reads them as Latin ones"
        ))?;
    }
    if preset == Preset::Short {
        output
            .line("for the same things in several catalogues (products, people): --for records")?;
    }
    Ok(())
}

/// Prints the one command to use, as the last lines. `preset` is the recommended one, if no option
/// was given that decides otherwise.
pub(super) fn command(
    given: &Given,
    chosen: &Params,
    preset: Option<Preset>,
    output: &mut Output,
) -> Result<(), Failure> {
    let options = match preset {
        None => given.command_line(chosen),
        Some(preset) => {
            let shingles = chosen.shingles();
            output.line(format_args!(
                "the table above is that of the default, {shingles} at {}; `nearkin tune --for \
                 {preset} PATH` shows that of the preset",
                chosen.threshold()
            ))?;
            vec![format!("--for {preset}")]
        }
    };
    output.line(format_args!("\nuse this:\nnearkin create my.nearkin {}", options.join(" ")))
}
