//! An API server of the zoo: behind a main server (`--kubeconfig`, or in a pod), or alone, with Kubernetes' resources
//! beside its own.
//!
//! Its flags are those of the standard server, and those of extension servers: `cargo run -p zoo -- --help`.

fn main() -> std::process::ExitCode {
    apiserver::run_extension_customized(apiserver::program!(), &[&zoo::STORAGE_MAP], zoo::server::customize)
}
