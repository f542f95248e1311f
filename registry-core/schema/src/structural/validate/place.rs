//! The path of the value being validated.

use std::cell::OnceCell;
use std::fmt;
use std::sync::Arc;

/// The path of the current value. Kept on the stack; it is copied only for a fault, and then once for all faults below.
pub(super) struct Place<'p> {
    parent: Option<&'p Place<'p>>,
    step: Step<'p>,
    path: OnceCell<Path>,
}

#[derive(Clone, Copy)]
enum Step<'p> {
    Root,
    Property(&'p str),
    Additional(&'p str),
    Index(usize),
}

/// A path that outlives the walk. Shares its parents.
#[derive(Clone)]
pub(super) struct Path(Arc<Part>);

struct Part {
    parent: Option<Path>,
    /// The step as formatted: `.name`, `[0]`.
    text: Box<str>,
}

// === impl Place ===

impl Place<'_> {
    pub(super) fn root() -> Self {
        Self { parent: None, step: Step::Root, path: OnceCell::new() }
    }

    /// Returns the path of a listed property.
    pub(super) fn property<'p>(&'p self, name: &'p str) -> Place<'p> {
        self.below(Step::Property(name))
    }

    /// Returns the path of a property that is not listed.
    pub(super) fn additional<'p>(&'p self, name: &'p str) -> Place<'p> {
        self.below(Step::Additional(name))
    }

    /// Returns the path of an element.
    pub(super) fn index(&self, index: usize) -> Place<'_> {
        self.below(Step::Index(index))
    }

    fn below<'p>(&'p self, step: Step<'p>) -> Place<'p> {
        Place { parent: Some(self), step, path: OnceCell::new() }
    }

    /// Whether this is a property of the whole value.
    pub(super) fn is_top_level(&self) -> bool {
        self.parent.is_some_and(|parent| parent.parent.is_none())
    }

    /// Returns a path that outlives this one.
    pub(super) fn path(&self) -> Path {
        self.path.get_or_init(|| self.copy()).clone()
    }

    fn copy(&self) -> Path {
        let text = match self.step {
            Step::Root => String::new(),
            // Only listed properties of the whole value do not have a dot in front.
            Step::Property(name) if self.is_top_level() => name.to_owned(),
            Step::Property(name) | Step::Additional(name) => format!(".{name}"),
            Step::Index(index) => format!("[{index}]"),
        };
        Path(Arc::new(Part { parent: self.parent.map(Place::path), text: text.into() }))
    }
}

// === impl Path ===

/// Formats as in messages: `spec.list[0].name`.
impl fmt::Display for Path {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        if let Some(parent) = &self.0.parent {
            parent.fmt(f)?;
        }
        f.write_str(&self.0.text)
    }
}
