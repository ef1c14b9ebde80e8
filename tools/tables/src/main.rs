//! Writes the character tables: run `cargo run --release` in this folder.

#[path = "../../../sketch/src/tests/definition.rs"]
mod definition;
#[path = "../../../sketch/src/tests/tables.rs"]
mod tables;

fn main() {
    let folder = concat!(env!("CARGO_MANIFEST_DIR"), "/../../sketch/src/fold");
    let all: [(&str, fn(&str) -> String); 2] =
        [("fold", definition::fold), ("case", definition::case)];
    let tables = all.map(|(name, normalise)| (name, tables::bytes(normalise)));
    for (name, bytes) in tables.into_iter().chain([("composites", tables::composites())]) {
        let path = format!("{folder}/{name}.bin");
        println!("{path}: {} bytes", bytes.len());
        std::fs::write(path, bytes).expect("the table is written");
    }
}
