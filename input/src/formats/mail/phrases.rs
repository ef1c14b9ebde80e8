//! What mail programs write around a quotation, in the languages of `phrases.txt`.

use std::sync::LazyLock;

const FILE: &str = include_str!("phrases.txt");

/// Phrases of all languages, in lower case.
pub(super) static PHRASES: LazyLock<Phrases> = LazyLock::new(|| Phrases::parse(FILE));

#[derive(Debug, Default)]
pub(super) struct Phrases {
    /// First words of a line such as "On ... wrote:".
    on: Vec<String>,
    /// Verbs of such a line.
    wrote: Vec<String>,
    /// Lines above a quoted message.
    head: Vec<String>,
    /// Names of header lines.
    fields: Vec<(String, Field)>,
}

/// A header line of a quoted message.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub(super) enum Field {
    From,
    Sent,
    To,
    Subject,
}

impl Phrases {
    fn parse(file: &str) -> Self {
        let mut phrases = Self::default();
        for line in file.lines().filter(|line| !line.starts_with('#')) {
            let mut words = line.splitn(3, ' ');
            let (Some(_), Some(kind), Some(rest)) = (words.next(), words.next(), words.next())
            else {
                continue;
            };
            let given = rest.split('|').map(|phrase| phrase.trim().to_lowercase());
            let field = match kind {
                "on" => {
                    phrases.on.extend(given);
                    continue;
                }
                "wrote" => {
                    phrases.wrote.extend(given);
                    continue;
                }
                "head" => {
                    phrases.head.extend(given);
                    continue;
                }
                "from" => Field::From,
                "sent" => Field::Sent,
                "to" => Field::To,
                _ => Field::Subject,
            };
            phrases.fields.extend(given.map(|name| (name, field)));
        }
        // The longer of two names that begin alike is tried first.
        phrases.fields.sort_by(|a, b| b.0.len().cmp(&a.0.len()).then_with(|| a.0.cmp(&b.0)));
        phrases
    }

    /// Whether a line, in lower case, begins like "On ... wrote:".
    pub(super) fn is_opened(&self, line: &str) -> bool {
        self.on.iter().any(|on| line.strip_prefix(on.as_str()).is_some_and(|rest| ends(on, rest)))
    }

    /// Whether a line, in lower case, has a verb of writing.
    pub(super) fn has_verb(&self, line: &str) -> bool {
        self.wrote.iter().any(|verb| {
            line.match_indices(verb.as_str()).any(|(at, _)| {
                let before = line[..at].chars().next_back();
                let begins = verb.chars().next().is_some_and(is_unspaced)
                    || !before.is_some_and(char::is_alphanumeric);
                begins && ends(verb, &line[at + verb.len()..])
            })
        })
    }

    /// Whether a line, in lower case without dashes and colon, stands above a quoted message.
    pub(super) fn is_head(&self, line: &str) -> bool {
        self.head.iter().any(|head| head == line)
    }

    /// The field that a line, in lower case, begins with.
    pub(super) fn field(&self, line: &str) -> Option<Field> {
        let is_of = |(name, _): &&(String, Field)| {
            let rest = line.strip_prefix(name.as_str());
            // Some programs set the name in bold (`*From:*`), or a space before the colon.
            let rest = rest.map(|rest| rest.trim_start_matches(['*', ' ', '\u{a0}', '\t']));
            rest.is_some_and(|rest| rest.starts_with([':', '\u{ff1a}']))
        };
        self.fields.iter().find(is_of).map(|(_, field)| *field)
    }
}

/// Whether a phrase ends where `rest` begins.
fn ends(phrase: &str, rest: &str) -> bool {
    phrase.chars().next_back().is_some_and(is_unspaced)
        || !rest.chars().next().is_some_and(char::is_alphanumeric)
}

/// Whether a script has no spaces between words: Chinese and Japanese. Korean phrases follow a name
/// without a space, too.
fn is_unspaced(letter: char) -> bool {
    letter >= '\u{2e80}'
}
