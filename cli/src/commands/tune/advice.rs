//! Recommends a preset from measurements of sample texts. This is only advice.
//!
//! Pure: knows texts and the names of presets, but no bands and no signatures.

use nearkin::{Preset, Shingles};

use super::boilerplate::{self, Ends};
use super::signs::{self, Signs};

/// Number of bytes inspected per text. The beginning is enough.
const LOOKED_AT: usize = 16 << 10;
/// Characters that typically end a line of program text. An indented line that contains one of
/// [`CODE_SYMBOLS`] counts, too.
const CODE_ENDS: [char; 6] = ['{', '}', ';', ',', ')', ':'];
/// Minimum number of lines to recognise program text.
const CODE_LINES_MIN: usize = 5;
/// Symbols of programming languages. In code, at least five of a hundred characters are such
/// symbols.
const CODE_SYMBOLS: [char; 12] = ['{', '}', '(', ')', '[', ']', ';', '=', '<', '>', '_', '&'];

/// Beginnings of lines in common programming languages.
const KEYWORDS: [&str; 16] = [
    "def ",
    "class ",
    "import ",
    "return ",
    "self.",
    "fn ",
    "pub ",
    "let ",
    "const ",
    "var ",
    "function ",
    "#include",
    "public ",
    "private ",
    "static ",
    "raise ",
];
/// The same, of lines that end with a colon.
const KEYWORDS_OF_BLOCKS: [&str; 8] =
    ["if ", "for ", "while ", "with ", "elif ", "else", "try", "except"];

/// Minimum fraction of texts that differ from others only by signs, and minimum number of signs per
/// word, at which shingles of words are called unfit.
const UNSEEN_MIN: f64 = 0.005;
const SIGNS_MIN: f64 = 0.1;

/// Letters that look like Latin ones: Cyrillic, then Greek.
const LOOK_ALIKES: [char; 36] = [
    '\u{430}', '\u{435}', '\u{43e}', '\u{440}', '\u{441}', '\u{443}', '\u{445}', '\u{456}',
    '\u{458}', '\u{455}', '\u{410}', '\u{412}', '\u{415}', '\u{41a}', '\u{41c}', '\u{41d}',
    '\u{41e}', '\u{420}', '\u{421}', '\u{422}', '\u{425}', '\u{3bf}', '\u{391}', '\u{392}',
    '\u{395}', '\u{397}', '\u{399}', '\u{39a}', '\u{39c}', '\u{39d}', '\u{39f}', '\u{3a1}',
    '\u{3a4}', '\u{3a5}', '\u{3a7}', '\u{396}',
];
/// Characters of scripts without spaces that stand for a word, on average.
const CHARS_OF_WORD: u32 = 2;

/// Measurements of one text.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub(super) struct Looks {
    words: u32,
    /// Words with typical OCR errors: `l1ke`, `mAde`, `w|th`.
    odd: u32,
    lines: u32,
    /// Lines that end with a letter and a hyphen.
    hyphens: u32,
    code: bool,
    signs: Signs,
    ends: Ends,
    /// Characters of scripts without spaces.
    unspaced: u32,
    /// Whether a word has letters that look like Latin ones beside Latin ones.
    has_look_alikes: bool,
}

/// Measurements of all texts together.
#[derive(Debug, Clone, Copy, PartialEq)]
pub(super) struct Measured {
    pub(super) texts: usize,
    /// Words per text: median, 10th and 90th percentile.
    pub(super) words: u32,
    pub(super) words_of_tenth: u32,
    pub(super) words_of_last_tenth: u32,
    /// Fractions from 0 to 1. `code`: texts that look like code; `odd`: words with OCR errors;
    /// `hyphens`: lines that end with a hyphen.
    pub(super) code: f64,
    pub(super) odd: f64,
    pub(super) hyphens: f64,
    /// Signs that shingles of words do not see, such as `+`, `=` and `$`, per word.
    pub(super) signs: f64,
    /// Number of texts that differ from another one only by such signs.
    pub(super) unseen: usize,
    /// Number of texts that differ from another one only in numbers.
    pub(super) numbered: usize,
    /// Number of texts that begin or end with a sentence of many others.
    pub(super) boilerplate: usize,
    /// Number of texts in a script without spaces.
    pub(super) unspaced: usize,
    /// Number of texts with words in which a letter of another script looks like a Latin one.
    pub(super) look_alikes: usize,
}

