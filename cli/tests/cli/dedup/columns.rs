//! Fields that decide which row stays (`--keep-by`), and columns that say which rows belong
//! together (`--cluster-field`).

use super::*;

/// Twenty texts, each three times, with values of a field.
fn rows(value: impl Fn(u32) -> Value) -> Vec<Value> {
    let row = |n: u32| {
        let text = words(100 * (n % 20), 100 * (n % 20) + 30);
        serde_json::json!({"id": n, "text": text, "at": {"v": value(n)}, "v": value(n)})
    };
    (0..60).map(row).collect()
}

fn lines(rows: &[Value]) -> String {
    rows.iter().map(|row| format!("{row}\n")).collect::<Vec<_>>().concat()
}

/// The ids that stay, by brute force: of each text, the first one that no other one `beats`.
fn kept(rows: &[Value], beats: impl Fn(&Value, &Value) -> bool) -> BTreeSet<u64> {
    let best = |text: u64| {
        let same = (0..60).filter(|n| n % 20 == text).map(|n| &rows[usize::try_from(n).unwrap()]);
        let best = same.reduce(|best, row| if beats(&row["v"], &best["v"]) { row } else { best });
        best.unwrap()["id"].as_u64().unwrap()
    };
    (0..20).map(best).collect()
}

fn ids(text: &str) -> BTreeSet<u64> {
    objects(text).iter().map(|row| row["id"].as_u64().unwrap()).collect()
}

#[test]
fn the_row_with_the_greatest_value_stays() {
    let scratch = Scratch::new();
    let number = |n: u32| Value::from((n * 7_919) % 13 * 9);
    let date = |n: u32| Value::from(format!("2024-{:02}-{:02}", n * 7 % 12 + 1, n * 5 % 28 + 1));
    let numbers = rows(number);
    scratch.write("n.jsonl", lines(&numbers));
    let as_u64 = |value: &Value| value.as_u64().unwrap();
    scratch.ok("dedup n.jsonl --out o.jsonl --keep-by at.v --json").has("kept", 20);
    let expected = kept(&numbers, |one, other| as_u64(one) > as_u64(other));
    assert_eq!(ids(&text(&scratch, "o.jsonl")), expected);
    scratch.ok("dedup n.jsonl --out l.jsonl --keep-by v --least");
    let least = kept(&numbers, |one, other| as_u64(one) < as_u64(other));
    assert_eq!(ids(&text(&scratch, "l.jsonl")), least);
    assert_ne!(expected, least);
    // Numbers of a table are cells, and are compared as numbers all the same.
    let cells = |row: &Value| format!("{},{},{}\n", row["id"], row["text"], row["v"]);
    let table: String = numbers.iter().map(cells).collect();
    scratch.write("n.csv", format!("id,text,v\n{table}"));
    scratch.ok("dedup n.csv --out c.jsonl --keep-by v");
    let found = objects(&text(&scratch, "c.jsonl"));
    let found: BTreeSet<u64> =
        found.iter().map(|row| row["id"].as_str().unwrap().parse().unwrap()).collect();
    assert_eq!(found, expected);
    let dates = rows(date);
    scratch.write("dates.jsonl", lines(&dates));
    for how in ["", " --estimate", " --exact"] {
        scratch.ok(&format!("dedup dates.jsonl --out d{}.jsonl --keep-by v{how}", how.trim()));
        let expected = kept(&dates, |one, other| one.as_str() > other.as_str());
        assert_eq!(ids(&text(&scratch, &format!("d{}.jsonl", how.trim()))), expected, "{how}");
    }
    // Rows without a value come last; a field that no row has is a mistake.
    let some = rows(|n| if n < 40 { Value::Null } else { number(n) });
    scratch.write("s.jsonl", lines(&some));
    scratch.ok("dedup s.jsonl --out s-out.jsonl --keep-by v");
    assert_eq!(ids(&text(&scratch, "s-out.jsonl")), (40..60).collect());
    scratch.fails("dedup n.jsonl --out x.jsonl --keep-by w", &["no line has", "\"w\""]);
    scratch.fails("dedup n.csv --out x.jsonl --keep-by w", &["no column \"w\""]);
    assert!(!scratch.path("x.jsonl").exists());
}

#[test]
fn clusters_are_columns_of_the_output() {
    let scratch = Scratch::new();
    let rows = rows(Into::into);
    scratch.write("r.jsonl", lines(&rows[..50]) + "{\"id\":99,\"text\":null}\n");
    scratch.ok("dedup r.jsonl --out o.jsonl --keep-by v --cluster-field group --json");
    let kept = objects(&text(&scratch, "o.jsonl"));
    let dropped = objects(&text(&scratch, "o.jsonl.dropped.jsonl"));
    assert_eq!((kept.len(), dropped.len()), (21, 30));
    let mut sizes = BTreeMap::new();
    for row in &kept {
        // The number of a cluster is that of its kept row, counted from 1.
        let number = row["group"].as_u64().unwrap();
        let id = row["id"].as_u64().unwrap();
        assert_eq!(number, if id == 99 { 51 } else { id + 1 });
        sizes.insert(number, row["group_size"].as_u64().unwrap());
        if id != 99 {
            assert_eq!(row["text"], rows[usize::try_from(id).unwrap()]["text"]);
        }
    }
    for row in &dropped {
        let number = row["cluster"].as_u64().unwrap();
        assert_eq!(
            (&row["of_line"], &row["cluster_size"]),
            (&number.into(), &sizes[&number].into())
        );
    }
    assert_eq!(sizes.values().sum::<u64>(), 51);
    // A table has them as its last columns.
    scratch.write(
        "t.csv",
        "id;text\n1;one two three four\n2;other words are here\n3;one two three four",
    );
    scratch.ok("dedup t.csv --out o.csv --cluster-field cluster");
    let expected =
        "id;text;cluster;cluster_size\n1;one two three four;1;2\n2;other words are here;2;1\n";
    assert_eq!(text(&scratch, "o.csv"), expected);
    scratch.fails(
        "dedup o.csv --out p.csv --cluster-field cluster",
        &["a field cluster", "--cluster-field"],
    );
    scratch.fails("dedup r.jsonl --out p.jsonl --cluster-field text", &["a field text"]);
    assert!(!scratch.path("p.jsonl.nearkin-work").exists(), "the same command fails again");
    scratch.fails("dedup r.jsonl --out p.jsonl --cluster-field a;b", &["no name of a column"]);
}
