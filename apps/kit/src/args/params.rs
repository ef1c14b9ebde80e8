//! Options for index parameters: they create a new index, or are checked against an existing one.
//!
//! This module knows option names. The library interprets the parameters.

use std::path::PathBuf;

use nearkin::{Normalise, Params, ParamsBuilder, Preset, Scheme, Shingles, Windows};

use super::common::CommonGiven;
use super::stop::StopWords;
use crate::failure::Failure;
use crate::input::common;

/// Default threshold of a new index; the same as the library's.
pub const THRESHOLD_DEFAULT: f64 = 0.7;

/// Default threshold of an index of passages. It is lower because quotations rarely start at window
/// boundaries.
const THRESHOLD_OF_PASSAGES: f64 = 0.5;

/// Threshold of `--for quotes` together with windows.
const THRESHOLD_OF_WINDOWS: f64 = 0.3;

/// The options that were given. All others have the default of a new index, or the value of an
/// existing one.
#[derive(Debug, Clone, Default, clap::Args)]
#[command(next_help_heading = "Parameters of a new index")]
#[expect(clippy::struct_excessive_bools, reason = "each is one option of the command line")]
pub struct Given {
    /// Kind of texts: documents, archive (scans), training, short, records, code, or quotes
    ///
    /// Each stands for shingles, normalisation and threshold that were measured to find edited
    /// copies of such texts (table in docs/guide/TUNING.md). Other options override it.
    #[arg(long = "for", value_name = "TEXTS")]
    #[arg(value_parser = |text: &str| text.parse::<Preset>())]
    preset: Option<Preset>,

    /// Minimum similarity to find, above 0, at most 1 [default: 0.7]
    #[arg(long, short, value_name = "T", value_parser = crate::args::values::share)]
    pub(super) threshold: Option<f64>,

    /// Probability that a pair at the threshold is compared [default: 0.95]
    #[arg(long, value_name = "P")]
    pub(super) recall: Option<f64>,

    /// Rows of a signature, 16 to 1024: more rows are more exact and take more space [default: 128,
    /// or what a low threshold needs]
    #[arg(long, value_name = "K")]
    pub(super) hashes: Option<usize>,

    /// Bands of the signature [default: from threshold and recall]
    #[arg(long, value_name = "B", requires = "rows_per_band")]
    pub(super) bands: Option<usize>,

    /// Rows per band [default: from threshold and recall]
    #[arg(long, value_name = "R", requires = "bands")]
    pub(super) rows_per_band: Option<usize>,

    /// Units to compare: words:N, tokens:N (separated by white space), chars:N, lines:N, or items
    /// [default: words:3]
    #[arg(long, value_name = "S", value_parser = |text: &str| text.parse::<Shingles>())]
    pub(super) shingles: Option<Shingles>,

    /// Find quotations: cut texts into passages of WINDOW words, one every STRIDE words
    ///
    /// For example 50:25. `nearkin query` then prints which texts contain parts of the query,
    /// where, and how much of it. The default threshold is then 0.5. `--for quotes` finds shorter
    /// quotations in less space: every run of 8 words.
    #[arg(long, value_name = "WINDOW:STRIDE")]
    #[arg(value_parser = |text: &str| text.parse::<Windows>())]
    passages: Option<Windows>,

    /// Ignore the words listed in FILE, such as words that occur in every text; only for shingles
    /// of words
    ///
    /// The words are stored with the index. Lines that begin with # are comments.
    #[arg(long, value_name = "FILE", value_parser = StopWords::read)]
    pub(super) stop: Option<StopWords>,

    /// Ignore what many documents share (notices, licences, menus): a share such as 5%, or a list
    ///
    /// With a share, the documents are read twice: shingles that at least so many of them have (and
    /// at least ten) neither make texts similar nor find them. An existing index has its own list.
    /// `nearkin tune --ignore-common 5% --out FILE` shows what would be left out and writes a list;
    /// it is stored with the index, and has at most 8,192 shingles.
    #[arg(long, visible_alias = "common", value_name = "SHARE|FILE")]
    #[arg(value_parser = CommonGiven::parse)]
    pub(super) ignore_common: Option<CommonGiven>,

