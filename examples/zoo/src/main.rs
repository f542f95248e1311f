//! A server of one's own: Kubernetes' built-in resources, and the zoo's beside them.
//!
//! It takes the flags of the server itself: `cargo run -p zoo -- --help`.

fn main() -> std::process::ExitCode {
    apiserver::run_with(apiserver::program!(), &[apiserver::builtin_storage_map(), &zoo::STORAGE_MAP])
}
