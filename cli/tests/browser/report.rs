//! Browser tests of the page of `nearkin report`.

use std::fs;
use std::path::Path;

use serde_json::{Value, json};

use crate::checks;
use crate::devtools::Browser;
use crate::pages::Scratch;

pub(crate) const WINDOW: (u32, u32) = (1_200, 900);
const FOCUS: &str = "document.activeElement.id || document.activeElement.className";

#[test]
fn a_person_filters_opens_and_compares() {
    let Some(mut browser) = Browser::start() else { return };
    let scratch = Scratch::new();
    browser.open(&scratch.archive(), WINDOW, "light");
    checks::page(&mut browser);
    assert_eq!(browser.text("document.title"), "archive - near-duplicates");
    assert!(browser.shown("#lead").contains("could be removed"), "{}", browser.shown("#lead"));
    assert_eq!(browser.count("figure"), 3);
    // Keyboard only: skip link, search, move through the list, open.
    browser.press("Tab");
    assert_eq!(browser.text(FOCUS), "skip");
    let ring = "getComputedStyle(document.activeElement).outlineStyle";
    assert_eq!(browser.text(ring), "solid", "the focus is seen");
    browser.press("/");
    assert_eq!(browser.text(FOCUS), "search");
    browser.write("about");
    browser.wait_for("document.getElementById('count').innerText.includes(' of ')");
    let found = browser.count("button.row");
    assert!((1..10).contains(&found), "{found}");
    browser.press("ArrowDown");
    assert_eq!(browser.text(FOCUS), "row");
    browser.press("Enter");
    assert_eq!(browser.text(FOCUS), "cluster-title");
    let title = browser.shown("#cluster-title");
    assert_eq!(title, "3.11/about.rst");
    assert!(browser.shown("#pair h4").starts_with("Similarity 0."));
    assert!(browser.count("#pair del") > 0 && browser.count("#pair ins") > 0);
    checks::page(&mut browser);
    browser.press("Escape");
    assert_eq!(browser.text(FOCUS), "row");
    assert_eq!(browser.value("document.getElementById('cluster').hidden"), true);
    // If a search has no results, the list says so.
    browser.press("/");
    browser.write(" no such key");
    browser.wait_for("document.querySelector('.empty') !== null");
    assert_eq!(browser.count("button.row"), 0);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn any_two_of_a_cluster_are_compared() {
    let Some(mut browser) = Browser::start() else { return };
    let scratch = Scratch::new();
    browser.open_cluster(&scratch.archive(), WINDOW, "light");
    let members = browser.count("#members tbody tr");
    assert!(members > 5, "{members}");
    // In each pair of the largest cluster, the unmarked words are equal on both sides.
    let sound = r#"(() => {
      const bad = [];
      const [left, right] = ["left", "right"].map((id) => document.getElementById(id));
      const most = Math.min(left.options.length, 6);
      for (let a = 0; a < most; a += 1) for (let b = 0; b < most; b += 1) {
        left.value = a; left.dispatchEvent(new Event("change"));
        right.value = b; right.dispatchEvent(new Event("change"));
        const fold = document.getElementById("fold");
        if (fold && fold.getAttribute("aria-pressed") === "false") fold.click();
        const unmarked = (cell) =>
          [...cell.childNodes].filter((n) => n.nodeType === 3).map((n) => n.data).join(" ");
        const cells = (column) => document.querySelectorAll(`.texts td:nth-child(${column})`);
        const side = (column) => [...cells(column)].map(unmarked)
          .join(" ").split(/\s+/).filter(Boolean).join(" ");
        const marks = document.querySelectorAll(".texts del, .texts ins").length;
        if (side(1) !== side(2) || !side(1)) bad.push([a, b]);
        if ((a === b) !== (marks === 0)) bad.push([a, b, marks]);
      }
      return bad;
    })()"#;
    assert_eq!(browser.value(sound), json!([]));
    // A button in the list opens a document too, and scrolls to it.
    browser.value("document.querySelectorAll('#members .acts button')[6].click()");
    assert_eq!(browser.value("document.getElementById('right').value"), "3");
    assert_eq!(browser.text("document.activeElement.tagName"), "H4");
    assert!(browser.shown("#said").starts_with("Similarity"), "{}", browser.shown("#said"));
    checks::page(&mut browser);
}

