//! Makes documents that share much text and are no copies: letters of a few forms, books with the
//! same front matter, program text with the same header. Then adds an edited copy of one in ten.

use super::negatives;
use super::plant::Edit;
use super::support::random;
use std::collections::HashSet;

/// Forms of letters. Each `#` stands for a value of [`VALUES`], `*` for sentences of the letter's
/// own.
const FORMS: [&str; 4] = [
    "Dear # #,\n\nthank you for your order of #. We have sent the goods to # today, and they \
     should reach you by #. The invoice over # euros is enclosed; please pay it within fourteen \
     days to the account named below, and give the number # with your payment. * If anything is \
     missing or damaged, tell us within a week of its arrival, and keep the box until we have \
     answered. Goods that you do not want may be sent back within thirty days at our expense.\n\n\
     Yours sincerely,\n# #\nOrders department",
    "To the parents of # #\n\nThe parents' evening of form # takes place on # at seven o'clock in \
     the great hall of the school in #. The teachers will report on the work of the past term, and \
     there will be time for questions. * Please return the slip below by #, so that we know how \
     many chairs are needed. Whoever cannot come may ask for an appointment by telephone; the \
     number of the office is #. Children need not come along, and nothing has to be paid.\n\nWith \
     kind regards,\n# #\nHead of the school",
    "Case number #\nPatient: # #, born on #\n\nDear colleague,\n\nI report on the patient named \
     above, who was in our care from # to # in the department at #. * The examination on admission \
     showed nothing of note but for what is described above. Blood pressure and pulse were within \
     the normal range, the heart and the lungs without findings. The treatment was tolerated well. \
     We recommend a control within four weeks, and in case of fever or pain at once. Thank you for \
     referring the patient to us.\n\nYours sincerely,\n# #\nSenior physician",
    "Notice of meeting number #\n\nThe council of # meets on # in the town hall, room #. The \
     meeting is public. The agenda: opening, and approval of the minutes of #; questions from the \
     public; report of the treasurer, # #; the following motion; other business. * Written motions \
     must reach the office five days before the meeting. The papers may be read at the office \
     during opening hours, and are sent on request. The minutes will be published once they are \
     approved.\n\nFor the council,\n# #",
];
/// Values that letters are filled in with. A number or a date is made of digits.
const VALUES: &str = "Anna, Bertram, Clara, David, Emma, Felix, Greta, Henry, Ida, Jonas, \
    Karen, Louis, Mary, Nils, Olga, Peter, Smith, Miller, Brown, Taylor, \
    Carter, Baker, Fisher, Mason, Hill, Woods, Marsh, Reed, Lakeside, \
    Hillford, Northam, Eastbrook, Westley, Ashton, Kingsbury, Millbank, four \
    chairs, two lamps, a desk, six shelves";
/// One in so many documents has an edited copy.
const COPIED: usize = 10;
/// Edits of the copies. All of them leave most of the text as it is.
const EDITS: [Edit; 6] = [
    Edit::Digits,
    Edit::WordsReplaced(5),
    Edit::WordsLeftOut(5),
    Edit::Ocr(1),
    Edit::Reflow,
    Edit::Moved,
];
const CODE_EDITS: [Edit; 5] = [
    Edit::Renamed(5),
    Edit::Indented,
    Edit::NoComments,
    Edit::LinesLeftOut(10),
    Edit::LinesReplaced(10),
];
/// Number of words of the front matter of books.
const FRONT_WORDS: usize = 400;
/// Minimum number of words of a book. Each further one is longer by this factor, up to the maximum.
const BOOK_WORDS_MIN: usize = 100;

fn below(state: &mut u64, limit: usize) -> usize {
    usize::try_from(random(state) % limit.max(1) as u64).unwrap_or_default()
}

/// Letters with up to six sentences of their own, which come from `texts`.
pub(crate) fn letters(texts: &[String], count: usize, state: &mut u64) -> Made {
    let sentences: Vec<&str> = texts.iter().flat_map(|text| text.split_inclusive(". ")).collect();
    let is_fit = |sentence: &&&str| (6..40).contains(&sentence.split_whitespace().count());
    let sentences: Vec<&str> = sentences.iter().filter(is_fit).copied().collect();
    let values: Vec<&str> = VALUES.split(", ").collect();
    let mut letters = Vec::new();
    for number in 0..count {
        let mut letter = String::new();
        for char in FORMS[number % FORMS.len()].chars() {
            match char {
                '#' if below(state, 2) == 0 => {
                    letter.push_str(&(100 + below(state, 9_900)).to_string());
                }
                '#' => letter.push_str(values[below(state, values.len())]),
                '*' => {
                    let own =
                        (0..below(state, 7)).map(|_| sentences[below(state, sentences.len())]);
                    letter.extend(own);
                }
                char => letter.push(char),
            }
        }
        letters.push(letter);
    }
    Made::with_copies(letters, &EDITS, state)
}

