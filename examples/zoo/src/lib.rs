//! An API of one's own: `zoo.example.dev/v1 Enclosure`.
//!
//! Copy this crate to begin your own. What there is to it:
//!
//! - `src/zoo/enclosure.rs`: one annotated struct and what is special about it. That is all you write.
//! - `src/zoo/enclosure_v1beta1.rs`: an older version of the same, converted to it and from it. Leave it out if you have
//!   only one.
//! - `[package.metadata.orlop] resources = true` in Cargo.toml, so that `cargo xtask codegen` looks in here.
//! - `src/generated/`: what it writes: the storage map, every path with the type that serves it.
//! - `src/main.rs`: a server with that map installed.
//!
//! `cargo xtask new GROUP/VERSION KIND --package zoo` adds another resource.

pub mod generated;
pub mod zoo;

pub use generated::storage_map::STORAGE_MAP;