    /// Ignore what is in FILE, such as a form that all texts have filled in; may be repeated. Its
    /// shingles are left out like those of --ignore-common, at most 8,192 in all
    #[arg(long, value_name = "FILE")]
    pub(super) template: Vec<PathBuf>,

    /// Count a repeated shingle as often as it occurs, not once
    #[arg(long)]
    pub(super) bag: bool,

    /// Normalisation before comparison: none, lower, nfc, case (lower and nfc), or fold [default:
    /// fold; none for items]
    ///
    /// fold equates spellings that readers consider the same: curly and straight quotes, ligatures,
    /// full-width letters, soft hyphens, composed and decomposed accents. Options follow after
    /// commas: diacritics drops accents and vowel points; dehyphenate joins words split at line
    /// ends; turkish keeps the dotless i; digits reads every number as 0; lookalikes
    /// reads Cyrillic and Greek letters within Latin words as Latin ones. Example:
    /// fold,diacritics,dehyphenate.
    #[arg(long, value_name = "N", value_parser = |text: &str| text.parse::<Normalise>())]
    normalise: Option<Normalise>,

    /// Distinguish upper and lower case: the same as --normalise nfc
    #[arg(long, conflicts_with = "normalise")]
    keep_case: bool,

    /// Distinguish kinds of white space
    #[arg(long)]
    pub(super) keep_space: bool,

    /// Skip Unicode normalisation form C: the same as --normalise lower
    #[arg(long, conflicts_with = "normalise")]
    no_nfc: bool,

    /// Bits stored per row, 8 or 16 [default: 8, or 16 for bands of two rows]; for rows made
    /// elsewhere also 32 or 64, which store them unchanged
    #[arg(long, value_name = "BITS")]
    pub(super) lane_bits: Option<u32>,

    /// Signature scheme, fast or textbook; or external:NAME for signatures made elsewhere, whose
    /// rows are added [default: fast]
    #[arg(long, value_name = "S", value_parser = |text: &str| text.parse::<Scheme>())]
    pub(super) scheme: Option<Scheme>,

    /// Seed of all hashes; keep it secret if somebody could profit from colliding texts [default:
    /// 0]
    #[arg(long, value_name = "N")]
    seed: Option<u64>,
}

impl Given {
    /// Sets the shingles, unless they were given.
    #[must_use]
    pub fn or_shingles(mut self, shingles: Shingles) -> Self {
        self.shingles.get_or_insert(shingles);
        self
    }

    /// Lowers the default threshold to this similarity. Does nothing if a threshold was given, or
    /// if the default is already lower.
    #[must_use]
    pub fn or_threshold_below_default(mut self, similarity: f64) -> Self {
        if self.threshold().is_none() && similarity > 0.0 && similarity < THRESHOLD_DEFAULT {
            self.threshold = Some(similarity);
        }
        self
    }

    /// The preset, if one was given.
    pub fn preset(&self) -> Option<Preset> {
        self.preset
    }

    /// The given threshold; a threshold from a preset counts as given.
    pub fn threshold(&self) -> Option<f64> {
        self.filled().threshold
    }

    /// The given threshold; a threshold from a preset does not count.
    pub fn own_threshold(&self) -> Option<f64> {
        self.threshold
    }

    /// Whether bands were given explicitly.
    pub fn names_bands(&self) -> bool {
        self.bands.is_some()
    }

    /// Fills options that were not given with the values of the preset.
    fn filled(&self) -> Self {
        let mut filled = self.clone();
        let Some(Ok(params)) = self.preset.map(|preset| Params::preset(preset).build()) else {
            return filled;
        };
        let params = match self.passages.filter(|windows| windows.stride() > 1) {
            Some(windows) if params.scheme() == Scheme::Winnow => {
                let older = Params::for_threshold(THRESHOLD_OF_WINDOWS).passages(windows);
                older.normalise(params.normalise()).build().unwrap_or(params)
            }
            _ => params,
        };
        filled.threshold.get_or_insert(params.threshold());
        filled.shingles.get_or_insert(params.shingles());
        filled.passages = filled.passages.or(params.passages());
        filled.scheme.get_or_insert(params.scheme());
        if !self.keep_case && !self.no_nfc {
            filled.normalise.get_or_insert(params.normalise());
        }
        filled
    }

