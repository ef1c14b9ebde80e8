//! Browser tests of the page of `nearkin report` for an index of fingerprints.

use std::fs;

use crate::checks;
use crate::devtools::Browser;
use crate::pages::Scratch;
use crate::report::WINDOW;

/// For the pair on the page: which text is not shown in full, in order, and how many of its letters
/// are marked.
const SHOWN: &str = r#"(() => {
  const data = JSON.parse(document.getElementById("data").textContent);
  const { a, b } = data.pairs[0];
  return [a, b].map((number, side) => {
    const cells = [...document.querySelectorAll(`#case0 .shared td:nth-child(${side + 1})`)];
    const shown = cells.map((cell) => {
      const copy = cell.cloneNode(true);
      copy.querySelectorAll(".number-of").forEach((label) => label.remove());
      return copy.textContent;
    });
    const plain = (text) => text.replace(/\s+/g, " ").trim();
    const marked = cells.flatMap((cell) => [...cell.querySelectorAll("mark")]);
    return [
      plain(shown.join(" ")) === plain(data.texts[data.documents[number].text.at].text),
      plain(marked.map((mark) => mark.textContent).join(" ")),
    ];
  });
})()"#;

#[test]
fn a_pair_of_texts_is_shown_beside_itself() {
    let Some(mut browser) = Browser::start() else { return };
    let scratch = Scratch::new();
    let words = |name: &str, from: u32, to: u32| -> Vec<String> {
        (from..to).map(|word| format!("{name}{word}")).collect()
    };
    let mut copied = words("a", 150, 180);
    copied[14] = "Else,".to_owned();
    let texts = [
        words("a", 0, 400),
        [words("b", 0, 100), copied.clone(), words("b", 100, 300), words("a", 20, 40)].concat(),
        words("c", 0, 50),
    ];
    fs::create_dir(scratch.path("essays")).unwrap();
    for (name, text) in (1..).zip(&texts) {
        fs::write(scratch.path("essays").join(format!("{name}.txt")), text.join(" ")).unwrap();
    }
    scratch.run("add i essays --for quotes");
    scratch.run("report i --out report.html");
    for (width, theme) in [(WINDOW.0, "light"), (400, "dark")] {
        browser.open(&scratch.path("report.html"), (width, WINDOW.1), theme);
        checks::page(&mut browser);
    }
    assert!(browser.shown("#lead").contains("1 pair of texts shares a run of words; 1 stands out"));
    assert_eq!(browser.count("#case0 .cut"), 4, "long stretches are left out");
    browser.value("document.getElementById('whole0').click()");
    assert_eq!(browser.count("#case0 .cut"), 0);
    copied.remove(14);
    // The first text has the parts in the other order.
    let (copied, other) = (copied.join(" "), words("a", 20, 40).join(" "));
    let expected = serde_json::json!([
        [true, format!("{other} {copied}")],
        [true, format!("{copied} {other}")]
    ]);
    assert_eq!(browser.value(SHOWN), expected);
    checks::page(&mut browser);
}

/// For the pair on the page: the numbers in the list of passages with where they lead, and those in
/// each text.
const NUMBERS: &str = r##"(() => {
  const kind = (one) => one.className.match(/p\d/)[0];
  const drawn = (side) =>
    [...document.querySelectorAll(`#case0 .shared td:nth-child(${side}) .p`)]
      .map((one) => [one.id, one.querySelector(".number-of").textContent, kind(one)].join(" "));
  const listed = [...document.querySelectorAll("#case0 .passages .p")].map((one) => {
    const id = (one.getAttribute("href") || "").slice(1);
    return [document.getElementById(id) ? id : `no ${id}`, one.textContent, kind(one)].join(" ");
  });
  return [listed, drawn(1), drawn(2)];
})()"##;

#[test]
fn a_passage_that_is_not_drawn_keeps_its_number_and_has_no_link() {
    let Some(mut browser) = Browser::start() else { return };
    let scratch = Scratch::new();
    let words = |name: &str, from: u32, to: u32| -> String {
        (from..to).map(|word| format!("{name}{word} ")).collect::<Vec<_>>().concat()
    };
    let [first, second, third] = ["p", "q", "r"].map(|name| words(name, 0, 20));
    // Passage 1 is behind the part of the second text that the page has.
    let far = "far ".repeat(1 << 18);
    let [x, y, z] = ["x", "y", "z"].map(|name| words(name, 0, 20));
    fs::write(
        scratch.path("a.txt"),
        [&first, &x, &second, &y, &third].map(String::as_str).concat(),
    )
    .unwrap();
    fs::write(
        scratch.path("b.txt"),
        [&second, &z, &third, &far, &first].map(String::as_str).concat(),
    )
    .unwrap();
    scratch.run("add i a.txt b.txt --for quotes");
    scratch.run("report i --out report.html");
    browser.open(&scratch.path("report.html"), WINDOW, "light");
    let expected = serde_json::json!([
        ["no  1 p0", "a0-1 2 p1", "a0-2 3 p2"],
        ["a0-1 2 p1", "a0-2 3 p2"],
        ["b0-1 2 p1", "b0-2 3 p2"],
    ]);
    assert_eq!(browser.value(NUMBERS), expected);
    checks::page(&mut browser);
    scratch.run("report i --out report.html --no-texts");
    browser.open(&scratch.path("report.html"), WINDOW, "light");
    let expected = serde_json::json!([["no  1 p0", "no  2 p1", "no  3 p2"], [], []]);
    assert_eq!(browser.value(NUMBERS), expected);
    checks::page(&mut browser);
}
