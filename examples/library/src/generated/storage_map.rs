// Written by `cargo xtask codegen` from the annotated structs. Do not edit.

//! Every path of this crate: group → version → path → storage.

use registry_core::registry::storage_map::Main;

registry_core::storage_map! {
    /// Every path of this crate.
    pub static STORAGE_MAP = {
        "library.example.dev" => {
            "v1" => {
                "books" => Main<crate::book::Book>,
            },
        },
    };
}