    /// Whether no option was given at all.
    pub fn is_nothing(&self) -> bool {
        let numbers = [self.hashes, self.bands, self.rows_per_band];
        let others = self.passages.is_none() && numbers.iter().all(Option::is_none);
        others && self.threshold.is_none() && self.shingles.is_none() && self.spelled().is_empty()
    }

    /// The command-line options that create an index with these parameters, which were chosen for
    /// the given options.
    pub fn command_line(&self, params: &Params) -> Vec<String> {
        let bare = Self {
            threshold: None,
            shingles: None,
            hashes: None,
            bands: None,
            rows_per_band: None,
            ..self.clone()
        };
        let mut options = self.spelled();
        let standard = bare.params().ok();
        let as_before = |same: &dyn Fn(&Params) -> bool| standard.as_ref().is_some_and(same);
        let mut with = bare.with_threshold(params.threshold());
        if self.preset.is_none()
            || !as_before(&|one| one.threshold().total_cmp(&params.threshold()).is_eq())
        {
            options.push(format!("--threshold {}", params.threshold()));
        }
        if !as_before(&|one| one.shingles() == params.shingles()) {
            options.push(format!("--shingles {}", params.shingles()));
        }
        with.shingles = Some(params.shingles());
        let bands = |params: &Params| (params.hashes(), params.bands(), params.rows_per_band());
        if with.params().is_ok_and(|chosen| bands(&chosen) == bands(params)) {
            return options;
        }
        let (hashes, count, rows) = bands(params);
        if !with.params().is_ok_and(|chosen| chosen.hashes() == hashes) {
            options.push(format!("--hashes {hashes}"));
            with.hashes = Some(hashes);
        }
        if !with.params().is_ok_and(|chosen| bands(&chosen) == bands(params)) {
            options.push(format!("--bands {count} --rows-per-band {rows}"));
        }
        options
    }

    /// The given options as they are written, without those of threshold, shingles, rows and bands.
    fn spelled(&self) -> Vec<String> {
        let option = |name: &str, value: Option<String>| Some(format!("--{name} {}", value?));
        let flag = |name: &str, given: bool| given.then(|| format!("--{name}"));
        let all = [
            option("for", self.preset.map(|preset| preset.to_string())),
            option("recall", self.recall.map(|recall| recall.to_string())),
            // The path of the list and the seed, which may be secret, are not repeated.
            option("stop", self.stop.as_ref().map(|_| "FILE".to_owned())),
            option("ignore-common", self.ignore_common.as_ref().map(CommonGiven::spelled)),
            option("template", (!self.template.is_empty()).then(|| "FILE".to_owned())),
            option("normalise", self.normalise.map(|normalise| normalise.to_string())),
            option("lane-bits", self.lane_bits.map(|bits| bits.to_string())),
            option("scheme", self.scheme.map(|scheme| scheme.to_string())),
            option("seed", self.seed.map(|_| "N".to_owned())),
            flag("bag", self.bag),
            flag("keep-case", self.keep_case),
            flag("keep-space", self.keep_space),
            flag("no-nfc", self.no_nfc),
        ];
        all.into_iter().flatten().collect()
    }

    /// Sets the threshold.
    #[must_use]
    pub fn with_threshold(mut self, threshold: f64) -> Self {
        self.threshold = Some(threshold);
        self
    }

    /// The parameters of a new index.
    pub fn params(&self) -> Result<Params, Failure> {
        self.check_common()?;
        common::with_templates(self.builder().build()?, &self.template)
    }

    /// The settings of a new index, of which only the given ones are set.
    pub fn builder(&self) -> ParamsBuilder {
        let (given, mut builder) = (self.filled(), Params::builder());
        if given.passages.is_some() {
            builder = builder.threshold(THRESHOLD_OF_PASSAGES);
        }
        given.apply(builder)
    }

