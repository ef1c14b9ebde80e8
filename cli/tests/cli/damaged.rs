//! Damaged files among good ones: what can be read is taken, and the file is named.

use super::*;

use std::time::{Duration, SystemTime};

fn words(seed: u64, count: u64) -> String {
    let word = |at| spelled((seed * 7_919 + at * at * 104_729) % 9_999_991);
    (0..count).map(word).collect::<Vec<_>>().join(" ")
}

fn line(shard: u64, row: u64) -> String {
    format!("{{\"id\":\"{shard}-{row}\",\"text\":\"{}\"}}\n", words(shard * 1_000 + row, 30))
}

fn lines(shard: u64, rows: u64) -> String {
    (0..rows).map(|row| line(shard, row)).collect()
}

fn gzip(text: &str, level: u32) -> Vec<u8> {
    let mut encoder = flate2::write::GzEncoder::new(Vec::new(), flate2::Compression::new(level));
    encoder.write_all(text.as_bytes()).unwrap();
    encoder.finish().unwrap()
}

/// A frame for every ten lines.
fn zstandard(text: &str) -> Vec<u8> {
    let lines: Vec<_> = text.split_inclusive('\n').collect();
    lines.chunks(10).flat_map(|ten| zstd::encode_all(ten.concat().as_bytes(), 1).unwrap()).collect()
}

fn ids(scratch: &Scratch, name: &str) -> Vec<String> {
    let text = fs::read_to_string(scratch.path(name)).unwrap();
    let id = |line: &str| {
        serde_json::from_str::<Value>(line).unwrap()["id"].as_str().unwrap().to_owned()
    };
    text.lines().map(id).collect()
}

/// Writes eleven shards of 40 lines, of which some are damaged. Returns the ids that can be read,
/// and the damaged shards.
fn shards(scratch: &Scratch) -> (Vec<String>, Vec<&'static str>) {
    let whole = |shard| lines(shard, 40);
    let last = |bytes: Vec<u8>, count: usize| bytes[..bytes.len() - count].to_vec();
    let frames = |shard: u64, tens: usize| {
        let lines = whole(shard);
        let ten: Vec<_> = lines.split_inclusive('\n').take(10 * tens).collect();
        zstandard(&ten.concat())
    };
    let mut checksum = gzip(&whole(4), 6);
    let at = checksum.len() - 7;
    checksum[at] ^= 1;
    // Stored, not compressed: each line is at its place.
    let stored = gzip(&whole(1), 0);
    let cut_at = stored.windows(6).position(|bytes| bytes == b"\"1-25\"").unwrap() + 30;
    for (name, bytes) in [
        ("00.jsonl.gz", gzip(&whole(0), 6)),
        ("01.jsonl.gz", stored[..cut_at].to_vec()),
        ("02.jsonl.zst", last(zstandard(&whole(2)), 5)),
        ("03.jsonl.zst", [frames(3, 2), vec![0; 500]].concat()),
        ("04.jsonl.gz", checksum),
        ("05.jsonl.gz", vec![0; 300]),
        ("06.jsonl.zst", Vec::new()),
        ("07.jsonl.gz", [gzip(&whole(7), 6), b"garbage".to_vec()].concat()),
        ("08.jsonl.gz", [gzip(&whole(8), 6), vec![0; 700]].concat()),
        ("09.jsonl", Vec::new()),
        ("10.jsonl", whole(10).into_bytes()),
    ] {
        scratch.write(&format!("in/{name}"), bytes);
    }
    let readable = [(0, 40), (1, 25), (2, 30), (3, 20), (4, 40), (7, 40), (8, 40), (10, 40)];
    let id = |(shard, rows): (u64, u64)| (0..rows).map(move |row| format!("{shard}-{row}"));
    let damaged = vec![
        "01.jsonl.gz",
        "02.jsonl.zst",
        "03.jsonl.zst",
        "04.jsonl.gz",
        "05.jsonl.gz",
        "06.jsonl.zst",
        "07.jsonl.gz",
    ];
    (readable.into_iter().flat_map(id).collect(), damaged)
}

