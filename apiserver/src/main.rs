//! A Kubernetes API server in one process.

#[cfg(feature = "allocator")]
/// Objects of very different sizes are allocated and freed on all threads.
#[global_allocator]
static ALLOCATOR: mimalloc::MiMalloc = mimalloc::MiMalloc;

fn main() -> std::process::ExitCode {
    apiserver::run_with(apiserver::program!(), &[&resources::STORAGE_MAP])
}
