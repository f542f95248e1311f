//! Parts of JSON documents.
//!
//! | module | contents |
//! |---|---|
//! | [`fields`] | fields: set, and null |
//! | [`path`] | JSONPath, as columns and selectable fields use it |

pub mod fields;
pub mod path;