#[test]
fn charts_are_read_by_the_arrow_keys() {
    let Some(mut browser) = Browser::start() else { return };
    let scratch = Scratch::new();
    browser.open(&scratch.archive(), WINDOW, "light");
    assert_eq!(browser.value("document.getElementById('details').open"), false, "folded");
    browser.value("document.querySelector('nav a[href=\"#details\"]').click()");
    assert_eq!(browser.value("document.getElementById('details').open"), true);
    for (chart, part) in [("#histogram", "pair"), ("#curve", "compared"), ("#timeline", "in all")] {
        let value = format!("document.querySelector('{chart} .plot').ariaValueText");
        browser.value(&format!("document.querySelector('{chart} .plot').focus()"));
        browser.press("Home");
        let first = browser.text(&value);
        browser.press("ArrowRight");
        let second = browser.text(&value);
        assert!(first != second && second.contains(part), "{first}; {second}");
        assert_eq!(browser.shown(&format!("{chart} .readout")), second);
    }
    let sum = "[...document.querySelectorAll('#timeline tbody tr')].map((row) => \
               Number(row.cells[1].textContent.replace(/,/g, ''))).reduce((a, b) => a + b)";
    assert_eq!(browser.value(sum), 800);
}

#[test]
fn the_theme_is_the_systems_until_somebody_changes_it() {
    let Some(mut browser) = Browser::start() else { return };
    let scratch = Scratch::new();
    let page = scratch.archive();
    let ground = "getComputedStyle(document.body).backgroundColor";
    browser.open(&page, WINDOW, "light");
    let light = browser.text(ground);
    browser.open(&page, WINDOW, "dark");
    let dark = browser.text(ground);
    assert_ne!(light, dark);
    browser.value("document.querySelector('button.row').click()");
    checks::page(&mut browser);
    assert_eq!(browser.shown("#theme"), "Light theme");
    browser.value("document.getElementById('theme').click()");
    assert_eq!((browser.text(ground), browser.shown("#theme")), (light, "Dark theme".to_owned()));
}

#[test]
fn hostile_keys_and_texts_are_only_shown() {
    let Some(mut browser) = Browser::start() else { return };
    let scratch = Scratch::new();
    let hostile = [
        "</script><script>window.harmed = 1</script>",
        "<img src=x onerror=\"window.harmed = 2\">",
        "\u{2028}\u{202e}<!-- \" ' & \u{0}\u{1b}[2J {{7*7}} ${alert(1)} __proto__",
    ];
    let words: Vec<_> = (0..90).map(|word| format!("word{word}")).collect();
    let text = |key: &str| format!("{} {key} the rest", words.join(" "));
    let document = |key: &&str| json!({"id": key, "text": text(key)});
    scratch.lines("bad.jsonl", &hostile.iter().map(document).collect::<Vec<Value>>());
    scratch.run("add i --jsonl bad.jsonl --threshold 0.5");
    scratch.run("report i --from bad.jsonl --out r.html --title </title><script>harmed=3</script>");
    browser.open_cluster(&scratch.path("r.html"), WINDOW, "light");
    assert_eq!(browser.value("typeof window.harmed"), "undefined");
    assert_eq!(browser.count("img") + browser.count("body script:not([type])"), 1);
    let title = browser.shown("h1");
    assert_eq!(title, "</title><script>harmed=3</script>");
    let members = browser.shown("#members");
    assert!(members.contains(hostile[0]) && members.contains(hostile[1]), "{members}");
    assert!(members.contains("\\u{202e}<!--"), "{members}");
    assert!(browser.shown(".texts").contains("window.harmed"), "texts are shown");
    let saved = saved(&mut browser, "csv");
    let line = r#"1","3","<img src=x onerror=""window.harmed = 2"">","#;
    assert!(saved.contains(line), "quotes are doubled: {saved}");
    checks::page(&mut browser);
}

