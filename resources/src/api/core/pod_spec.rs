//! Defaults, validation and warnings of a `PodSpec`, which pods and all pod templates share.

pub(crate) mod defaults;
mod images;
pub(crate) mod totals;
pub(crate) mod validation;
pub(crate) mod warnings;
