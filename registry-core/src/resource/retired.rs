//! Versions in which objects may be stored although no server serves them any more.
//!
//! Kubernetes concept: versions that are registered in the scheme, which decodes them, but have no storage.

use crate::api::Object;
use crate::budget::{Budget, Exhausted};

/// A version in which objects may be stored although it is not served any more.
#[derive(Clone, Copy, Debug)]
pub struct RetiredVersion {
    /// The `apiVersion` of the stored objects. The group may be another one.
    pub api_version: &'static str,
    /// Changes what differs beside the name of the version; `None` if nothing does.
    pub renew: Option<Renew>,
}

/// Changes an object of a retired version into one of the version that declares it, and sets the defaults that the retired
/// version has and the other has not. The caller sets the type, conforms the object to the schema, and sets the other
/// defaults.
#[derive(Clone, Copy, Debug)]
pub enum Renew {
    /// Adds no more to an object than a bounded number of small values for each part of it.
    Plain(fn(&mut Object)),
    /// Copies parts of the object, and takes their memory from the budget; fails if that is exhausted.
    Budgeted(fn(&mut Object, &Budget) -> Result<(), Exhausted>),
}