#[test]
fn pages_of_little_say_so() {
    let Some(mut browser) = Browser::start() else { return };
    let scratch = Scratch::new();
    scratch.run("create none");
    scratch.run("report none --out none.html");
    browser.open(&scratch.path("none.html"), WINDOW, "light");
    assert!(browser.shown("#lead").contains("holds no documents"));
    no_dead_links(&mut browser);
    checks::page(&mut browser);
    scratch.lines("one.jsonl", &[json!({"id": 1, "text": "only one of them"})]);
    scratch.run("add one --jsonl one.jsonl");
    scratch.run("report one --out one.html");
    browser.open(&scratch.path("one.html"), WINDOW, "dark");
    assert!(browser.shown("#lead").contains("None of 1 document"));
    no_dead_links(&mut browser);
    checks::page(&mut browser);
    // The page warns if its threshold is lower than the one the index was built for.
    let page = scratch.archive();
    browser.open(&page, WINDOW, "light");
    assert_eq!(browser.count(".warning"), 0);
    scratch.run("report archive --threshold 0.3 --no-texts --out low.html");
    browser.open(&scratch.path("low.html"), WINDOW, "dark");
    assert!(browser.shown(".warning").contains("built for similarities of 0.7"));
    browser.value("document.querySelector('button.row').click()");
    assert!(browser.shown("#pair").contains("this page was made without texts"));
    checks::page(&mut browser);
    scratch.run("report archive --threshold 1 --from spdx.jsonl --out high.html");
    browser.open(&scratch.path("high.html"), WINDOW, "light");
    browser.value("document.getElementById('details').open = true");
    assert!(browser.shown("#similarity").contains("equal signatures"));
    checks::page(&mut browser);
    // Sets are shown as lists of items.
    let cart = |id: u32, items: &[&str]| json!({"id": id, "items": items});
    let carts =
        [cart(1, &["green tea", "milk", "rye", "salt"]), cart(2, &["green tea", "milk", "rye"])];
    scratch.lines("carts.jsonl", &carts);
    scratch.run("add carts --jsonl carts.jsonl --items-field items --threshold 0.3");
    scratch.run("report carts --out carts.html");
    browser.open_cluster(&scratch.path("carts.html"), WINDOW, "light");
    assert!(browser.shown("#pair").contains("made without the sets"));
    scratch.run("report carts --from carts.jsonl --out carts.html");
    browser.open_cluster(&scratch.path("carts.html"), WINDOW, "light");
    assert_eq!((browser.count("#pair del"), browser.count("#pair ins")), (1, 0));
    assert_eq!(browser.shown("#pair del").trim(), "salt");
    assert!(browser.shown("#pair").contains("1 item only on the left, 0 only on the right"));
    checks::page(&mut browser);
}

/// The content of the file that a button saves.
#[track_caller]
pub(crate) fn saved(browser: &mut Browser, button: &str) -> String {
    browser.value(&format!(
        "(() => {{ window.saved = null; URL.createObjectURL = (blob) => {{ \
         blob.text().then((text) => {{ window.saved = text; }}); return '#'; }}; \
         document.getElementById('{button}').click(); }})()"
    ));
    browser.wait_for("window.saved !== null");
    browser.text("window.saved")
}

/// Checks that every internal link leads to a visible element.
#[track_caller]
fn no_dead_links(browser: &mut Browser) {
    let dead = r#"[...document.querySelectorAll("nav a")].map((link) => link.hash)
      .filter((hash) => !document.querySelector(hash).getClientRects().length)"#;
    assert_eq!(browser.value(dead), json!([]));
    assert!(browser.count("nav a") >= 2);
}

