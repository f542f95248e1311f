// Written by `cargo xtask codegen` from the annotated structs. Do not edit.

//! The generated declarations of this crate's resources.

pub mod storage_map;
