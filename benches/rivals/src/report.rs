//! The results of all stages as Markdown tables, to be copied into docs/reports/BENCHMARKS.md.

use crate::options::{Options, STAGES};
use crate::results::{Result, Results, Row, figure};
use crate::scripts::NATIVE_RESULTS;
use std::fmt::Write;

/// Prints the tables of every stage that has results: who measured, where, and each figure.
pub fn run(options: &Options) -> Result<()> {
    for stage in STAGES.into_iter().chain([NATIVE_RESULTS]) {
        let path = options.results.join(format!("{stage}.tsv"));
        if path.exists() {
            let results = Results::read(&path)?;
            println!("\n# rivals {}\n\n| | |\n|---|---|", results.command);
            for (name, value) in &results.machine {
                println!("| {name} | {value} |");
            }
            print!("{}", tables(&results)?);
        }
    }
    Ok(())
}

/// One table per stage and size: a column per engine, a line per measure.
pub fn tables(results: &Results) -> Result<String> {
    let mut page = String::new();
    let table = |row: &Row| (row.stage.clone(), row.documents);
    for (stage, documents) in distinct(results.rows.iter().map(table)) {
        let of_table = |row: &&Row| row.stage == stage && row.documents == documents;
        let rows: Vec<&Row> = results.rows.iter().filter(of_table).collect();
        let engines = distinct(rows.iter().map(|row| (&row.engine, &row.durability)));
        write!(page, "\n## {stage}, {}\n\n| |", figure(documents as f64))?;
        engines.iter().try_for_each(|(engine, _)| write!(page, " {engine} |"))?;
        write!(page, "\n|---|{}", "---|".repeat(engines.len()))?;
        page.push_str("\n| a write that returned is safe by |");
        engines.iter().try_for_each(|(_, durability)| write!(page, " {durability} |"))?;
        for (measure, unit) in distinct(rows.iter().map(|row| (&row.measure, &row.unit))) {
            let comma = if unit.is_empty() { "" } else { ", " };
            write!(page, "\n| {measure}{comma}{unit} |")?;
            for (engine, _) in &engines {
                let row = rows.iter().find(|row| row.engine == **engine && row.measure == *measure);
                write!(page, " {} |", row.map_or("-".to_owned(), |row| spread(row)))?;
            }
        }
        page.push('\n');
    }
    Ok(page)
}

/// Each value once, in the order of the first of each.
fn distinct<T: PartialEq>(values: impl Iterator<Item = T>) -> Vec<T> {
    let mut found = Vec::new();
    for value in values {
        if !found.contains(&value) {
            found.push(value);
        }
    }
    found
}

/// Minimum, median and maximum; if there is only one run, its figure.
fn spread(row: &Row) -> String {
    let [least, median, most] = [row.least(), row.median(), row.most()].map(figure);
    if row.values.len() == 1 { median } else { format!("{least} / **{median}** / {most}") }
}
