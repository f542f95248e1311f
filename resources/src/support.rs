//! Helpers that the API groups share: reading and writing other objects, defaulting, rules of values, field errors, and table
//! cells. They know no kind, and, except `field`, which shows values by `go_text` and `semantic`, not each other.

pub(crate) mod address;
pub(crate) mod amount;
pub(crate) mod bootstrap_objects;
pub(crate) mod choice;
pub(crate) mod conditions;
pub(crate) mod defaulting;
pub(crate) mod field;
pub(crate) mod go_text;
pub(crate) mod label_selector;
pub(crate) mod lookup;
pub(crate) mod port_number;
pub(crate) mod printers;
pub(crate) mod resource_list;
pub(crate) mod review;
pub(crate) mod semantic;
pub(crate) mod system_writer;
pub(crate) mod webhook_client;
