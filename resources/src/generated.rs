// Written by `cargo xtask codegen` from the annotated structs. Do not edit.

//! What code generation knows of this crate's resources.

pub mod storage_map;