#[test]
fn what_stands_before_the_damage_is_taken_and_the_shard_named() {
    let scratch = Scratch::new();
    let (readable, damaged) = shards(&scratch);
    let ran = scratch.run("dedup in --out o.jsonl --lenient --json").ends_with(3);
    assert_eq!(ids(&scratch, "o.jsonl"), readable);
    let named = damaged.iter().filter(|name| ran.stderr.contains(&format!("{name} from line ")));
    assert_eq!(named.count(), damaged.len(), "{}", ran.stderr);
    let ran = ran.says(&[
        "01.jsonl.gz from line 26 on: damaged file (the gzip data is truncated)",
        "7 damaged files could not be read to the end (status 3)",
    ]);
    assert_eq!(ran.stderr.matches("damaged file (").count(), damaged.len(), "{}", ran.stderr);
    let counts = &ran.objects()[0];
    let count = |name: &str| counts[name].as_u64().unwrap();
    assert_eq!((count("kept"), count("skipped")), (readable.len() as u64, 7));
    assert_eq!(count("bytes_read"), count("bytes_kept"));
    let why = fs::read_to_string(scratch.path("o.jsonl.dropped.jsonl")).unwrap();
    assert!(why.lines().all(|line| line.contains("\"damaged file\"") && !line.contains("row")));
    // The same holds wherever lines are read; without the option, the first such shard is an error.
    let all = fs::read_dir(scratch.path("in")).unwrap().count();
    assert_eq!(all, 11);
    for command in ["add i", "admit j", "query i", "tune", "dedup"] {
        let (given, out) =
            if command == "dedup" { ("in", " --out p.jsonl") } else { ("--jsonl in", "") };
        let run = |rest: &str| scratch.run(&format!("{command} {given}{out}{rest}"));
        run(" --lenient").ends_with(3).says(&["7 damaged files could not be read to the end"]);
        let ran = run("").ends_with(2);
        ran.says(&["01.jsonl.gz after line 25: the gzip data is truncated", "--lenient"]);
    }
    scratch.ok("stats i --json").has("documents", readable.len() as u64);
    scratch.fails("dedup in/00.jsonl.gz in/11.jsonl --out q.jsonl --lenient", &["11.jsonl"]);
    let cut = fs::read(scratch.path("in/01.jsonl.gz")).unwrap();
    let ran = scratch.run_with_stdin("dedup - --out s.jsonl --lenient --json", &cut).ends_with(3);
    ran.says(&["stdin from line 26 on: damaged file"]).has("kept", 25);
    let ran = scratch.run_with_stdin("dedup - --out t.jsonl", &cut).ends_with(2);
    ran.says(&["stdin after line 25: the gzip data is truncated", "before that: 25 lines read"]);
    let ran = scratch.run_with_stdin("dedup - --out t.jsonl", b"PK\x03\x04").ends_with(2);
    ran.says(&["cannot read stdin: it is a zip archive"]);
}

#[test]
fn tables_end_with_their_last_whole_row() {
    let scratch = Scratch::new();
    let table = |shard: u64| {
        let row = |row| format!("{shard}-{row},\"{}\"\n", words(shard * 1_000 + row, 20));
        "id,text\n".to_owned() + &(0..30).map(row).collect::<String>()
    };
    let stored = gzip(&table(2), 0);
    let at = stored.windows(4).position(|bytes| bytes == b"2-9,").unwrap();
    // Cut in a cell, in the last row, and in the header.
    scratch.write("1.csv.gz", gzip(&table(1), 6));
    scratch.write("2.csv.gz", &stored[..at + 40]);
    let whole = gzip(&table(3), 0);
    scratch.write("3.csv.gz", &whole[..whole.len() - 9]);
    scratch.write("4.csv.gz", &gzip(&table(4), 0)[..20]);
    scratch.write("5.csv", table(5));
    let files = "4.csv.gz 1.csv.gz 2.csv.gz 3.csv.gz 5.csv";
    let first =
        |table: &str, rows| table.split_inclusive('\n').skip(1).take(rows).collect::<String>();
    let expected = "id,text\n".to_owned()
        + &first(&table(1), 30)
        + &first(&table(2), 9)
        + &first(&table(3), 29)
        + &first(&table(5), 30);
    let ran = scratch.run(&format!("dedup {files} --out o.csv --lenient --json")).ends_with(3);
    let ran = ran.says(&["2.csv.gz from line 11 on", "4.csv.gz from line 1 on", "3 damaged files"]);
    assert_eq!(ran.objects()[0]["kept"], 98);
    assert!(fs::read_to_string(scratch.path("o.csv")).unwrap() == expected);
    scratch.run(&format!("dedup {files} --out o.jsonl --lenient")).ends_with(3);
    assert_eq!(ids(&scratch, "o.jsonl").len(), 98);
    scratch.fails("dedup 1.csv.gz 2.csv.gz --out p.csv", &["2.csv.gz", "truncated", "--lenient"]);
}

