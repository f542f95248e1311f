//! Texts that live as long as the process.
//!
//! The engine names groups, versions, kinds, fields and paths by `&'static str`, because nearly all of them are constants
//! of the program. The names of custom resources are only known at run time. They are leaked here, each distinct text once.
//!
//! What is leaked is bounded by the number of *different* names that definitions have had since the process started, about 300
//! bytes for a definition. Definitions that are updated, or deleted and created again, have the same names again. Only users who
//! may write definitions can add names, and each name has been stored before: a cluster with 10,000 definitions leaks about 3
//! MB. Texts of arbitrary length (descriptions, schemas, column headers) are not interned.

use std::collections::HashSet;
use std::hash::Hash;
use std::sync::LazyLock;

use parking_lot::Mutex;
use registry_core::resource::SelectableField;

/// A field path.
pub(crate) type Path = &'static [&'static str];

static TEXTS: LazyLock<Interned<str>> = LazyLock::new(Interned::default);
static PATHS: LazyLock<Interned<[&'static str]>> = LazyLock::new(Interned::default);
static SELECTABLE: LazyLock<Interned<[SelectableField]>> = LazyLock::new(Interned::default);

/// The interned values of a type.
struct Interned<T: ?Sized + 'static>(Mutex<HashSet<&'static T>>);

/// Returns the text as a constant.
pub(crate) fn text(text: &str) -> &'static str {
    TEXTS.get(text, |text| Box::leak(text.into()))
}

/// Returns a list of texts, such as a field path, as a constant.
pub(crate) fn texts<'a>(texts: impl IntoIterator<Item = &'a str>) -> Path {
    let texts: Vec<&'static str> = texts.into_iter().map(text).collect();
    PATHS.get(texts.as_slice(), |texts| Box::leak(texts.into()))
}

/// Returns the selectable fields with these names, which are their paths, as a constant.
pub(crate) fn selectable(names: Path) -> &'static [SelectableField] {
    let field = |name: &'static str| {
        let path = texts(name.split('.'));
        SelectableField { name, path, other_path: &[], absent: "" }
    };
    let fields: Vec<SelectableField> = names.iter().copied().map(field).collect();
    SELECTABLE.get(fields.as_slice(), |fields| Box::leak(fields.into()))
}

// === impl Interned ===

impl<T: ?Sized + Eq + Hash> Interned<T> {
    /// Returns the interned value that is equal to this one; `leak` makes it constant if there is none.
    fn get(&self, value: &T, leak: impl FnOnce(&T) -> &'static T) -> &'static T {
        let mut known = self.0.lock();
        if let Some(known) = known.get(value) {
            return known;
        }
        let leaked = leak(value);
        known.insert(leaked);
        leaked
    }
}

impl<T: ?Sized> Default for Interned<T> {
    fn default() -> Self {
        Self(Mutex::default())
    }
}

#[cfg(test)]
mod tests {
    use super::{text, texts};

    #[test]
    fn equal_texts_are_one_text() {
        let first = text("intern.example.com");
        let again = text(&format!("intern.{}", "example.com"));
        assert!(std::ptr::eq(first, again));
        assert_eq!(first, "intern.example.com");
        assert!(!std::ptr::eq(first, text("intern2.example.com")));
    }

    #[test]
    fn equal_paths_are_one_path() {
        let first = texts(["spec", "replicas"]);
        assert!(std::ptr::eq(first, texts("spec.replicas".split('.'))));
        assert_eq!(texts([]), &[] as &[&str]);
    }

    #[test]
    fn threads_agree() {
        let intern = || text(&format!("{}.threads", 7));
        let texts: Vec<&str> = std::thread::scope(|scope| {
            let threads: Vec<_> = (0..8).map(|_| scope.spawn(intern)).collect();
            threads.into_iter().map(|thread| thread.join().unwrap()).collect()
        });
        assert!(texts.iter().all(|text| std::ptr::eq(*text, texts[0])));
    }
}
