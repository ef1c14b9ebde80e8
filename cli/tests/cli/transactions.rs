//! `nearkin add --transactions`: sets from table rows, and the transposed sets.

use super::*;
use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

const SEEN: &str = "when,user,film\n1,ann,Alien\n2,bob,Heat\n3,ann,Brazil\n4,cid,Alien\n\
    5,ann,Casino\n6,cid,\"Brazil\"\n7,bob,Drive\n8,cid,Casino\n9,ann,Alien\n10,,Heat\n11,bob,\n";

/// The pairs of an index with their similarities.
fn pairs(scratch: &Scratch, index: &str, threshold: f64) -> BTreeMap<(String, String), f64> {
    let arguments = format!("pairs {index} --json --threshold {threshold}");
    let text = |value: &Value| value.as_str().unwrap().to_owned();
    let ran = scratch.ok(&arguments);
    let pair =
        |pair: &Value| ((text(&pair["a"]), text(&pair["b"])), pair["similarity"].as_f64().unwrap());
    ran.objects().iter().map(pair).collect()
}

#[test]
fn rows_become_sets_in_whatever_order_they_come() {
    let scratch = Scratch::new();
    scratch.write("seen.csv", SEEN);
    let add = "add users --transactions seen.csv --columns user,film";
    let ran = scratch.ok(add);
    assert_eq!(
        ran.stdout,
        "3 documents inserted, 0 replaced, 0 unchanged, 2 skipped (2 bad row)\n"
    );
    ran.says(&["created users", "items", "skipped 2 rows of seen.csv", "at line 11"]);
    let found = pairs(&scratch, "users", 0.5);
    assert_eq!(found.into_iter().collect::<Vec<_>>(), [(("ann".into(), "cid".into()), 1.0)]);
    scratch.ok(&format!("{add} --json")).has("unchanged", 3);
    // Nothing changes if the same sets are added as JSON lines, or the same rows with columns that
    // are numbered or named in other ways.
    let lines = "{\"id\":\"ann\",\"items\":[\"Casino\",\"Alien\",\"Brazil\"]}\n\
        {\"id\":\"bob\",\"items\":[\"Drive\",\"Heat\"]}\n";
    let ran = scratch.run_with_stdin("add users --jsonl - --json", lines.as_bytes()).ends_with(0);
    assert_eq!(ran.objects()[0]["unchanged"], 2);
    scratch.write("seen.tsv", SEEN.replace(',', "\t"));
    scratch.write("seen.txt", SEEN.replace(',', ";"));
    for more in [
        "seen.csv --columns 2,3 --header",
        "seen.csv --columns film,user --transpose",
        "seen.tsv --columns user,film",
        "seen.txt --columns 2,3 --delimiter ; --header",
    ] {
        let ran = scratch.ok(&format!("add users --json --transactions {more}"));
        assert_eq!(ran.objects()[0]["unchanged"], 3, "{more}");
    }
    let ran =
        scratch.run_with_stdin("add users --json --transactions - --columns 1,2", b"ann,Heat\n");
    assert_eq!(ran.ends_with(0).objects()[0]["replaced"], 1, "a set is replaced, not added to");
}

#[test]
fn integers_are_items_as_their_digits() {
    let scratch = Scratch::new();
    scratch.write("baskets.csv", "1,30\n2,40\n1,31\n");
    scratch.ok("add i --transactions baskets.csv --columns 1,2");
    let line = b"{\"id\":1,\"items\":[31,30]}\n";
    scratch.run_with_stdin("add i --jsonl - --json", line).ends_with(0).has("unchanged", 1);
}

