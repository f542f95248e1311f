//! Defaults, validation and warnings of a `PodSpec`, which pods and all pod templates share.
//!
//! | module | contents |
//! |---|---|
//! | `warnings` | warnings about specs that are valid |
//! | `validation` | the rules of a spec |
//! | `gated` | fields that exist only while a feature is enabled |
//! | `defaults` | defaults that depend on other fields |
//! | `totals` | the total requests and limits of a pod |
//! | `images` | names of images |
//! | `resource_names` | names of the resources that are requested and limited |

pub(crate) mod defaults;
pub(crate) mod gated;
mod images;
pub(crate) mod resource_names;
pub(crate) mod totals;
pub(crate) mod validation;
pub(crate) mod warnings;