/// The recommended preset.
#[derive(Debug, Clone, PartialEq)]
pub(super) struct Advice {
    pub(super) preset: Preset,
    /// The measurement that led to it.
    pub(super) because: String,
    /// Reasons for another preset, or why the recommendation is uncertain.
    pub(super) unsure: Option<String>,
}

impl Looks {
    pub(super) fn measure(text: &str) -> Self {
        let end = (0..=LOOKED_AT.min(text.len())).rev().find(|end| text.is_char_boundary(*end));
        let looked_at = end.and_then(|end| text.get(..end)).unwrap_or_default();
        let count = |count: usize| u32::try_from(count).unwrap_or(u32::MAX);
        let unspaced = count(text.chars().filter(|char| is_unspaced(*char)).count());
        let all = count(text.split_whitespace().count());
        let (mut words, mut odd) = (0_u32, 0);
        for word in looked_at.split_whitespace() {
            words += 1;
            odd += u32::from(is_odd(word));
        }
        let lines: Vec<&str> =
            looked_at.lines().map(str::trim_end).filter(|line| !line.is_empty()).collect();
        let hyphens = lines.iter().filter(|line| ends_with_hyphen(line)).count();
        // The inspected part's OCR errors, extrapolated to the whole text.
        let odd = u64::from(odd) * u64::from(all) / u64::from(words.max(1));
        Self {
            words: all.saturating_add(unspaced / CHARS_OF_WORD),
            odd: u32::try_from(odd).unwrap_or(u32::MAX),
            lines: count(lines.len()),
            hyphens: count(hyphens),
            code: is_code(&lines),
            signs: Signs::from_text(text),
            ends: boilerplate::ends(text),
            unspaced,
            has_look_alikes: looked_at.split_whitespace().any(has_look_alikes),
        }
    }

    /// Whether most words of the text are in a script without spaces.
    fn is_unspaced(&self) -> bool {
        self.unspaced / CHARS_OF_WORD > self.words / 2
    }
}

/// Whether a script without spaces has this character: kana, Han, Thai, Lao, Khmer, Burmese.
fn is_unspaced(char: char) -> bool {
    matches!(char, '\u{3040}'..='\u{30ff}' | '\u{3400}'..='\u{9fff}' | '\u{e00}'..='\u{eff}'
        | '\u{1000}'..='\u{109f}' | '\u{1780}'..='\u{17ff}' | '\u{20000}'..='\u{3ffff}')
}

/// Whether a word has Latin letters beside letters of other scripts that look like Latin ones.
fn has_look_alikes(word: &str) -> bool {
    word.contains(LOOK_ALIKES) && word.contains(|char: char| char.is_ascii_alphabetic())
}

/// Whether a word shows a typical OCR error: a digit or a symbol such as a vertical bar between
/// letters, or a capital between small letters.
fn is_odd(word: &str) -> bool {
    let word = word.trim_matches(|char: char| !char.is_alphanumeric());
    let chars: Vec<char> = word.chars().collect();
    let letters = chars.iter().filter(|char| char.is_alphabetic()).count();
    // Part numbers, versions, identifiers and addresses are not OCR errors.
    if letters * 4 < chars.len() * 3 || word.contains(['_', '/', '.', '@', ':', '=', '(', '-']) {
        return false;
    }
    chars.windows(3).any(|three| {
        let [before, middle, behind] = [three[0], three[1], three[2]];
        let within = before.is_alphabetic() && behind.is_alphabetic();
        let stroke = within && (middle.is_ascii_digit() || "|!$~^\\".contains(middle));
        stroke || (before.is_lowercase() && middle.is_uppercase() && behind.is_lowercase())
    })
}

fn ends_with_hyphen(line: &str) -> bool {
    let mut chars = line.chars().rev();
    chars.next() == Some('-') && chars.next().is_some_and(char::is_alphabetic)
}

/// Whether a text is code: at least half of the lines end like code, or are indented and contain a
/// symbol, and at least one character in twenty is a symbol; or at least one line in twelve begins
/// with a keyword, and at least a third of the lines are indented.
fn is_code(lines: &[&str]) -> bool {
    if lines.len() < CODE_LINES_MIN {
        return false;
    }
    let like = |line: &&&str| {
        let indented = line.starts_with([' ', '\t']) && line.contains(CODE_SYMBOLS);
        line.ends_with(CODE_ENDS) || indented
    };
    let characters = lines.iter().flat_map(|line| line.trim_start().chars());
    let (all, signs) = characters.fold((0_usize, 0_usize), |(all, signs), char| {
        (all + 1, signs + usize::from(CODE_SYMBOLS.contains(&char)))
    });
    let keywords = lines.iter().filter(|line| begins_with_keyword(line)).count();
    let indented = lines.iter().filter(|line| line.starts_with([' ', '\t'])).count();
    lines.iter().filter(like).count() * 2 >= lines.len() && signs * 20 >= all
        || keywords * 12 >= lines.len() && indented * 3 >= lines.len()
}

