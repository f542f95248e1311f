//! What pods and all pod templates share: defaults, validation and warnings of a `PodSpec`.

pub(crate) mod defaults;
pub(crate) mod totals;
pub(crate) mod validation;
pub(crate) mod warnings;
