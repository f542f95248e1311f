//! A Kubernetes API server in one process.

fn main() -> std::process::ExitCode {
    apiserver::run_with(&[apiserver::builtin_storage_map()])
}
