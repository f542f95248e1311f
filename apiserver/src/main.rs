//! A Kubernetes API server in one process.

/// Objects come and go on all threads in sizes from bytes to megabytes.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    apiserver::run_with(apiserver::program!(), &[&resources::STORAGE_MAP])
}
