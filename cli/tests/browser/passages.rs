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