#[test]
fn in_a_bag_rows_that_occur_twice_count_as_two() {
    let scratch = Scratch::new();
    scratch.write("carts.csv", "a,tea\nb,tea\na,tea\nb,milk\na,milk\nb,tea\nc,milk\nc,tea\n");
    let add = "add i --transactions carts.csv --columns 1,2 --hashes 512 --threshold 0.4 --bag";
    scratch.ok(add);
    let found = pairs(&scratch, "i", 0.4);
    let similarity = |a: &str, b: &str| found[&(a.to_owned(), b.to_owned())];
    assert!(similarity("a", "b") > 0.999);
    assert!((similarity("a", "c") - 2.0 / 3.0).abs() < 0.1, "{found:?}");
    let ran = scratch.ok(&add.replace("add i", "add j").replace(" --bag", ""));
    assert!(ran.stdout.starts_with("3 documents"), "{}", ran.stdout);
    assert!(pairs(&scratch, "j", 0.4).values().all(|similarity| *similarity > 0.999));
}

#[test]
fn the_dual_is_of_items_by_the_sets_they_are_in() {
    let scratch = Scratch::new();
    scratch.write("seen.csv", SEEN);
    scratch.ok("add films --transactions seen.csv --columns user,film --transpose");
    let found = pairs(&scratch, "films", 0.5);
    let keys: Vec<_> = found.keys().map(|(a, b)| format!("{a}-{b}")).collect();
    assert_eq!(keys, ["Alien-Brazil", "Alien-Casino", "Brazil-Casino", "Drive-Heat"]);
}

#[test]
fn an_unsuitable_table_is_refused_before_any_write() {
    let scratch = Scratch::with_licences();
    scratch.write("seen.csv", SEEN);
    let add = |what: &str| scratch.run(&format!("add {what}")).ends_with(2);
    add("new --transactions seen.csv").says(&["--columns"]);
    add("new --transactions seen.csv --columns user,movie")
        .says(&["\"movie\"", "when, user, film"]);
    add("new --transactions seen.csv --columns user").says(&["1,2"]);
    add("new --transactions typo.csv --columns 1,2").says(&["typo.csv"]);
    add("new --transactions seen.csv --columns 1,2 --shingles words:3").says(&["items"]);
    add("i --transactions seen.csv --columns 1,2").says(&["items"]);
    add("new docs --transactions seen.csv --columns 1,2").says(&["cannot be used with"]);
    add("new docs --transpose").says(&["--transactions"]);
    assert!(!scratch.path("new").exists());
}

/// Sets of strings by key.
type Sets = BTreeMap<String, BTreeSet<String>>;

/// The sets of a corpus; `None` if the corpora are not installed.
#[expect(clippy::print_stdout, reason = "a skipped test must say so")]
fn corpus(name: &str) -> Option<Sets> {
    let folder = std::env::var_os("NEARKIN_DATA").map(PathBuf::from);
    let path = folder.map(|folder| folder.join(format!("{name}.sets.jsonl.zst")));
    let Some(path) = path.filter(|path| path.exists()) else {
        println!("SKIPPED: NEARKIN_DATA names no folder with {name}.sets.jsonl.zst");
        return None;
    };
    let packed = fs::read(path).unwrap();
    let lines = String::from_utf8(zstd::decode_all(&packed[..]).unwrap()).unwrap();
    let text = |value: &Value| value.as_str().map_or_else(|| value.to_string(), str::to_owned);
    let set = |line: &str| {
        let line: Value = serde_json::from_str(line).unwrap();
        (text(&line["id"]), line["items"].as_array().unwrap().iter().map(text).collect())
    };
    Some(lines.lines().map(set).collect())
}

/// All rows in shuffled order, so that rows of one key are far apart.
fn table(sets: &Sets) -> String {
    let mut rows: Vec<(usize, &str, &str)> = Vec::new();
    for (key, items) in sets {
        rows.extend(items.iter().enumerate().map(|(at, item)| (at, key.as_str(), item.as_str())));
    }
    rows.sort_unstable();
    let mut table = String::from("set\titem\n");
    for (_, key, item) in rows {
        writeln!(table, "{key}\t{item}").unwrap();
    }
    table
}

fn dual(sets: &Sets) -> Sets {
    let mut dual = Sets::new();
    for (key, items) in sets {
        for item in items {
            dual.entry(item.clone()).or_default().insert(key.clone());
        }
    }
    dual
}

