//! Checks that etcd's client can be built. Nothing is generated here.
//!
//! The feature `etcd3` brings `etcd-client`, whose build script runs `protoc`. In this workspace `.cargo/config.toml` sets
//! `PROTOC` to a wrapper that finds the compiler of the optional build dependency. Outside of it there may be none; then
//! this script fails early, with a message that says what to do.

use std::path::PathBuf;

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
    println!("cargo::rerun-if-env-changed=PROTOC");
    println!("cargo::rerun-if-env-changed=PATH");
    if std::env::var_os("CARGO_FEATURE_ETCD3").is_some() && !has_protobuf_compiler() {
        println!(
            "cargo::error=the feature `etcd3` needs a protobuf compiler: install it (Debian and Ubuntu: \
             `apt-get install protobuf-compiler`; macOS: `brew install protobuf`), or set PROTOC to the path of `protoc`. A \
             server that keeps its objects in the embedded store needs none: depend on `apiserver` with \
             `default-features = false, features = [\"embedded\"]`"
        );
    }
}

/// Whether `PROTOC` is set, or `protoc` is on the path: where `etcd-client`'s build script looks.
fn has_protobuf_compiler() -> bool {
    let on_path = |folder: PathBuf| folder.join(format!("protoc{}", std::env::consts::EXE_SUFFIX)).is_file();
    std::env::var_os("PROTOC").is_some()
        || std::env::var_os("PATH").is_some_and(|path| std::env::split_paths(&path).any(on_path))
}
