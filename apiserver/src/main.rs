//! A Kubernetes API server in one process.

fn main() -> std::process::ExitCode {
    apiserver::run_with(&[&resources::STORAGE_MAP])
}