/// Whether a line begins as lines of programs do, and hardly a line of prose.
fn begins_with_keyword(line: &str) -> bool {
    let line = line.trim_start();
    let begins = KEYWORDS.iter().any(|word| line.starts_with(word));
    begins || line.ends_with(':') && KEYWORDS_OF_BLOCKS.iter().any(|word| line.starts_with(word))
}

impl Measured {
    /// Returns `None` if there are no texts.
    pub(super) fn summarise(looks: &[Looks]) -> Option<Self> {
        let mut words: Vec<u32> = looks.iter().map(|one| one.words).collect();
        words.sort_unstable();
        let at = |part: usize| words.get((words.len() - 1) * part / 10).copied();
        let sum = |of: fn(&Looks) -> u32| looks.iter().map(|one| u64::from(of(one))).sum::<u64>();
        let share = |part: u64, whole: u64| part as f64 / whole.max(1) as f64;
        // Code is left out: measurements of its words are meaningless.
        let prose = looks.iter().filter(|one| !one.code);
        let (odd, of) = prose
            .fold((0, 0), |(odd, of), one| (odd + u64::from(one.odd), of + u64::from(one.words)));
        let [tenth, middle, last] = match words.len() {
            0 => return None,
            _ => [1, 5, 9].map(|part| at(part).unwrap_or(0)),
        };
        let ends: Vec<_> = looks.iter().map(|one| (one.signs.words(), one.ends)).collect();
        Some(Self {
            texts: looks.len(),
            words: middle,
            words_of_tenth: tenth,
            words_of_last_tenth: last,
            code: share(sum(|one| u32::from(one.code)), looks.len() as u64),
            odd: share(odd, of),
            hyphens: share(sum(|one| one.hyphens), sum(|one| one.lines)),
            signs: share(sum(|one| one.signs.count()), sum(|one| one.words)),
            unseen: signs::unseen(looks.iter().map(|one| one.signs)),
            numbered: signs::numbered(looks.iter().map(|one| one.signs)),
            boilerplate: boilerplate::texts_with(&ends),
            unspaced: looks.iter().filter(|one| one.is_unspaced()).count(),
            look_alikes: looks.iter().filter(|one| one.has_look_alikes).count(),
        })
    }

    /// What these shingles do not see of the texts, if that matters.
    pub(super) fn unseen_by(&self, shingles: Shingles) -> Option<String> {
        if !matches!(shingles, Shingles::Words(_)) {
            return None;
        }
        if self.unseen as f64 >= UNSEEN_MIN * self.texts as f64 && self.unseen > 0 {
            return Some(format!(
                "{} of {} texts differ from another only by signs (C++ and C#, -5 and 5), and \
                 {shingles} take them for equal",
                self.unseen, self.texts
            ));
        }
        let of_hundred = 100.0 * self.signs;
        (self.signs >= SIGNS_MIN).then(|| {
            format!("{of_hundred:.0} signs (+ = < $) for 100 words, which {shingles} do not see")
        })
    }

    /// The first rule that applies decides.
    pub(super) fn advice(&self) -> Advice {
        let percent = |share: f64| format!("{:.1} %", 100.0 * share);
        let (preset, because) = if self.code >= 0.5 {
            (Preset::Code, format!("{} of the texts look like program text", percent(self.code)))
        } else if self.words < 25 {
            (Preset::Short, format!("half of the texts have {} words or fewer", self.words))
        } else if self.odd >= 0.01 {
            let odd = percent(self.odd);
            (Preset::Archive, format!("{odd} of the words look like OCR errors"))
        } else {
            let because = format!(
                "texts of {} words and more, {} of the words odd, {} of the lines hyphenated",
                self.words_of_tenth,
                percent(self.odd),
                percent(self.hyphens)
            );
            (Preset::Documents, because)
        };
        Advice { preset, because, unsure: self.doubt(preset) }
    }

