// Written by `cargo xtask codegen` from the annotated structs. Do not edit.

//! Every path of this crate: group → version → path → storage.

use registry_core::registry::storage_map::{Custom, Main, Virtual};

registry_core::storage_map! {
    /// Every path of this crate.
    pub static STORAGE_MAP = {
        "fleet.example.dev" => {
            "v1" => {
                "ports" => Virtual<crate::ship::port::Port>,
                "ships" => Main<crate::ship::Ship>,
                "ships/arrival" => Custom<crate::ship::arrival::Arrival>,
            },
        },
    };
}
