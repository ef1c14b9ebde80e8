//! Files in many encodings and formats, made by Python: each text is found, or named as not read.

use super::*;

#[test]
fn texts_are_found_in_every_encoding_or_named() {
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("../benches/encodings/compare.py");
    let python = Command::new("python3").arg("--version").output();
    if !script.exists() || !python.is_ok_and(|output| output.status.success()) {
        println!("SKIPPED: this test needs python3, and benches/encodings of the repository");
        return;
    }
    let mut compare = Command::new("python3");
    compare.arg(script).arg(env!("CARGO_BIN_EXE_nearkin")).arg("--small");
    let output = compare.output().unwrap();
    let [table, notes] = [&output.stdout, &output.stderr].map(|text| String::from_utf8_lossy(text));
    println!("{notes}{table}");
    assert!(output.status.success(), "a text is another one than the file holds");
    assert!(table.contains("| all |"), "the table is whole");
}

#[test]
fn doubtful_files_are_counted_and_named() {
    let scratch = Scratch::new();
    fs::create_dir(scratch.path("d")).unwrap();
    let russian = "\u{43c}\u{438}\u{440} \u{438} \u{442}\u{440}\u{443}\u{434}. ";
    let (mut old, mut bad) = (Vec::new(), russian.repeat(9).into_bytes());
    // KOI8-R.
    for _ in 0..9 {
        old.extend_from_slice(b"\xcd\xc9\xd2 \xc9 \xd4\xd2\xd5\xc4. ");
    }
    bad.truncate(bad.len() - 3);
    scratch.write("d/old.txt", old);
    scratch.write("d/bad.txt", bad);
    scratch.write("d/rows.jsonl", "{\"id\":1,\"text\":\"a b c\"}\n{\"id\":2,\"text\":\"a b d\"}\n");
    let added = scratch.ok("add i.nearkin d --json -v");
    let found = scratch.ok("dups d --no-cache --json").objects();
    for counts in [&added.objects()[0], found.last().unwrap()] {
        for name in ["guessed_encoding", "replaced_bytes", "many_documents"] {
            assert_eq!(counts[name], 1, "{counts}");
        }
    }
    for note in [
        "d/old.txt: guessed: KOI8",
        "d/bad.txt: UTF-8, an invalid byte at ",
        "d/rows.jsonl holds many documents (lines of JSON)",
        "nearkin add INDEX --jsonl d/rows.jsonl",
        "1 text in a guessed encoding, 1 text with invalid bytes replaced",
    ] {
        assert!(slashes(&added.stderr).contains(note), "{note}: {}", added.stderr);
    }
    let found = scratch.ok("query i.nearkin d/old.txt --limit 5 --json").objects();
    let keys: Vec<_> = found.iter().map(|found| found["key"].as_str().unwrap()).collect();
    assert_eq!(keys, ["d/old.txt", "d/bad.txt"]);
    // The same bytes in a wrong encoding, because the user says so.
    let wrong = "query i.nearkin d/old.txt --encoding windows-1251 --json";
    assert!(scratch.ok(wrong).objects().is_empty());
    let unknown = scratch.run("add i.nearkin d --encoding klingon").ends_with(2);
    assert!(unknown.stderr.contains("unknown encoding"), "{}", unknown.stderr);
}
