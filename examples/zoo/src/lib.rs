//! Example of a custom API: `zoo.example.dev/v1 Enclosure`.
//!
//! Copy this crate to start your own. It consists of:
//!
//! - `src/zoo/enclosure.rs`: an annotated struct and its strategy. This is all the code that you write.
//! - `src/zoo/enclosure_v1beta1.rs`: an older version of the same kind, with its conversions. Omit it if you have only
//!   one version.
//! - `[package.metadata.orlop] resources = true` in Cargo.toml, so that `cargo xtask codegen` includes this crate.
//! - `src/generated/`: the generated code: the storage map, which lists every path with the type that serves it.
//! - `src/main.rs`: a server with that storage map installed.
//! - `src/server.rs`: what a server can have beside its resources: flags, admission plug-ins, post-start hooks, controllers.
//!   Omit it if yours has nothing of these: `apiserver::run_extension_with` needs no more than the storage map.
//!
//! `cargo xtask new GROUP/VERSION KIND --package zoo` adds another resource.

pub mod generated;
pub mod server;
pub mod zoo;

pub use generated::storage_map::STORAGE_MAP;
