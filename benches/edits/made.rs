//! Makes documents that share much text and are no copies: letters of a few forms, books with the
//! same front matter, program text with the same header. Then adds an edited copy of one in ten.

use super::negatives;
use super::plant::Edit;
use super::support::random;

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

/// Made documents; the last ones are edited copies of some of the others.
pub(crate) struct Made {
    pub(crate) texts: Vec<String>,
    /// Number of documents that are no copies.
    distinct: usize,
}

impl Made {
    fn with_copies(mut texts: Vec<String>, edits: &[Edit], state: &mut u64) -> Self {
        let distinct = texts.len();
        let edited = |(number, text): (usize, &String)| {
            let other = &texts[below(state, distinct)];
            edits[number % edits.len()].apply(text, other, state)
        };
        let copies: Vec<String> = texts.iter().step_by(COPIED).enumerate().map(edited).collect();
        texts.extend(copies);
        Self { texts, distinct }
    }

    /// Number of distinct documents of which no copy is kept, and of copies that are kept beside
    /// the document that they are copies of.
    pub(crate) fn lost_and_left(&self, is_kept: &dyn Fn(usize) -> bool) -> (usize, usize) {
        let copy = |at: usize| at.is_multiple_of(COPIED).then_some(self.distinct + at / COPIED);
        let has_kept_copy = |at: &usize| copy(*at).is_some_and(is_kept);
        let lost = (0..self.distinct).filter(|at| !is_kept(*at) && !has_kept_copy(at));
        let left = (0..self.distinct).filter(|at| is_kept(*at) && has_kept_copy(at));
        (lost.count(), left.count())
    }
}
