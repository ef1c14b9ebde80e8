//! Compressed, damaged and Parquet input; and resuming an interrupted `add`.

use super::*;

use std::time::{Duration, Instant};

fn line(id: usize) -> String {
    format!("{{\"id\":\"k{id}\",\"text\":\"text number {id} of {} and of others\"}}\n", id * id)
}

fn lines(count: usize) -> String {
    (0..count).map(line).collect()
}

/// Compresses `plain` with `nearkin dedup`, which drops nothing here, and ends a gzip member or
/// Zstandard frame after every MiB of lines.
fn pack(scratch: &Scratch, plain: &str, packed: &str) {
    let arguments = format!("dedup {plain} --out {packed} --threshold 1 --hashes 512");
    scratch.ok(&arguments);
}

fn inserted(ran: &Ran) -> u64 {
    ran.objects()[0]["inserted"].as_u64().unwrap()
}

#[test]
fn packed_lines_are_read_wherever_lines_are() {
    let scratch = Scratch::new();
    scratch.write("l.jsonl", lines(300));
    for packed in ["l.jsonl.gz", "l.jsonl.zst"] {
        pack(&scratch, "l.jsonl", packed);
        let bytes = fs::read(scratch.path(packed)).unwrap();
        let index = format!("i-{packed}");
        // The format is recognised without a file name ending, and all members or frames are read:
        // this file has the data twice.
        scratch.write("unnamed", [bytes.clone(), bytes.clone()].concat());
        let ran = scratch.ok(&format!("add {index} --jsonl unnamed --json"));
        assert_eq!(inserted(&ran), 300);
        let ran = scratch.run_with_stdin(&format!("add {index} --jsonl - --json"), &bytes);
        assert_eq!(ran.ends_with(0).objects()[0]["unchanged"], 300);
        let ran = scratch.run(&format!("query {index} --jsonl {packed} --limit 1 --json"));
        assert_eq!(ran.ends_with(0).objects().len(), 300);
        let ran = scratch.run(&format!("query {index} --key k7 --exact --from {packed} --json"));
        ran.ends_with(0);
        scratch
            .write("two.jsonl", "{\"id\":\"k7\",\"text\":\"text number 7 of 49 and of others\"}");
        let ran = scratch.run(&format!(
            "query {index} --jsonl two.jsonl --limit 1 --threshold 1 --exact --from {packed} --json"
        ));
        assert_eq!(ran.ends_with(0).objects()[0]["exact"], 1.0);
    }
    scratch.ok("export i-l.jsonl.gz --out e.jsonl");
    let export = fs::read(scratch.path("e.jsonl")).unwrap();
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::fast());
    encoder.write_all(&export).unwrap();
    scratch.write("e.jsonl.gz", encoder.finish().unwrap());
    assert_eq!(inserted(&scratch.ok("import j e.jsonl.gz --json")), 300);
}

#[test]
fn damaged_compression_names_file_and_line() {
    let scratch = Scratch::new();
    scratch.write("l.jsonl", lines(300));
    for (at, packed) in ["l.jsonl.gz", "l.jsonl.zst"].into_iter().enumerate() {
        pack(&scratch, "l.jsonl", packed);
        let bytes = fs::read(scratch.path(packed)).unwrap();
        let whole = bytes.len();
        let name = |kind: &str| format!("{kind}-{packed}");
        // The file has one complete member and a truncated one.
        scratch.write(&name("cut"), [&bytes[..], &bytes[..whole / 2]].concat());
        scratch.write(&name("more"), [&bytes[..], b"garbage"].concat());
        scratch.write(&name("false"), "{}\n");
        for (kind, said) in [("cut", "is truncated"), ("more", "extra bytes follow")] {
            let ran = scratch.run(&format!("add {kind}{at} --jsonl {}", name(kind))).ends_with(2);
            ran.says(&[said, &name(kind), "after line ", "stored before that: 300 documents"]);
            scratch.ok(&format!("stats {kind}{at} --json")).has("documents", 300);
        }
        scratch.run(&format!("add x --jsonl {}", name("false"))).ends_with(2).says(&["its name"]);
    }
}

#[test]
fn strict_stops_at_the_first_bad_line() {
    let scratch = Scratch::new();
    scratch.write("l", line(1) + "garbage\n" + &line(2));
    scratch
        .run("add i --jsonl l --strict")
        .ends_with(2)
        .says(&["--strict: stopped at l line 2: bad line", "stored before that: 1 document"]);
    let ran = scratch.fails("query i --jsonl l --strict --json", &["l line 2"]);
    assert_eq!(ran.objects().len(), 1);
    let ran = scratch.fails("admit j --jsonl l --strict --json", &["l line 2"]);
    assert_eq!(ran.objects().len(), 1);
    scratch.fails("add p --jsonl l --strict --passages 4:2", &["l line 2"]);
    scratch.write("docs/blank.txt", " ");
    scratch.fails("add i docs --strict", &["stopped at docs/blank.txt: empty"]);
}

