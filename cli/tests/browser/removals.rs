//! Browser tests of what to remove, as a plan or as a list, and of the links to files.

use std::fs;

use serde_json::json;

use crate::checks;
use crate::devtools::Browser;
use crate::pages::Scratch;
use crate::report::{WINDOW, lines_of, saved};

/// Files in the folder `docs`, each with the same text but for its last words.
fn files(names: &[&str]) -> Scratch {
    let scratch = Scratch::new();
    fs::create_dir(scratch.path("docs")).unwrap();
    let text = lines_of(20).join("\n");
    for (at, name) in names.iter().enumerate() {
        fs::write(scratch.path("docs").join(name), format!("{text}\nthe end {at}")).unwrap();
    }
    scratch.run("add i docs");
    scratch
}

const PLAN: &str = "document.getElementById('plan-text').value";
const BOXES: &str = "[...document.querySelectorAll('#members input')]";

/// What a plan does to each file, by name.
fn fates(plan: &str) -> Vec<(&str, &str)> {
    let lines = plan.lines().filter(|line| !line.starts_with('#'));
    lines
        .filter_map(|line| {
            let mut parts = line.split('\t');
            Some((parts.next()?, parts.nth(1)?))
        })
        .collect()
}

#[test]
fn a_plan_removes_files_and_brings_them_back() {
    let Some(mut browser) = Browser::start() else { return };
    let scratch = files(&["a.txt", "b.txt", "c.txt", "line\nend.txt"]);
    let path = |name: &str| scratch.path("docs").join(name);
    // Neither the first, nor the last by name, is the newest.
    let newest = std::time::SystemTime::now() + std::time::Duration::from_secs(60);
    fs::File::open(path("b.txt")).unwrap().set_modified(newest).unwrap();
    scratch.run("report i --out r.html");
    browser.open(&scratch.path("r.html"), WINDOW, "light");
    assert_eq!(browser.value("document.getElementById('removals').hidden"), true);
    browser.value("document.querySelector('button.row').click()");
    let rows = browser.shown("#members tbody");
    assert!(rows.contains("bytes") || rows.contains("KiB"), "{rows}");
    browser.value(&format!("{BOXES}.slice(0, 3).forEach((box) => box.click())"));
    let plan = browser.text(PLAN);
    assert_eq!(
        fates(&plan),
        [
            ("keep", "docs/line%0Aend.txt"),
            ("remove", "docs/a.txt"),
            ("remove", "docs/b.txt"),
            ("remove", "docs/c.txt"),
        ]
    );
    browser.value("document.querySelector('.marking').lastChild.click()");
    assert_eq!(browser.value("document.getElementById('removals').hidden"), true);
    // Even a script that presses every box leaves one document.
    browser.value(&format!(
        "{BOXES}.forEach((box) => {{ box.disabled = false; box.checked = false; box.click(); }})"
    ));
    assert_eq!(fates(&browser.text(PLAN)), fates(&plan));
    browser.value("document.querySelector('.marking button').click()");
    let kept = |plan: &str| {
        fates(plan)
            .iter()
            .filter(|(fate, _)| *fate == "keep")
            .map(|(_, path)| (*path).to_owned())
            .collect::<Vec<_>>()
    };
    assert_eq!(kept(&browser.text(PLAN)), ["docs/b.txt"], "the newest stays");
    assert_eq!(browser.shown("#kept"), "Stays: docs/b.txt.");
    assert!(browser.shown("#plan-count").starts_with("3 files to remove, "));
    assert_eq!(browser.shown("small[data-marked]"), "3 to remove");
    browser.value("[...document.querySelectorAll('#members .acts button')][5].click()");
    assert_eq!(kept(&browser.text(PLAN)), ["docs/c.txt"], "this one stays");
    browser.value("document.querySelector('.marking button').click()");
    browser.value("document.querySelector('#plan details').open = true");
    checks::page(&mut browser);
    browser.resize((390, 844));
    checks::page(&mut browser);
    // The plan is copied and saved as it is shown, and the command takes it.
    browser.value(
        "navigator.clipboard.writeText = async (text) => { window.copied = text; }; \
         document.getElementById('plan-copy').click()",
    );
    browser.wait_for("document.getElementById('plan-count').innerText.endsWith('lines copied')");
    let plan = saved(&mut browser, "plan-save");
    assert_eq!(browser.text("window.copied"), plan);
    let folder = scratch.path("").canonicalize().unwrap();
    let steps = browser.shown("#plan ol");
    assert!(steps.contains(&format!("cd {}", folder.display())), "{steps}");
    assert!(steps.contains("nearkin apply ~/Downloads/plan.txt --undo"), "{steps}");
    fs::write(scratch.path("plan.txt"), plan).unwrap();
    let there = || ["a.txt", "b.txt", "c.txt", "line\nend.txt"].map(|name| path(name).exists());
    scratch.run("apply plan.txt");
    assert_eq!(there(), [false, true, false, false]);
    scratch.run("apply plan.txt --undo");
    assert_eq!(there(), [true; 4]);
    browser.value("document.getElementById('plan-clear').click()");
    assert_eq!(browser.value("document.getElementById('removals').hidden"), true);
    assert_eq!(browser.value(&format!("{BOXES}.some((box) => box.checked)")), false);
    assert_eq!(browser.complaints(), Vec::<String>::new());
}