    /// The parameters of an index, changed by the given options. A new threshold, recall or number
    /// of rows also chooses new bands, unless bands are given as well.
    pub fn changed(&self, params: &Params) -> Result<Params, Failure> {
        let (given, mut builder) = (self.filled(), params.to_builder());
        if given.threshold.is_some() || given.recall.is_some() || given.hashes.is_some() {
            builder = builder.choose_bands();
        }
        if params.common().is_none() {
            self.check_common()?;
        }
        Ok(given.apply(builder).build()?)
    }

    /// Fails if a list would have to be learned: the commands that can have done so before.
    fn check_common(&self) -> Result<(), Failure> {
        if self.ignore_common.as_ref().is_none_or(|given| given.list().is_some()) {
            return Ok(());
        }
        Err(Failure::new(
            "only add, dedup and tune learn common shingles from documents",
            "`nearkin tune PATH --ignore-common SHARE --out FILE` makes a list; give FILE here",
        ))
    }

    fn apply(&self, mut builder: ParamsBuilder) -> ParamsBuilder {
        if self.bag {
            builder = builder.bag(true);
        }
        if let Some(normalise) = self.normalise {
            builder = builder.normalise(normalise);
        }
        if self.keep_case {
            builder = builder.keep_case(true);
        }
        if self.keep_space {
            builder = builder.keep_space(true);
        }
        if self.no_nfc {
            builder = builder.no_nfc(true);
        }
        if let Some(threshold) = self.threshold {
            builder = builder.threshold(threshold);
        }
        if let Some(recall) = self.recall {
            builder = builder.recall_target(recall);
        }
        if let Some(hashes) = self.hashes {
            builder = builder.hashes(hashes);
        }
        if let (Some(bands), Some(rows)) = (self.bands, self.rows_per_band) {
            builder = builder.bands(bands, rows);
        }
        if let Some(shingles) = self.shingles {
            builder = builder.shingles(shingles);
        }
        if let Some(windows) = self.passages {
            builder = builder.passages(windows);
        }
        if let Some(stop) = &self.stop {
            builder = builder.stop_words(&stop.0);
        }
        if let Some(list) = self.ignore_common.as_ref().and_then(CommonGiven::list) {
            builder = builder.common(list.clone());
        }
        if let Some(lane_bits) = self.lane_bits {
            builder = builder.lane_bits(lane_bits);
        }
        if let Some(scheme) = self.scheme {
            builder = builder.scheme(scheme);
        }
        if let Some(seed) = self.seed {
            builder = builder.seed(seed);
        }
        builder
    }

    /// Lists the differences between the given options and an index, one phrase per option.
    /// Compares each given option on its own: building complete parameters from the options could
    /// fail on combinations that nobody requested, such as given bands that need more rows than the
    /// index has.
    pub fn differences(&self, params: &Params) -> Vec<String> {
        let mut found = Vec::new();
        if self.preset.is_some() {
            // An index of windows that an older version made for quotations.
            let is_older = params.passages().is_some() && params.scheme() != Scheme::Winnow;
            let is_older = is_older && self.preset == Some(Preset::Quotes);
            let given = if is_older { self.clone() } else { self.filled() };
            return Self { preset: None, ..given }.differences(params);
        }
        different(&mut found, "threshold", self.threshold, &params.threshold());
        different(&mut found, "recall", self.recall, &params.recall_target());
        different(&mut found, "hashes", self.hashes, &params.hashes());
        different(&mut found, "bands", self.bands, &params.bands());
        different(&mut found, "rows-per-band", self.rows_per_band, &params.rows_per_band());
        different(&mut found, "shingles", self.shingles, &params.shingles());
        match params.passages() {
            Some(here) => different(&mut found, "passages", self.passages, &here),
            None => {
                let given = self.passages.map(|windows| windows.to_string());
                different(&mut found, "passages", given, &"none".to_owned());
            }
        }
        different(&mut found, "normalise", self.normalise, &params.normalise());
        different(&mut found, "lane-bits", self.lane_bits, &params.lane_bits());
        different(&mut found, "scheme", self.scheme, &params.scheme());
        for (option, given, here) in [
            ("bag", self.bag, params.bag()),
            ("keep-case", self.keep_case, params.keep_case()),
            ("keep-space", self.keep_space, params.keep_space()),
            ("no-nfc", self.no_nfc, params.no_nfc()),
        ] {
            if given && !here {
                found.push(format!("--{option} was given, but the index was created without it"));
            }
        }
        if let Some(StopWords(words)) = &self.stop
            && !words.iter().map(String::as_str).eq(params.stop_words())
        {
            let here = params.stop_words().count();
            found.push(format!("--stop has other words than the {here} of the index"));
        }
        let is_alone = self.template.is_empty();
        found.extend(self.ignore_common.as_ref().and_then(|one| one.difference(params, is_alone)));
        if self.seed.is_some_and(|seed| seed != params.seed()) {
            // The message omits the value: it may be secret.
            found.push("--seed differs from the seed of the index".to_owned());
        }
        found
    }
}