#[cfg(feature = "parquet")]
#[test]
fn rows_of_damaged_parquet_files_are_copied_up_to_the_damage() {
    let scratch = Scratch::new();
    scratch.write("a.jsonl", lines(1, 300));
    scratch.write("b.jsonl", lines(2, 300));
    for name in ["a", "b"] {
        scratch.ok(&format!("add {name} --jsonl {name}.jsonl"));
        scratch.ok(&format!("export {name} --out {name}.parquet"));
    }
    let bytes = fs::read(scratch.path("a.parquet")).unwrap();
    scratch.write("cut.parquet", &bytes[..bytes.len() / 2]);
    // The column of signatures is not compared, and JSON cannot hold it. Its page has 38,400 bytes,
    // as the header says.
    let mut wrong = bytes;
    let size = [0x15, 0x80, 0xd8, 0x04];
    let at = wrong.windows(4).position(|bytes| bytes == size).unwrap();
    wrong[at..at + 16].fill(0xff);
    scratch.write("wrong.parquet", wrong);
    let fields = "--key-field key --text-field key";
    scratch.ok(&format!("add m --parquet wrong.parquet {fields} --json")).has("inserted", 300);
    for files in ["cut.parquet b.parquet", "b.parquet cut.parquet"] {
        let command = format!("dedup {files} --out o.parquet {fields} --lenient --json");
        let ran = scratch.run(&command).ends_with(3);
        let ran = ran.says(&["cut.parquet from line 1 on: damaged file", "1 damaged file"]);
        assert_eq!(ran.objects()[0]["kept"], 300, "{files}");
        scratch
            .ok("add n --parquet o.parquet --key-field key --text-field key --json")
            .has("skipped", 0);
    }
    let command =
        format!("dedup wrong.parquet b.parquet --out o.parquet {fields} --lenient --json");
    let ran = scratch.run(&command).ends_with(3);
    let ran = ran.says(&["wrong.parquet from line "]);
    let kept = ran.objects()[0]["kept"].as_u64().unwrap();
    assert!(kept < 600, "{kept}");
    let again = format!("dedup o.parquet --out p.parquet {fields} --json");
    assert_eq!(scratch.ok(&again).objects()[0]["read"], kept);
}

#[test]
fn when_a_shard_was_repaired_the_run_goes_on() {
    let scratch = Scratch::new();
    let whole: Vec<_> = (0..4).map(|shard| gzip(&lines(shard, 300), 6)).collect();
    let write = |shard: usize, bytes: &[u8]| scratch.write(&format!("{shard}.jsonl.gz"), bytes);
    for (shard, bytes) in whole.iter().enumerate() {
        write(shard, bytes);
    }
    let files = "0.jsonl.gz 1.jsonl.gz 2.jsonl.gz 3.jsonl.gz";
    scratch.ok(&format!("dedup {files} --out expected.jsonl"));
    let command = format!("dedup {files} --out o.jsonl");
    for bad in [&whole[2][..whole[2].len() / 2], b"\0\0"] {
        write(2, bad);
        let ran = scratch.run(&command).ends_with(2);
        let says = "when the file is whole again, the same command continues";
        ran.says(&["2.jsonl.gz", "lines read; all progress is stored", says, "--lenient"]);
        write(2, &whole[2]);
        let ran = scratch.ok(&format!("{command} --json"));
        ran.says(&["continuing the run", "2.jsonl.gz has changed since"]).has("read", 1_200);
        let [out, expected] =
            ["o.jsonl", "expected.jsonl"].map(|name| fs::read(scratch.path(name)).unwrap());
        assert!(out == expected);
    }
    // A file before the last one that was read: nothing of the run can be used.
    write(2, b"\0\0");
    scratch.run(&command).ends_with(2);
    write(2, &whole[2]);
    write(0, &gzip(&lines(0, 100), 6));
    scratch.ok(&format!("{command} --json")).says(&["starting from the beginning"]);
}

#[test]
fn a_shard_that_was_repaired_between_two_passes_is_noticed() {
    let scratch = Scratch::new();
    // Larger than what is hashed of a file to recognise it.
    let whole = gzip(&lines(1, 600), 0);
    let mut wrong = whole.clone();
    let at = wrong.len() - 7;
    wrong[at] ^= 1;
    let at = SystemTime::UNIX_EPOCH + Duration::from_secs(1_000_000_000);
    let write = |bytes: &[u8]| {
        scratch.write("1.jsonl.gz", bytes);
        let file = fs::File::options().write(true).open(scratch.path("1.jsonl.gz")).unwrap();
        file.set_modified(at).unwrap();
    };
    for [first, then] in [[&wrong, &whole], [&whole, &wrong]] {
        write(first);
        // The last pass cannot write.
        fs::create_dir(scratch.path("o.jsonl.nearkin-tmp")).unwrap();
        let command = "dedup 1.jsonl.gz --out o.jsonl --lenient";
        scratch.run(command).ends_with(2).says(&["cannot write", "the same command continues"]);
        fs::remove_dir(scratch.path("o.jsonl.nearkin-tmp")).unwrap();
        write(then);
        let ran = scratch.run(command).ends_with(2);
        ran.says(&["continuing", "the input changed while it was read", "from the beginning"]);
        assert!(!scratch.path("o.jsonl").exists());
        let ran = scratch.run(&format!("{command} --json"));
        assert_eq!(ran.objects()[0]["kept"], 600);
        for name in ["o.jsonl", "o.jsonl.dropped.jsonl"] {
            fs::remove_file(scratch.path(name)).unwrap();
        }
    }
}

