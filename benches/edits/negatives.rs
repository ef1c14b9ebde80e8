//! Hard negatives: documents that share a template or boilerplate, and are not copies.

use super::support::random;

/// A notice that occurs in many packages, and says nothing about any one of them.
const NOTICE: &str = "This program is free software; you can redistribute it and modify it under \
    the terms that the file of its licence states. It is distributed in the hope that it will be \
    useful, but without any warranty, without even the implied warranty of merchantability or \
    fitness for a particular purpose. A copy of the licence comes with the program; if it does \
    not, write to the authors. ";

/// The template of a report, which all reports share. The filled-in values differ.
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

/// One document per text, of two kinds in turn. The first kind is a common notice, followed by 60
/// to 120 words from the text: the notice is about a third to a half of the document. The second
/// kind is a report: a common template filled in with words from the text.
pub(crate) fn documents(texts: &[String]) -> Vec<String> {
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

/// Titles that share a template and have five words of their own.
pub(crate) fn short(texts: &[String]) -> Vec<String> {
    let own = |text: &String| text.split_whitespace().skip(5).take(5).collect::<Vec<_>>().join(" ");
    let title = |(number, text): (usize, &String)| match number % 3 {
        0 => format!("Weekly report of the station: {}", own(text)),
        1 => format!("Re: your request about {}", own(text)),
        _ => format!("{} - a short introduction for everybody", own(text)),
    };
    texts.iter().enumerate().map(title).collect()
}

/// Files with the same licence header, a few similar declarations, and 30 lines of their own.
pub(crate) fn code(files: &[String]) -> Vec<String> {
    let header = format!("// {}\n", NOTICE.replace(", ", ",\n// "));
    let own = |(number, file): (usize, &String)| {
        let lines: Vec<&str> = file.lines().skip(10).take(30).collect();
        let new = "fn new(name: &str) -> Self {\n        Self { name: name.to_owned() }\n    }";
        let form =
            format!("    fn name(&self) -> &str {{\n        &self.name\n    }}\n\n    {new}\n");
        format!("{header}\nimpl Part{number} {{\n{form}}}\n\n{}", lines.join("\n"))
    };
    files.iter().enumerate().map(own).collect()
}