/// Books: the same front matter, and then consecutive words of `texts`, from 100 words to 3,000.
pub(crate) fn books(texts: &[String], front: &str, state: &mut u64) -> Made {
    let front: Vec<&str> = front.split_whitespace().take(FRONT_WORDS).collect();
    let front = front.join(" ");
    let mut books = Vec::new();
    for text in texts {
        let words: Vec<&str> = text.split_whitespace().collect();
        let mut rest = &words[..];
        loop {
            // As many short books as long ones, by the logarithm of their lengths.
            let length = BOOK_WORDS_MIN << below(state, 5);
            let Some((book, others)) = rest.split_at_checked(length + below(state, length)) else {
                break;
            };
            books.push(format!("{front}\n\n{}", book.join(" ")));
            rest = others;
        }
    }
    Made::with_copies(books, &EDITS, state)
}

/// Files with one licence header.
pub(crate) fn code(files: &[String], state: &mut u64) -> Made {
    Made::with_copies(negatives::code(files), &CODE_EDITS, state)
}

/// Made documents, some of them copies of others.
#[derive(Default)]
pub(crate) struct Made {
    pub(crate) texts: Vec<String>,
    /// For each copy: the document that it is a copy of, and how it was edited.
    copies: Vec<Option<(usize, Edit)>>,
}

/// What a deduplication did to made documents.
#[derive(Debug, Clone, Copy)]
pub(crate) struct LostAndLeft {
    /// Distinct documents of which no copy is kept.
    pub(crate) lost: usize,
    /// Copies that are kept beside the document that they are copies of, or beside another copy of
    /// it.
    pub(crate) left: usize,
    /// Those of which all digits were changed. They are counted here only.
    pub(crate) left_in_digits: usize,
}

impl Made {
    fn with_copies(texts: Vec<String>, edits: &[Edit], state: &mut u64) -> Self {
        let distinct = texts.len();
        let edited = |(number, at): (usize, usize)| {
            let edit = edits[number % edits.len()];
            (edit.apply(&texts[at], &texts[below(state, distinct)], state), (at, edit))
        };
        let copies: Vec<_> = (0..distinct).step_by(COPIED).enumerate().map(edited).collect();
        let mut made = Self { copies: vec![None; distinct], texts };
        for (text, of) in copies {
            made.push(text, Some(of));
        }
        made
    }

    fn push(&mut self, text: String, copy_of: Option<(usize, Edit)>) {
        self.texts.push(text);
        self.copies.push(copy_of);
    }

    pub(crate) fn lost_and_left(&self, is_kept: &dyn Fn(usize) -> bool) -> LostAndLeft {
        let mut kept_of = vec![0; self.texts.len()];
        let mut found = LostAndLeft { lost: 0, left: 0, left_in_digits: 0 };
        for (at, copy) in self.copies.iter().enumerate().filter(|(at, _)| is_kept(*at)) {
            let family = copy.map_or(at, |(of, _)| of);
            kept_of[family] += 1;
            if kept_of[family] > 1 {
                let in_digits = matches!(copy, Some((_, Edit::Digits)));
                *(if in_digits { &mut found.left_in_digits } else { &mut found.left }) += 1;
            }
        }
        let distinct = (0..self.texts.len()).filter(|at| self.copies[*at].is_none());
        found.lost = distinct.filter(|at| kept_of[*at] == 0).count();
        found
    }
}

/// Words of `texts`, from a place that the state draws.
fn words(texts: &[String], count: usize, state: &mut u64) -> String {
    let mut found = Vec::new();
    while found.len() < count {
        let text: Vec<&str> = texts[below(state, texts.len())].split_whitespace().collect();
        let begin = below(state, text.len());
        found.extend(text[begin..].iter().take(count - found.len()).copied());
    }
    found.join(" ")
}

/// A name that no dictionary has.
fn name(state: &mut u64) -> String {
    let mut name = String::new();
    for at in 0..2 + below(state, 2) {
        let (one, other) = (below(state, 14), below(state, 5));
        let consonant = &"bdfgklmnprstvz"[one..=one];
        name.push_str(&if at == 0 { consonant.to_uppercase() } else { consonant.to_owned() });
        name.push_str(&"aeiou"[other..=other]);
    }
    name
}

