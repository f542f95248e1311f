//! The place in an object at which a rule is evaluated. It becomes a path when there is something to report.

use registry_meta::validation::FieldPath;

/// A place in an object, on the stack of the walk that is there.
#[derive(Debug)]
pub(super) enum Place<'p> {
    Root(&'p FieldPath),
    Field(&'p Place<'p>, &'p str),
    Key(&'p Place<'p>, &'p str),
    Index(&'p Place<'p>, usize),
}

// === impl Place ===

impl Place<'_> {
    pub(super) fn to_path(&self) -> FieldPath {
        match self {
            Self::Root(path) => (*path).clone(),
            Self::Field(parent, name) => parent.to_path().child(name),
            Self::Key(parent, key) => parent.to_path().key(key),
            Self::Index(parent, index) => parent.to_path().index(*index),
        }
    }
}