    /// Describes a measurement that is close to a limit.
    fn doubt(&self, preset: Preset) -> Option<String> {
        let percent = |share: f64| format!("{:.1} %", 100.0 * share);
        if self.texts < 30 {
            return Some(format!("{} texts are too few to tell", self.texts));
        }
        if (0.2..0.8).contains(&self.code) {
            let code = percent(self.code);
            return Some(format!("{code} look like program text: two kinds of texts are mixed"));
        }
        if preset != Preset::Code && (15..40).contains(&self.words) {
            let words = self.words;
            return Some(format!("half have {words} words or fewer: between short and documents"));
        }
        if matches!(preset, Preset::Archive | Preset::Documents)
            && (0.005..0.02).contains(&self.odd)
        {
            let odd = percent(self.odd);
            return Some(format!("{odd} odd words: between documents and archive"));
        }
        if preset == Preset::Documents && self.words_of_tenth < 15 {
            let words = self.words_of_tenth;
            return Some(format!(
                "a tenth of the texts have {words} words or fewer, as `short` has"
            ));
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn scripts_without_spaces_and_look_alikes_are_counted() {
        let japanese =
            "\u{5024}\u{3092}\u{6b63}\u{3057}\u{304f}\u{5165}\u{529b}\u{3057}\u{3066}".repeat(20);
        for (text, unspaced, look_alikes) in [
            (japanese.as_str(), 1, 0),
            ("plain words of one script", 0, 0),
            ("\u{43c}\u{43e}\u{441}\u{43a}\u{432}\u{430} and Moscow", 0, 0),
            ("send m\u{43e}ney now", 0, 1),
            ("5 \u{b5}m, \u{3c0}r", 0, 0),
        ] {
            let measured = Measured::summarise(&[Looks::measure(text)]).unwrap();
            assert_eq!(
                (measured.unspaced, measured.look_alikes),
                (unspaced, look_alikes),
                "{text}"
            );
        }
        assert_eq!(advice(&japanese, 100).preset, Preset::Documents);
    }

    /// Program text with more words than symbols.
    const PYTHON: &str = r#"import os

def size_of(path):
    """Return the size of a file.

    The path may be relative; the size is
    that of the file which the link leads to.
    """
    found = os.stat(path)
    return found.st_size
"#;

    fn advice(text: &str, count: usize) -> Advice {
        Measured::summarise(&vec![Looks::measure(text); count]).unwrap().advice()
    }

    #[test]
    fn each_kind_of_text_has_its_preset() {
        let prose =
            "It was a bright day in April, and the clocks of the town were late. ".repeat(9);
        let code =
            "fn main() {\n    let x = call(1, &y);\n    if x > 3 {\n        go_on();\n    }\n}\n";
        let scan = "lt was a br1ght day iu Apr|l, and thc clocks of the toWn were late. ".repeat(9);
        for (text, preset) in [
            (prose.as_str(), Preset::Documents),
            (code, Preset::Code),
            (scan.as_str(), Preset::Archive),
            (PYTHON, Preset::Code),
            ("Red shoes for children, size 31", Preset::Short),
        ] {
            let advice = advice(text, 100);
            assert_eq!((advice.preset, advice.unsure), (preset, None), "{text}");
        }
    }

    #[test]
    fn a_number_near_its_limit_or_few_texts_make_it_unsure() {
        let of_words = |count: usize| "plain words ".repeat(count / 2);
        assert!(advice(&of_words(200), 29).unsure.unwrap().contains("too few"));
        assert!(advice(&of_words(30), 100).unsure.unwrap().contains("between short"));
        assert_eq!(advice(&of_words(200), 100).unsure, None);
        let code = Looks { words: 90, lines: 9, code: true, ..Looks::default() };
        let mixed = [vec![Looks::measure(&of_words(200)); 60], vec![code; 40]].concat();
        let advice = Measured::summarise(&mixed).unwrap().advice();
        assert_eq!(advice.preset, Preset::Documents);
        assert!(advice.unsure.unwrap().contains("mixed"));
        assert_eq!(Measured::summarise(&[]), None);
    }

    #[test]
    fn words_as_people_write_them_are_not_odd() {
        for word in ["MacDonald's", "e-mail", "3rd", "(2nd)", "v1.2", "foo_bar2baz", "NASA", "h2o"]
        {
            // A name with one inner capital may be counted as an error: such names are rare.
            assert!(word == "MacDonald's" || !is_odd(word), "{word}");
        }
        for word in ["br1ght", "Apr|l", "toWn", "\"th!s\""] {
            assert!(is_odd(word), "{word}");
        }
    }
}
