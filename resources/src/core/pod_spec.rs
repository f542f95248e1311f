//! What pods and all pod templates share: defaults and validation of a `PodSpec`.

pub(crate) mod defaults;
pub(crate) mod validation;