#[cfg(feature = "parquet")]
#[test]
fn rows_of_parquet_are_lines() {
    let scratch = Scratch::new();
    scratch.write("l.jsonl", lines(300));
    scratch.ok("add i --jsonl l.jsonl");
    scratch.ok("export i --out e.parquet");
    let fields = "--key-field key --text-field key";
    let ran = scratch.ok(&format!("add j --parquet e.parquet {fields} --json"));
    assert_eq!(inserted(&ran), 300);
    scratch.ok(&format!("add j --jsonl e.parquet {fields} --json")).has("unchanged", 300);
    scratch.fails("add j --parquet e.parquet", &["no column \"id\"", "payload"]);
    let ran = scratch.run(&format!("dedup e.parquet {fields} --out o.jsonl")).ends_with(2);
    ran.says(&["cannot hold all columns of e.parquet: key, payload, signature"]);
    scratch.ok(&format!("dedup e.parquet {fields} --out o.parquet --json")).has("read", 300);
    scratch.ok("import l o.parquet");
    let bytes = fs::read(scratch.path("e.parquet")).unwrap();
    scratch.write("cut.parquet", &bytes[..bytes.len() / 2]);
    scratch.fails(&format!("add k --parquet cut.parquet {fields}"), &["cut"]);
    scratch.run_with_stdin("add k --jsonl -", &bytes).ends_with(2).says(&["Parquet"]);
}

#[cfg(feature = "parquet")]
#[test]
fn columns_of_parquet_may_be_packed() {
    let scratch = Scratch::new();
    for packing in ["zstd", "gzip"] {
        let file = data(&format!("rows.{packing}.parquet")).display().to_string();
        let ran = scratch.ok(&format!("add {packing} --parquet {file} --json"));
        assert_eq!(inserted(&ran), 3, "{packing}");
    }
    let refused = format!("add brotli --parquet {}", data("rows.brotli.parquet").display());
    scratch.fails(&refused, &["brotli", "Zstandard"]);
}

/// Runs `add`, and kills it after its first checkpoint.
fn killed(scratch: &Scratch, file: &str) {
    let mut command = scratch.command(&["add", "i", "--jsonl", file]);
    let mut child = command.stdout(Stdio::null()).stderr(Stdio::null()).spawn().unwrap();
    let started = Instant::now();
    while !scratch.path("i/adding").exists() {
        assert!(started.elapsed() < Duration::from_secs(60), "it notes nothing");
        assert!(child.try_wait().unwrap().is_none(), "it ends before it is killed");
        std::thread::sleep(Duration::from_millis(1));
    }
    child.kill().unwrap();
    child.wait().unwrap();
}

#[test]
fn adding_goes_on_where_it_was_killed() {
    let scratch = Scratch::new();
    let all = lines(100_000);
    scratch.write("l.jsonl", &all);
    scratch.write("m.jsonl", line(100_001));
    pack(&scratch, "m.jsonl", "m.jsonl.gz");
    for file in ["l.jsonl", "l.jsonl.zst"] {
        if file != "l.jsonl" {
            scratch.write(file, zstd::encode_all(all.as_bytes(), 1).unwrap());
        }
        killed(&scratch, file);
        // Commands that only read the index ignore the checkpoint.
        for arguments in ["verify i", "stats i", "backup i copy", "stats copy"] {
            scratch.ok(arguments);
        }
        assert!(!scratch.path("copy/adding").exists());
        let ran = scratch.ok(&format!("add i --jsonl {file} --json"));
        let ran = ran.says(&["resuming at line ", file]);
        let counts = &ran.objects()[0];
        let read = inserted(&ran) + counts["unchanged"].as_u64().unwrap();
        assert!(read < 100_000, "{read} lines were read again");
        scratch.ok("stats i --json").has("documents", 100_000);
        assert!(!scratch.path("i/adding").exists());
        for folder in ["i", "copy"] {
            fs::remove_dir_all(scratch.path(folder)).unwrap();
        }
    }
    // Once a file has been added completely, adding it again starts at its beginning.
    killed(&scratch, "l.jsonl");
    fs::remove_dir_all(scratch.path("i")).unwrap();
    scratch.ok("add i --jsonl l.jsonl");
    let ran = scratch.ok("add i --jsonl l.jsonl --json").has("unchanged", 100_000);
    assert_eq!(ran.stderr, "");
}

#[test]
fn a_changed_file_or_index_is_added_from_the_start() {
    let scratch = Scratch::new();
    let all = lines(60_000);
    scratch.write("l.jsonl", &all);
    scratch.ok("create i");
    scratch.ok("backup i empty");
    killed(&scratch, "l.jsonl");
    scratch.write("l.jsonl", all.clone() + &line(60_001));
    let ran = scratch.ok("add i --jsonl l.jsonl --json");
    let ran = ran.says(&["has changed", "from the beginning"]);
    let unchanged = ran.objects()[0]["unchanged"].as_u64().unwrap();
    assert_eq!(inserted(&ran) + unchanged, 60_001);
    assert!(unchanged > 0);
    // A checkpoint lies beside an index that is older than it, and so lacks the documents that the
    // checkpoint lists as added.
    fs::remove_dir_all(scratch.path("i")).unwrap();
    scratch.ok("backup empty i");
    killed(&scratch, "l.jsonl");
    fs::copy(scratch.path("i/adding"), scratch.path("empty/adding")).unwrap();
    let ran = scratch.ok("add empty --jsonl l.jsonl --json");
    let ran = ran.says(&["has changed", "from the beginning"]);
    assert_eq!(inserted(&ran), 60_001);
    // The checkpoint does not apply if the fields or the lines differ.
    scratch.ok("add i --jsonl l.jsonl --text-field id --json").says_not("resuming");
    // An index without its catalog is recognised as damaged, not taken for a new one, although a
    // checkpoint lies in its folder.
    fs::copy(scratch.path("empty/parameters"), scratch.path("i/adding")).unwrap();
    fs::remove_file(scratch.path("i/catalog.redb")).unwrap();
    scratch.fails("add i --jsonl l.jsonl", &["lost its catalog"]);
}
