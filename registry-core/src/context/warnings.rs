//! The warnings of one request, bounded as Kubernetes bounds them.
//!
//! Kubernetes concept: `recorder` in `k8s.io/apiserver/pkg/endpoints/filters/warning.go`.

use std::collections::HashSet;

/// Maximum number of characters of all warnings before each of them is cut to [`TRUNCATED_CHARS`].
const TOTAL_CHARS: usize = 4 * 1024;
/// Maximum number of characters of each warning once all of them together are too long.
const TRUNCATED_CHARS: usize = 256;

/// Distinct warnings in the order in which they were added.
#[derive(Debug, Default)]
pub(super) struct Warnings {
    texts: Vec<String>,
    /// The whole texts, before any of them was cut.
    known: HashSet<String>,
    chars: usize,
    is_truncating: bool,
}

// === impl Warnings ===

impl Warnings {
    /// Adds a warning, unless it is empty, repeated, no text for a header, or beyond the bounds.
    pub(super) fn add(&mut self, mut text: String) {
        if self.is_truncating && self.chars >= TOTAL_CHARS {
            return;
        }
        if text.is_empty() || text.chars().any(char::is_control) || self.known.contains(&text) {
            return;
        }
        if !self.is_truncating && self.chars + text.chars().count() > TOTAL_CHARS {
            self.is_truncating = true;
            self.texts.iter_mut().for_each(truncate);
            self.chars = self.texts.iter().map(|text| text.chars().count()).sum();
        }
        self.known.insert(text.clone());
        if self.is_truncating {
            truncate(&mut text);
        }
        self.chars += text.chars().count();
        self.texts.push(text);
    }

    pub(super) fn into_texts(self) -> Vec<String> {
        self.texts
    }
}

fn truncate(text: &mut String) {
    if let Some((end, _)) = text.char_indices().nth(TRUNCATED_CHARS) {
        text.truncate(end);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn texts(added: impl IntoIterator<Item = String>) -> Vec<String> {
        let mut warnings = Warnings::default();
        added.into_iter().for_each(|text| warnings.add(text));
        warnings.into_texts()
    }

    #[test]
    fn distinct_warnings_keep_their_order() {
        let added = ["b", "a", "", "b", "line\nbreak"].map(str::to_owned);
        assert_eq!(texts(added), ["b", "a"]);
    }

    #[test]
    fn warnings_are_cut_once_they_are_too_long_together() {
        let long = |letter: &str| letter.repeat(2_000);
        assert_eq!(texts([long("a"), long("b")]), [long("a"), long("b")]);
        let cut = [long("a"), long("b"), long("é")].map(|text| text.chars().take(256).collect::<String>());
        assert_eq!(texts([long("a"), long("b"), long("é")]), cut);
    }

    #[test]
    fn many_warnings_end_at_the_bound() {
        let many = (0..200_000).map(|number| format!("unknown field \"f{number:06}\""));
        let kept = texts(many);
        assert_eq!(kept.len(), 179, "4096 characters of 23 each, rounded up");
    }
}
