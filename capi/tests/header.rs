//! The committed header is what cbindgen makes of the sources. `NEARKIN_HEADER=write` writes it.

#[test]
#[expect(clippy::disallowed_methods, reason = "the header is a file of the repository")]
fn the_header_is_current() {
    let folder = std::path::Path::new(env!("CARGO_MANIFEST_DIR"));
    let config =
        cbindgen::Config::from_file(folder.join("cbindgen.toml")).expect("a configuration");
    let mut made = Vec::new();
    cbindgen::generate_with_config(folder, config).expect("bindings").write(&mut made);
    let made = String::from_utf8(made).expect("text");
    let path = folder.join("include/nearkin.h");
    if std::env::var_os("NEARKIN_HEADER").is_some_and(|what| what == "write") {
        std::fs::write(&path, &made).expect("the header is written");
    }
    let committed = std::fs::read_to_string(&path).unwrap_or_default();
    assert!(made == committed, "include/nearkin.h is old: NEARKIN_HEADER=write cargo test");
}