fn different<T: PartialEq + std::fmt::Display>(
    found: &mut Vec<String>,
    option: &str,
    given: Option<T>,
    here: &T,
) {
    if let Some(given) = given
        && given != *here
    {
        found.push(format!("--{option} is {given}, but the index has {here}"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn nothing_given_is_the_default() {
        let params = Given::default().params().unwrap();
        assert_eq!(params, Params::builder().build().unwrap());
    }

    #[test]
    fn a_preset_stands_for_what_was_not_given() {
        for preset in Preset::all() {
            let given = Given { preset: Some(preset), ..Given::default() };
            let params = given.params().unwrap();
            assert_eq!(params, Params::preset(preset).build().unwrap());
            assert!(given.differences(&params).is_empty(), "{preset}");
        }
        let archive = Some(Preset::Archive);
        let given = Given { preset: archive, threshold: Some(0.5), ..Given::default() };
        let params = given.params().unwrap();
        assert_eq!((params.threshold(), params.shingles()), (0.5, Shingles::Chars(7)));
        let found = given.differences(&Params::for_threshold(0.5).build().unwrap());
        assert_eq!(found.len(), 2, "{found:?}");
        assert!(found[0].starts_with("--shingles is chars:7"), "{found:?}");
    }

    #[test]
    fn bands_are_chosen_anew_for_another_threshold_only() {
        let here = Params::for_threshold(0.7).lane_bits(16).build().unwrap();
        let changed = |given: Given| given.changed(&here).unwrap();
        assert_eq!(changed(Given::default()), here);
        let narrow = changed(Given { lane_bits: Some(8), ..Given::default() });
        assert_eq!((narrow.bands(), narrow.rows_per_band(), narrow.lane_bits()), (17, 5, 8));
        let low = changed(Given { threshold: Some(0.5), ..Given::default() });
        assert_eq!((low.bands(), low.rows_per_band(), low.lane_bits()), (23, 3, 16));
        let given = Given {
            threshold: Some(0.5),
            bands: Some(32),
            rows_per_band: Some(4),
            ..Given::default()
        };
        assert_eq!((changed(given.clone()).bands(), changed(given).threshold()), (32, 0.5));
    }

    #[test]
    fn only_what_was_given_is_compared() {
        let here = Params::for_threshold(0.8).shingles(Shingles::Chars(5)).bag(true).build();
        let here = here.unwrap();
        assert!(Given::default().differences(&here).is_empty());
        let same = Given { threshold: Some(0.8), bag: true, ..Given::default() };
        assert!(same.differences(&here).is_empty());
        let other = Given {
            bands: Some(64),
            rows_per_band: Some(9),
            shingles: Some(Shingles::Words(3)),
            keep_case: true,
            seed: Some(7),
            ..Given::default()
        };
        let found = other.differences(&here);
        assert_eq!(found.len(), 5, "{found:?}");
        assert_eq!(found[2], "--shingles is words:3, but the index has chars:5");
        assert!(!found[4].contains('7'), "a seed may be secret");
    }
}
