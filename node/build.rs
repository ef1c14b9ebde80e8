//! Tells the linker that symbols come from the Node process.

fn main() {
    napi_build::setup();
}
