// Written by `cargo xtask codegen` from the annotated structs. Do not edit.

//! Every path of this crate: group → version → path → storage.

use registry_core::registry::storage_map::{Custom, Main, Scale, Status};

registry_core::storage_map! {
    /// Every path of this crate.
    pub static STORAGE_MAP = {
        "zoo.example.dev" => {
            "v1" => {
                "enclosures" => Main<crate::zoo::enclosure::Enclosure>,
                "enclosures/handover" => Custom<crate::zoo::enclosure::handover::Handover>,
                "enclosures/scale" => Scale<crate::zoo::enclosure::Enclosure>,
                "enclosures/status" => Status<crate::zoo::enclosure::Enclosure>,
            },
            "v1beta1" => {
                "enclosures" => Main<crate::zoo::enclosure_v1beta1::EnclosureV1beta1>,
                "enclosures/scale" => Scale<crate::zoo::enclosure_v1beta1::EnclosureV1beta1>,
                "enclosures/status" => Status<crate::zoo::enclosure_v1beta1::EnclosureV1beta1>,
            },
        },
    };
}
