//! Writes the character tables: run `cargo run --release` in this folder.

#[path = "../../../src/sketch/tests/definition.rs"]
mod definition;
#[path = "../../../src/sketch/tests/tables.rs"]
mod tables;

fn main() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../src/sketch/fold");
    let all: [(&str, fn(&str) -> String); 2] =
        [("fold", definition::fold), ("case", definition::case)];
    for (name, normalise) in all {
        let bytes = tables::bytes(normalise);
        let path = format!("{folder}/{name}.bin");
        println!("{path}: {} bytes", bytes.len());
        std::fs::write(path, bytes).expect("the table is written");
    }
}
