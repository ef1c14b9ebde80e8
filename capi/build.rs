//! Names the shared library, so that programs find it where it is installed.

fn main() {
    let system = std::env::var("CARGO_CFG_TARGET_OS").unwrap_or_default();
    match system.as_str() {
        "linux" => println!("cargo::rustc-cdylib-link-arg=-Wl,-soname,libnearkin.so.0"),
        "macos" => {
            println!("cargo::rustc-cdylib-link-arg=-Wl,-install_name,@rpath/libnearkin.0.dylib");
        }
        _ => {}
    }
    println!("cargo::rerun-if-changed=build.rs");
}