#[test]
fn very_different_texts_are_marked_without_alignment() {
    let Some(mut browser) = Browser::start() else { return };
    let scratch = Scratch::new();
    let set =
        |id: &str, from: u32| json!({"id": id, "items": (from..from + 6_000).collect::<Vec<_>>()});
    scratch.lines("sets.jsonl", &[set("a", 0), set("b", 3_000)]);
    scratch.run("add sets --jsonl sets.jsonl --items-field items --threshold 0.2 --hashes 256");
    scratch.run("report sets --from sets.jsonl --out r.html");
    browser.open_cluster(&scratch.path("r.html"), WINDOW, "light");
    let pair = browser.shown("#pair");
    assert!(pair.contains("Too much differs to align"), "{}", &pair[..200]);
    assert!(pair.contains("3,000 items only on the left, 3,000 only on the right"));
    assert_eq!((browser.count("#pair del"), browser.count("#pair ins")), (3_000, 3_000));
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

/// `count` lines of ten different words.
pub(crate) fn lines_of(count: usize) -> Vec<String> {
    let line = |at: usize| (0..10).map(|word| format!("w{at}x{word}")).collect::<Vec<_>>();
    (0..count).map(|at| line(at).join(" ")).collect()
}

#[test]
fn texts_are_compared_whole_up_to_the_limit() {
    let Some(mut browser) = Browser::start() else { return };
    let scratch = Scratch::new();
    // `one` is longer than the limit that the page once had for a text. In `other`, a block is
    // inserted near the beginning, so everything after it is moved, and a line is added at the end.
    let one = lines_of(2_000);
    let mut other = one.clone();
    other.splice(3..3, lines_of(2_300).split_off(2_000));
    other.push("the end is another".to_owned());
    // `huge` is longer than the page's limit per text: the page does not compare the part beyond
    // the limit, and must not show it as a difference.
    let huge = lines_of(20_000);
    let mut shifted = huge.clone();
    shifted.splice(3..3, (0..50).map(|at| format!("shifted by {at}")));
    let text = |lines: &[String]| lines.join("\n");
    for (name, one, other) in [("a", &one, &other), ("b", &huge, &shifted)] {
        let lines = [json!({"id": 1, "text": text(one)}), json!({"id": 2, "text": text(other)})];
        scratch.lines(&format!("{name}.jsonl"), &lines);
        scratch.run(&format!("add {name} --jsonl {name}.jsonl --threshold 0.5"));
        scratch.run(&format!("report {name} --from {name}.jsonl --out {name}.html"));
    }
    browser.open_cluster(&scratch.path("a.html"), WINDOW, "light");
    let pair = browser.shown("#pair");
    assert!(pair.contains("0 words only on the left, 3,004 only on the right"), "{pair}");
    browser.open_cluster(&scratch.path("b.html"), WINDOW, "light");
    let pair = browser.shown("#pair");
    assert!(pair.contains("what lies behind is not compared"), "{pair}");
    assert!(pair.contains("0 words only on the left, 150 only on the right"), "{pair}");
    // A long text can be read completely, part by part.
    browser.value("document.getElementById('fold').click()");
    let drawn = browser.count("#pair tbody tr");
    browser.value("document.querySelector('#pair button.more').click()");
    assert!(browser.count("#pair tbody tr") > drawn, "{drawn}");
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn clusters_are_stepped_through_and_downloaded() {
    let Some(mut browser) = Browser::start() else { return };
    let scratch = Scratch::new();
    browser.open(&scratch.archive(), WINDOW, "light");
    assert!(browser.shown("#lead").contains("free"), "{}", browser.shown("#lead"));
    browser.value("document.querySelector('button.row').click()");
    assert_eq!(browser.value("document.getElementById('previous').disabled"), true);
    let first = browser.shown("#cluster-title");
    browser.value("document.getElementById('next').click()");
    assert!(browser.shown(".steps").contains("Cluster 2 of 176"), "{}", browser.shown(".steps"));
    assert_eq!(browser.text(FOCUS), "next");
    // Moves the current row beyond the part of the list that is drawn at first.
    browser.value("for (let at = 0; at < 60; at += 1) document.getElementById('next').click()");
    assert!(browser.shown(".steps").contains("Cluster 62 of 176"), "{}", browser.shown(".steps"));
    assert_eq!(browser.count("tr.current button.row"), 1);
    browser.value("for (let at = 0; at < 61; at += 1) document.getElementById('previous').click()");
    assert_eq!(browser.shown("#cluster-title"), first);
    // The list can also be sorted by bytes.
    let bytes = "document.querySelector('.clusters tbody td:nth-child(3)').textContent";
    browser.value(
        "(() => { const order = document.getElementById('order'); order.value = 'free'; \
         order.dispatchEvent(new Event('change')); })()",
    );
    assert!(browser.text(bytes).ends_with("KiB"), "{}", browser.text(bytes));
    // The saved table has a line per document, with doubled quotes.
    let saved = saved(&mut browser, "csv");
    let lines: Vec<_> = saved.split_terminator("\r\n").collect();
    assert_eq!(lines.len(), 402, "a head and 401 documents");
    assert_eq!(
        lines[0],
        "\"cluster\",\"documents\",\"key\",\"estimated_similarity_to_first\",\"added_utc\",\
         \"bytes\",\"changed_utc\""
    );
    assert!(lines[1].contains("\"1.000\""), "{}", lines[1]);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn labels_of_the_growth_never_meet() {
    let Some(mut browser) = Browser::start() else { return };
    let scratch = Scratch::new();
    let meet = r##"(() => {
      const boxes = [...document.querySelectorAll("#timeline svg text:not(.name)")]
        .filter((text) => text.getAttribute("text-anchor") === "middle")
        .map((text) => text.getBoundingClientRect());
      const bad = boxes.filter((box, at) => at && box.left < boxes[at - 1].right + 4);
      const out = boxes.filter((box) => box.right > innerWidth || box.left < 0);
      return boxes.length < 2 ? ["none"] : [...bad, ...out].map((box) => box.left);
    })()"##;
    scratch.lines("two.jsonl", &[json!({"id": 1, "text": "one of them"})]);
    scratch.run("add first --jsonl two.jsonl");
    scratch.run("export first --out all.jsonl");
    let all = fs::read_to_string(scratch.path("all.jsonl")).unwrap();
    let all: Vec<Value> = all.lines().map(|line| serde_json::from_str(line).unwrap()).collect();
    // Time spans of seconds, minutes, hours, days, and many days.
    for (number, last) in
        [9_000_u64, 590_000, 30_000_000, 1_000_000_000, 40_000_000_000].into_iter().enumerate()
    {
        let mut lines = vec![all[0].clone()];
        lines[0]["documents"] = json!(21);
        for at in 0..=20 {
            let mut line = all[1].clone();
            line["key"] = json!(format!("{at:02}"));
            line["time"] = json!(1_700_000_000_000 + last / 20 * at);
            lines.push(line);
        }
        scratch.lines("spread.jsonl", &lines);
        scratch.run(&format!("import i{number} spread.jsonl"));
        scratch.run(&format!("report i{number} --out r.html"));
        for width in [360, 700, 1_280] {
            browser.open(&scratch.path("r.html"), (width, 900), "light");
            assert_eq!(browser.value(meet), json!([]), "{last} ms at {width}");
        }
    }
}

/// Saves screenshots for the documentation to the folder in `NEARKIN_PICTURES`.
#[test]
fn pictures() {
    let Some(folder) = std::env::var_os("NEARKIN_PICTURES").filter(|folder| !folder.is_empty())
    else {
        return;
    };
    let Some(mut browser) = Browser::start() else { return };
    let save = |browser: &mut Browser, name: &str| {
        fs::write(Path::new(&folder).join(name), browser.picture()).unwrap();
    };
    let scratch = Scratch::new();
    scratch.manuals();
    scratch.run("report manuals.nearkin --out r.html --title Manuals");
    let page = scratch.path("r.html");
    browser.open(&page, (1_280, 1_000), "light");
    save(&mut browser, "report.png");
    browser.value(
        "for (const folded of document.querySelectorAll('details')) folded.open = true; \
         document.getElementById('similarity').scrollIntoView({behavior: 'instant'})",
    );
    save(&mut browser, "report-charts.png");
    let pair = "document.querySelectorAll('button.row')[1].click(); \
                document.querySelector('.marking button').click(); \
                document.querySelector('#cluster').scrollIntoView({behavior: 'instant'})";
    browser.open(&page, (1_280, 1_000), "light");
    browser.value(pair);
    save(&mut browser, "report-pair.png");
    browser.open(&page, (1_280, 1_000), "dark");
    save(&mut browser, "report-dark.png");
    browser.open(&page, (390, 844), "dark");
    save(&mut browser, "report-narrow-dark.png");
    browser.open(&page, (390, 844), "light");
    save(&mut browser, "report-narrow.png");
    browser.value(pair);
    save(&mut browser, "report-narrow-pair.png");
}