/// All pairs whose exact Jaccard similarity is at least `least` (above 0). Brute force: counts the
/// shared items of every two sets that have one in common.
fn exact(sets: &Sets, least: f64) -> BTreeMap<(String, String), f64> {
    let all: Vec<_> = sets.iter().collect();
    let mut holders: BTreeMap<&str, Vec<usize>> = BTreeMap::new();
    for (at, (_, items)) in all.iter().enumerate() {
        items.iter().for_each(|item| holders.entry(item).or_default().push(at));
    }
    let mut pairs = BTreeMap::new();
    let mut shared = vec![0_usize; all.len()];
    for (at, (key, items)) in all.iter().enumerate() {
        let mut touched = Vec::new();
        for other in items.iter().flat_map(|item| &holders[item.as_str()]) {
            if *other > at {
                if shared[*other] == 0 {
                    touched.push(*other);
                }
                shared[*other] += 1;
            }
        }
        for other in touched {
            let both = std::mem::take(&mut shared[other]);
            let jaccard = both as f64 / (items.len() + all[other].1.len() - both) as f64;
            if jaccard >= least {
                pairs.insert(((*key).clone(), all[other].0.clone()), jaccard);
            }
        }
    }
    pairs
}

/// Checks what was found: every estimate is within five standard errors of the exact value, and at
/// least 95 % of the pairs that are two standard errors or more above the threshold are found.
#[expect(clippy::print_stdout, reason = "figures are for people")]
fn compare(found: &BTreeMap<(String, String), f64>, sets: &Sets, threshold: f64, what: &str) {
    let error = |jaccard: f64| (jaccard * (1.0 - jaccard) / 128.0).sqrt();
    for ((a, b), estimate) in found {
        let both = sets[a].intersection(&sets[b]).count();
        let jaccard = both as f64 / (sets[a].len() + sets[b].len() - both) as f64;
        let off = (estimate - jaccard).abs() / error(jaccard).max(0.005);
        assert!(off <= 5.0, "{what}: {a} and {b}: {estimate} for {jaccard}, {off} errors");
    }
    let clear = exact(sets, threshold + 2.0 * error(threshold));
    let hits = clear.keys().filter(|pair| found.contains_key(*pair)).count();
    println!("{what}: {} pairs, {hits} of {} clear ones", found.len(), clear.len());
    assert!(clear.len() >= 20, "{what}: enough to say something");
    assert!(hits as f64 >= 0.95 * clear.len() as f64, "{what}: {hits} of {}", clear.len());
}

fn check(name: &str, sets: &Sets, threshold: f64) {
    let scratch = Scratch::new();
    scratch.write("t.tsv", table(sets));
    let add = format!("add i --transactions t.tsv --columns set,item --threshold {threshold}");
    let ran = scratch.ok(&add);
    let documents = ran.stdout.split(" document").next().unwrap().replace(',', "");
    assert_eq!(documents, sets.len().to_string(), "{name}");
    compare(&pairs(&scratch, "i", threshold), sets, threshold, name);
    let dual = dual(sets);
    scratch.ok(&(add.replace("add i", "add j") + " --transpose"));
    compare(&pairs(&scratch, "j", threshold), &dual, threshold, &format!("dual of {name}"));
}

#[test]
fn packages_by_dependencies_and_the_other_way_round() {
    let Some(sets) = corpus("debian_depends") else { return };
    // An eighth of the corpus: the whole corpus takes minutes in a debug build.
    let some = sets.into_iter().enumerate().filter(|(at, _)| at % 8 == 0).map(|(_, set)| set);
    check("debian_depends", &some.collect(), 0.6);
}

#[test]
fn baskets_by_their_products_and_the_other_way_round() {
    let Some(sets) = corpus("retail") else { return };
    let some = sets.into_iter().enumerate().filter(|(at, _)| at % 4 == 0).map(|(_, set)| set);
    check("retail", &some.collect(), 0.5);
}