#[test]
fn adding_goes_on_behind_a_damaged_shard() {
    let scratch = Scratch::new();
    let whole: Vec<_> = (0..3).map(|shard| gzip(&lines(shard, 5_000), 1)).collect();
    for (shard, bytes) in whole.iter().enumerate() {
        scratch.write(&format!("{shard}.gz"), bytes);
    }
    scratch.write("1.gz", &whole[1][..whole[1].len() / 2]);
    let command = "add i --jsonl 0.gz --jsonl 1.gz --jsonl 2.gz";
    scratch.run(command).ends_with(2).says(&["1.gz", "truncated", "--lenient"]);
    scratch.write("1.gz", &whole[1]);
    scratch.ok(&format!("{command} --json")).says(&["resuming at line 1 of 1.gz"]);
    scratch.ok("stats i --json").has("documents", 15_000);
    // Rows of another encoding are other rows: those that were read are read again.
    scratch.write("1.gz", &whole[1][..whole[1].len() / 2]);
    scratch.run(&format!("{command} --encoding windows-1252")).ends_with(2);
    scratch.write("1.gz", &whole[1]);
    let again = scratch.ok(&format!("{command} --encoding windows-1251 --json"));
    again.says_not("resuming").has("unchanged", 15_000);
}

#[test]
fn sets_and_lines_that_are_read_again_have_what_stands_before_the_damage() {
    let scratch = Scratch::new();
    let row = |row: u64| format!("u{},f{}\n", row / 10, spelled(row));
    let rows = (0..4_000).map(row).collect::<Vec<_>>().concat();
    let packed = gzip(&format!("user,film\n{rows}"), 1);
    scratch.write("t.csv.gz", &packed[..packed.len() / 2]);
    let command = "add t --transactions t.csv.gz --columns user,film --json";
    scratch.run(command).ends_with(2).says(&["t.csv.gz after line", "truncated", "--lenient"]);
    let ran = scratch.run(&format!("{command} --lenient")).ends_with(3);
    let ran =
        ran.says(&["skipped t.csv.gz from line", "damaged file (the gzip data is truncated)"]);
    let sets = ran.objects()[0]["inserted"].as_u64().unwrap();
    assert!((100..300).contains(&sets), "{sets}");

    let all = lines(1, 400);
    let packed = gzip(&all, 0);
    scratch.write("l.jsonl", &all);
    scratch.write("l.jsonl.gz", &packed[..packed.len() / 2]);
    scratch.ok("add i --jsonl l.jsonl");
    let query = "query i --jsonl l.jsonl --limit 1 --exact --from l.jsonl.gz --json";
    scratch.run(query).ends_with(2).says(&["l.jsonl.gz", "truncated"]);
    let ran = scratch.run(&format!("{query} --from-lenient")).ends_with(3);
    let ran = ran.says(&["skipped l.jsonl.gz from line", "damaged file"]);
    let found = ran.objects();
    let read = found.iter().filter(|one| one["exact"] == 1.0).count();
    let missing = found.iter().filter(|one| one["missing"] == true).count();
    assert!((150..250).contains(&read) && read + missing == 400, "{read} {missing}");
}

#[test]
fn windows_above_the_limit_need_an_option() {
    let scratch = Scratch::new();
    let mut encoder = zstd::Encoder::new(Vec::new(), 1).unwrap();
    encoder.window_log(28).unwrap();
    encoder.write_all(lines(1, 10).as_bytes()).unwrap();
    scratch.write("w.jsonl.zst", encoder.finish().unwrap());
    scratch.fails("dedup w.jsonl.zst --out o.jsonl", &["128.0 MiB", "--zstd-window 2G"]);
    scratch.ok("dedup w.jsonl.zst --out o.jsonl --zstd-window 256M --json").has("read", 10);
    scratch.fails("dedup w.jsonl.zst --out p.jsonl --zstd-window 1M", &["1.0 MiB"]);
}
