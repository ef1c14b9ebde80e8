//! `nearkin dedup` reads tables and JSON lines as other programs do, or refuses them: compared with
//! Python's csv and json, and with polars and DuckDB if Python has them, on made files
//! (`tests/oracle/tables.py`).

use super::*;

/// Files made in a normal run. NEARKIN_PEER_FILES is for longer ones, NEARKIN_SEED for others.
const FILES: &str = "300";

#[test]
fn made_files_are_read_as_other_programs_read_them() {
    let var = |name: &str, usual: &str| std::env::var(name).unwrap_or_else(|_| usual.to_owned());
    let python = var("NEARKIN_PYTHON", "python3");
    let found = Command::new(&python).args(["-c", "import csv, json"]).output();
    if !found.is_ok_and(|output| output.status.success()) {
        println!("SKIPPED: no {python}; NEARKIN_PYTHON may name it");
        return;
    }
    let (seed, files) = (var("NEARKIN_SEED", "1"), var("NEARKIN_PEER_FILES", FILES));
    println!("NEARKIN_SEED={seed} NEARKIN_PEER_FILES={files}");
    let scratch = Scratch::new();
    let script = Path::new(env!("CARGO_MANIFEST_DIR")).join("tests/oracle/tables.py");
    let run_script = |arguments: &[&str]| {
        let mut command = Command::new(&python);
        command.arg(&script).args(arguments).current_dir(scratch.path(""));
        Ran::new(command.output().unwrap())
    };
    run_script(&["make", ".", &seed, &files]).ends_with(0);
    for case in text(&scratch, "cases.txt").lines() {
        let mut arguments = case.split('\t');
        let name = arguments.next().unwrap();
        let out = format!("{name}.out.jsonl");
        let fixed = ["dedup", name, "--out", &out, "--exact", "--threshold", "1"];
        let ran = scratch.run_split(&fixed.into_iter().chain(arguments).collect::<Vec<_>>());
        scratch.write(&format!("{name}.status"), ran.status.to_string());
    }
    let checked = run_script(&["check", "."]);
    println!("{}", checked.stdout);
    checked.ends_with(0);
}
