//! An API server that serves the zoo's resources in addition to Kubernetes' built-in ones.
//!
//! It takes the same flags as the standard server: `cargo run -p zoo -- --help`.

fn main() -> std::process::ExitCode {
    apiserver::run_with(apiserver::program!(), &[apiserver::builtin_storage_map(), &zoo::STORAGE_MAP])
}
