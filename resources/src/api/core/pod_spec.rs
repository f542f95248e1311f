//! Defaults, validation and warnings of a `PodSpec`, which pods and all pod templates share.

pub(crate) mod defaults;
pub(crate) mod gated;
mod images;
pub(crate) mod totals;
pub(crate) mod validation;
pub(crate) mod warnings;