#[test]
fn documents_without_files_become_a_list() {
    let Some(mut browser) = Browser::start() else { return };
    let scratch = files(&["a.txt", "\u{202e}b.txt"]);
    scratch.run("report i --out r.html --no-texts");
    browser.open_cluster(&scratch.path("r.html"), WINDOW, "dark");
    // A key with a mark of direction cannot be in a list of lines.
    assert_eq!(browser.value(&format!("{BOXES}.map((box) => box.disabled)")), json!([false, true]));
    browser.value(&format!("{BOXES}.forEach((box) => {{ box.disabled = false; box.click(); }})"));
    browser.value("document.querySelector('#keys details').open = true");
    assert_eq!(browser.value("document.getElementById('plan').hidden"), true);
    checks::page(&mut browser);
    let help = browser.shown("#keys");
    assert!(help.contains("if the files stay, the next nearkin mirror adds"), "{help}");
    let list = saved(&mut browser, "keys-save");
    assert_eq!(list, "docs/a.txt\n");
    fs::write(scratch.path("removals.txt"), list).unwrap();
    scratch.run("remove i --from removals.txt --if-similar 0.7");
}

#[test]
fn what_only_a_chain_joins_is_not_removed_for_it() {
    let Some(mut browser) = Browser::start() else { return };
    let scratch = Scratch::new();
    fs::create_dir(scratch.path("docs")).unwrap();
    let text = |from: usize| {
        (from..from + 100).map(|word| format!("word{word}")).collect::<Vec<_>>().join(" ")
    };
    for (name, from) in [("a.txt", 0), ("b.txt", 10), ("c.txt", 20)] {
        fs::write(scratch.path("docs").join(name), text(from)).unwrap();
    }
    scratch.run("add i docs --threshold 0.7 --hashes 512");
    scratch.run("report i --out r.html");
    browser.open_cluster(&scratch.path("r.html"), WINDOW, "light");
    assert_eq!(browser.count("#members tbody tr"), 3);
    // Keeps only the first: the last is less similar to it.
    browser.value("[...document.querySelectorAll('#members .acts button')][1].click()");
    assert!(browser.shown("#kept").ends_with("So does one less similar to it than 0.7."));
    assert_eq!(fates(&browser.text(PLAN)), [("keep", "docs/a.txt"), ("remove", "docs/b.txt")]);
    // Marked by hand, it is left out of the plan.
    browser.value(&format!("{BOXES}[2].click()"));
    assert_eq!(fates(&browser.text(PLAN)).len(), 2);
    let count = browser.shown("#plan-count");
    assert!(count.contains("1 marked file not in the plan"), "{count}");
}

#[test]
fn a_file_is_opened_from_a_page_that_lies_beside_it() {
    let Some(mut browser) = Browser::start() else { return };
    let scratch = files(&["a #1?%41.txt", "b.txt", "back\\slash.txt"]);
    let links = "[...document.querySelectorAll('#members a')].map((link) => link.href)";
    fs::create_dir_all(scratch.path("pages/of may")).unwrap();
    for page in ["r.html", "pages/r.html"] {
        scratch.run(&format!("report i --out {page}"));
        browser.open_cluster(&scratch.path(page), WINDOW, "light");
        checks::page(&mut browser);
        let base = format!("file://{}", fs::canonicalize(scratch.path("docs")).unwrap().display());
        let links = browser.value(links);
        assert_eq!(links, json!([format!("{base}/a%20%231%3F%2541.txt"), format!("{base}/b.txt")]));
        browser.visit(links[0].as_str().unwrap(), WINDOW, "light");
        assert!(browser.text("document.body.innerText").ends_with("the end 0"));
    }
    // A page elsewhere would have to name folders that no key names.
    let elsewhere = Scratch::new();
    let out = elsewhere.path("r.html");
    scratch.run(&format!("report i --out {}", out.display()));
    assert!(!fs::read_to_string(&out).unwrap().contains(scratch.path("").to_str().unwrap()));
    browser.open_cluster(&out, WINDOW, "light");
    assert_eq!(browser.value(links), json!([]));
}

#[test]
fn no_key_leads_to_another_host_or_scheme() {
    let Some(mut browser) = Browser::start() else { return };
    let scratch = files(&["a.txt", "b.txt"]);
    scratch.run("report i --out r.html");
    // The page gets hostile keys, as if files of these names were there.
    let page = fs::read_to_string(scratch.path("r.html")).unwrap();
    let hostile = ["//host/share/x", "javascript:alert(1)", "https://host/x", "\\\\host\\x"];
    for key in hostile {
        let key = json!(key).to_string();
        let page = page.replace("\"docs/a.txt\"", &key);
        fs::write(scratch.path("h.html"), page).unwrap();
        browser.open_cluster(&scratch.path("h.html"), WINDOW, "light");
        let link = "document.querySelector('#members a')";
        let parts = format!("(() => {{ const to = {link}; return [to.protocol, to.host]; }})()");
        assert_eq!(browser.value(&parts), json!(["file:", ""]), "{key}");
    }
}