/// Invoices: other numbers, dates, amounts, in part other customers. One in ten was sent again.
pub(crate) fn invoices(texts: &[String], mut seed: u64) -> Made {
    let state = &mut seed;
    let (head, terms) = (words(texts, 25, state), words(texts, 110, state));
    let customers: Vec<String> =
        (0..12).map(|_| format!("{} & {} Ltd", name(state), name(state))).collect();
    let mut invoices = Vec::new();
    for month in 1..=12 {
        for (number, customer) in customers.iter().enumerate() {
            let (hours, net) = (1 + below(state, 9), 29 + 85 * below(state, 9));
            let no = 20_240_000 + month * 100 + number;
            invoices.push(format!(
                "{head}\n\nINVOICE No. {no}\nDate: 2024-{month:02}-05\nCustomer: {customer}\n\n1 x \
                 Hosting package  29.00 EUR\n{hours} x Support hours  85.00 EUR\n\nNet {net}.00 \
                 EUR\nTotal {}.00 EUR\n\n{terms}\nPayable within 30 days to the account below.\n",
                net * 119 / 100
            ));
        }
    }
    Made::with_copies(invoices, &[Edit::Reflow, Edit::Upper, Edit::Typos(1)], state)
}

/// Contracts of one form with other parties, sums and dates, and an edited copy of one in ten.
pub(crate) fn contracts(texts: &[String], mut seed: u64) -> Made {
    let state = &mut seed;
    let [first, second] = [170, 180].map(|count| words(texts, count, state));
    let mut contract = |_| {
        let date = |state: &mut u64| {
            format!("{}.{}.20{}", 1 + below(state, 28), 1 + below(state, 12), 10 + below(state, 15))
        };
        format!(
            "Contract between {} {} and {} Ltd\n\n{first} The sum of {} euros is due on {}. \
             {second}\n\nSigned at {} on {}",
            name(state),
            name(state),
            name(state),
            1_000 + below(state, 90_000),
            date(state),
            name(state),
            date(state)
        )
    };
    let contracts = (0..400).map(&mut contract).collect();
    Made::with_copies(contracts, &[Edit::Reflow, Edit::WordsReplaced(2), Edit::Typos(2)], state)
}

/// Lines of a log: messages of 9 to 30 words with other numbers, each a line of its own.
pub(crate) fn log_lines(texts: &[String], mut seed: u64) -> Made {
    let state = &mut seed;
    let mut made = Made::default();
    for _ in 0..60 {
        let count = 9 + below(state, 22);
        let message = words(texts, count, state);
        for _ in 0..[1, 5, 50][below(state, 3)] {
            let (id, time) = (below(state, 99_999), below(state, 999));
            made.push(format!("{message} id={id} took {time} ms"), None);
        }
    }
    made
}

/// Pages, each in two versions that differ in a counter and a date.
pub(crate) fn counted_pages(texts: &[String], mut seed: u64) -> Made {
    let state = &mut seed;
    let menu = words(texts, 40, state);
    let mut made = Made::default();
    for _ in 0..300 {
        let count = 60 << below(state, 3);
        let (own, first) = (words(texts, count, state), made.texts.len());
        for of in [None, Some((first, Edit::Digits))] {
            let (visits, day) = (1_000 + below(state, 99_000), 1 + below(state, 28));
            let page = format!("{menu}\n{own}\nVisitors: {visits}\nLast updated on {day} May");
            made.push(page, of);
        }
    }
    made
}

/// Pieces of 75 words of the texts, no two of which share eight words in a row.
fn pieces(texts: &[String]) -> Vec<String> {
    let mut runs = HashSet::new();
    let mut found = Vec::new();
    for text in texts {
        let words: Vec<&str> = text.split_whitespace().collect();
        for piece in words.chunks_exact(75) {
            if piece.windows(8).all(|run| !runs.contains(run)) {
                runs.extend(piece.windows(8).map(<[&str]>::to_vec));
                found.push(piece.join(" "));
            }
        }
    }
    found
}

/// Eight pages, each a hundred times with small edits, among others of which no two are alike.
pub(crate) fn mirrored_pages(texts: &[String], mut seed: u64) -> Made {
    let state = &mut seed;
    let mut made = Made::default();
    for piece in pieces(texts) {
        made.push(piece, None);
    }
    for _ in 0..8 {
        let count = 100 << below(state, 3);
        let (page, first) = (words(texts, count, state), made.texts.len());
        let edits = [
            Edit::Typos(2),
            Edit::WordsReplaced(1),
            Edit::Words(1),
            Edit::Added,
            Edit::WordsLeftOut(1),
        ];
        for number in 0..100 {
            let edit = edits[number % edits.len()];
            let of = (number > 0).then_some((first, edit));
            let text = edit.apply(&page, &words(texts, 100, state), state);
            made.push(text, of);
        }
    }
    made
}
