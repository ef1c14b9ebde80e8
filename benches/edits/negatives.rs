//! Hard negatives: documents that share a template or boilerplate, and are not copies.

use super::support::random;

/// A notice that many packages carry, and that says nothing about one of them.
const NOTICE: &str = "This program is free software; you can redistribute it and modify it under \
    the terms that the file of its licence states. It is distributed in the hope that it will be \
    useful, but without any warranty, without even the implied warranty of merchantability or \
    fitness for a particular purpose. A copy of the licence comes with the program; if it does \
    not, write to the authors. ";

/// Reports of one form: what is filled in differs.
const FORM: [&str; 9] = [
    "Weekly report of the station at ",
    ". In the week of this report the instruments were read twice a day as the rules require, and \
     the readings were entered into the book. The highest value was found on the day of ",
    ", the lowest on that of ",
    ". The observer notes the following about the weather and the state of the river: ",
    " Nothing else of note happened, and the equipment is in good order but for what follows: ",
    " The next visit by the inspector is planned for the first week of the coming month. Whoever \
     needs the readings in full may ask the office for them, which answers within ten days. The \
     book remains at the station of ",
    ", where it may be seen during office hours. Copies of single pages are free of charge. ",
    " Signed by the observer, ",
    ", who has read the rules and follows them.",
];

/// Documents with the same notice in front (half as long as what is their own, or as long), and
/// reports of one form with what is their own in between: as many of each as there are texts.
pub(crate) fn made(texts: &[&str]) -> Vec<String> {
    let mut state = 7;
    let mut all = Vec::new();
    for (number, text) in texts.iter().enumerate() {
        let mut words = text.split_whitespace();
        let mut take = |count: usize| words.by_ref().take(count).collect::<Vec<_>>().join(" ");
        if number % 2 == 0 {
            let own = 60 + 10 * (number % 7);
            all.push(format!("{NOTICE}{}", take(own)));
            continue;
        }
        let mut form = String::new();
        for part in FORM {
            form.push_str(part);
            let count = 3 + usize::try_from(random(&mut state) % 12).unwrap_or(0);
            form.push_str(&take(count));
        }
        all.push(form);
    }
    all
}
