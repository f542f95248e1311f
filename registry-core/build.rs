//! Nothing is built here. The build dependency brings a protobuf compiler into Cargo's registry cache, where
//! `.cargo/protoc` finds it for etcd-client's own build script on machines that have none.

fn main() {
    println!("cargo::rerun-if-changed=build.rs");
}
