//! A write as plug-ins receive it.

use super::{Attributes, Operation};
use crate::api::Object;
use crate::resource::Resource;

/// A write: its attributes and its objects.
///
/// Kubernetes concept: `Attributes` in `k8s.io/apiserver/pkg/admission`, with `GetObject` and `GetOldObject`.
#[derive(Clone, Copy, Debug)]
pub struct ObjectWrite<'a, O = &'a Object> {
    /// The attributes.
    pub attributes: &'a Attributes<'a>,
    /// The object as it would be stored; `None` for deletions.
    pub object: Option<O>,
    /// The stored object; `None` for creations.
    pub old: Option<&'a Object>,
}

/// A write whose object can be changed.
pub type ObjectWriteMut<'a> = ObjectWrite<'a, &'a mut Object>;

// === impl ObjectWrite ===

impl<'a, O> ObjectWrite<'a, O> {
    /// Returns the write of an object.
    pub const fn new(attributes: &'a Attributes<'a>, object: Option<O>, old: Option<&'a Object>) -> Self {
        Self { attributes, object, old }
    }
}

impl<'a> ObjectWrite<'a> {
    /// Returns the object, if it is of this kind itself (not a subresource) and the operation is one of these.
    pub fn object_of<R: Resource>(&self, operations: &[Operation]) -> Option<&'a Object> {
        self.object.filter(|_| self.attributes.are_of::<R>(operations))
    }
}

impl<'a> ObjectWriteMut<'a> {
    /// Takes the object, if it is of this kind itself (not a subresource) and the operation is one of these.
    pub fn object_of<R: Resource>(&mut self, operations: &[Operation]) -> Option<&'a mut Object> {
        self.object.take_if(|_| self.attributes.are_of::<R>(operations))
    }
}
