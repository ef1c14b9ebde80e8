//! Browser tests of a report on a phone: nothing is cut off, and no keys are asked for.

use serde_json::json;

use crate::checks;
use crate::devtools::Browser;
use crate::pages::Scratch;
use crate::report::{WINDOW, lines_of};

const PHONE: (u32, u32) = (360, 740);

#[test]
fn a_page_fits_a_phone() {
    let Some(mut browser) = Browser::start() else { return };
    let scratch = Scratch::new();
    let page = scratch.archive();
    browser.open_cluster(&page, PHONE, "light");
    checks::page(&mut browser);
    // Charts are redrawn when the width changes.
    let box_of = |browser: &mut Browser| {
        browser.text("document.querySelector('#curve svg').getAttribute('viewBox')")
    };
    let narrow = box_of(&mut browser);
    browser.resize(WINDOW);
    browser.wait_for(&format!(
        "document.querySelector('#curve svg').getAttribute('viewBox') !== '{narrow}'"
    ));
}

#[test]
fn long_keys_and_texts_fit_a_phone() {
    let Some(mut browser) = Browser::start() else { return };
    let scratch = Scratch::new();
    let text = lines_of(4).join("\n");
    let key = |end: &str| format!("{}/{end}", ["a long folder"; 12].join("/"));
    let lines = [
        json!({"id": key("one.txt"), "text": text}),
        json!({"id": key("two.txt"), "text": format!("{text}\nand \"more\"")}),
    ];
    scratch.lines("a.jsonl", &lines);
    scratch.run("add a --jsonl a.jsonl --threshold 0.5");
    scratch.run("report a --from a.jsonl --out a.html");
    browser.open_cluster(&scratch.path("a.html"), PHONE, "light");
    checks::page(&mut browser);
    // Keys wrap behind their separators: no part is cut off, and none lies outside the list.
    let whole = r##"(() => {
      const keys = [...document.querySelectorAll("button.row .key, #members .key, h3 .key")];
      const list = document.querySelector("#list").getBoundingClientRect();
      const out = keys.filter((key) => [...key.getClientRects()].some((line) =>
        line.left < list.left - 1 || line.right > list.right + 1));
      const cut = keys.flatMap((key) => [key, ...key.querySelectorAll("span")])
        .filter((node) => getComputedStyle(node).display !== "inline");
      const breaks = keys.every((key) => key.querySelectorAll("wbr").length > 10);
      return keys.length > 3 && breaks ? [out.length, cut.length] : ["too few"];
    })()"##;
    assert_eq!(browser.value(whole), json!([0, 0]));
    assert!(browser.text("document.querySelector('button.row').textContent").ends_with("one.txt"));
    let option = browser.text("document.querySelector('#left option').textContent");
    assert!(option.contains("...") && option.ends_with("/one.txt"), "{option}");
    // Stacked view: both texts at full width, common parts shown once.
    let stacked = r#"(() => {
      const [left, right] = [".left", ".right"]
        .map((name) => document.querySelector(".differs " + name).getBoundingClientRect());
      return right.top >= left.bottom - 1 && Math.abs(left.width - right.width) < 1;
    })()"#;
    assert_eq!(browser.value(stacked), true);
    let equal = "document.querySelector('.texts .equal .right').getClientRects().length";
    assert_eq!(browser.value(equal), 0);
    browser.resize(WINDOW);
    browser.wait_for(&format!("{equal} === 1"));
}

#[test]
fn touch_screens_get_no_hints_about_keys() {
    let Some(mut browser) = Browser::start() else { return };
    let scratch = Scratch::new();
    let page = scratch.archive();
    let hints = "document.querySelectorAll('#list-help kbd')[0].getClientRects().length";
    let csv = "document.getElementById('csv').getClientRects().length";
    browser.open(&page, WINDOW, "light");
    assert_eq!((browser.value(hints), browser.value(csv)), (json!(1), json!(1)));
    browser.touch(true);
    browser.open(&page, PHONE, "light");
    assert_eq!((browser.value(hints), browser.value(csv)), (json!(0), json!(1)));
    checks::page(&mut browser);
}

#[test]
fn numbers_of_folders_stay_in_their_columns() {
    let Some(mut browser) = Browser::start() else { return };
    let scratch = Scratch::new();
    let page = scratch.archive();
    // What does not fit beside the next column wraps: the text of each cell lies within the cell.
    let outside = r#"(() => {
      const cells = [...document.querySelectorAll(".folders tbody td")];
      const numbers = cells.filter((cell) => / of /.test(cell.textContent));
      for (const cell of numbers) cell.textContent = "1,833 of 10,402";
      cells[1].textContent = "1,234,567 of 12,345,678";
      return cells.filter((cell) => cell.textContent).filter((cell) => {
        const range = document.createRange();
        range.selectNodeContents(cell);
        const [text, box] = [range.getBoundingClientRect(), cell.getBoundingClientRect()];
        return text.left < box.left + 1 || text.right > box.right + 1;
      }).length;
    })()"#;
    for width in [360, 700, 900, 1_280] {
        browser.open(&page, (width, 900), "light");
        assert!(browser.count(".folders tbody td") > 4);
        assert_eq!(browser.value(outside), json!(0), "at {width}");
    }
}
