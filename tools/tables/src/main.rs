//! Writes the character tables: run `cargo run --release` in this folder.

#[path = "../../../sketch/src/tests/definition.rs"]
mod definition;
#[path = "../../../sketch/src/tests/tables.rs"]
mod tables;
#[path = "../../../sketch/src/tests/unicode_tables.rs"]
mod unicode_tables;

fn main() {
    let all: [(&str, fn(&str) -> String); 2] =
        [("fold", definition::fold), ("case", definition::case)];
    let folds = all.map(|(name, normalise)| (name, tables::bytes(normalise)));
    let folds = folds.into_iter().chain([("composites", tables::composites())]);
    let folds = folds.map(|file| ("fold", file));
    for (folder, (name, bytes)) in
        folds.chain(unicode_tables::files().into_iter().map(|file| ("unicode", file)))
    {
        let path = format!("{}/../../sketch/src/{folder}/{name}.bin", env!("CARGO_MANIFEST_DIR"));
        println!("{path}: {} bytes", bytes.len());
        std::fs::write(path, bytes).expect("the table is written");
    }
}
