//! The metrics and labels that an expression of Prometheus names. It does not check the expression otherwise.

use std::collections::BTreeSet;

/// Words of the language that are no metrics.
const WORDS: [&str; 9] =
    ["and", "or", "unless", "on", "ignoring", "bool", "offset", "group_left", "group_right"];

/// The names in an expression.
#[derive(Debug, Default, PartialEq, Eq)]
pub(crate) struct Named {
    pub(crate) metrics: BTreeSet<String>,
    /// Labels that metrics are selected by.
    pub(crate) selected: BTreeSet<String>,
    /// Labels that results are grouped by.
    pub(crate) grouped: BTreeSet<String>,
}

// === impl Named ===

impl Named {
    pub(crate) fn read_from(expression: &str) -> Self {
        let mut named = Self::default();
        let text = without_values(expression);
        let mut rest = text.as_str();
        while let Some(start) = rest.find(|first: char| first.is_ascii_alphabetic() || first == '{') {
            // A letter within a number, such as 1e9, begins no name.
            let in_number = rest[..start].ends_with(|before: char| before.is_ascii_digit());
            rest = &rest[start..];
            if rest.starts_with('{') {
                let (selectors, after) = rest[1..].split_once('}').expect("a closing bracket");
                named.selected.extend(names(selectors));
                rest = after;
                continue;
            }
            let end =
                rest.find(|next: char| !next.is_ascii_alphanumeric() && next != '_').unwrap_or(rest.len());
            let (word, after) = rest.split_at(end);
            rest = after;
            let in_brackets = after.trim_start().strip_prefix('(');
            let is_aggregation = ["by", "without"].iter().any(|word| after.trim_start().starts_with(word));
            if let Some(inside) = in_brackets.filter(|_| word == "by" || word == "without") {
                let (labels, after) = inside.split_once(')').expect("a closing bracket");
                named.grouped.extend(names(labels));
                rest = after;
            } else if in_brackets.is_none() && !is_aggregation && !WORDS.contains(&word) && !in_number {
                named.metrics.insert(word.to_owned());
            }
        }
        named
    }
}

/// Returns the expression without quoted texts and ranges.
fn without_values(expression: &str) -> String {
    let unquoted: String = expression.split('"').step_by(2).collect();
    let mut parts = unquoted.split('[');
    let first = parts.next().unwrap_or_default().to_owned();
    parts.fold(first, |text, part| text + part.split_once(']').expect("a closing bracket").1)
}

/// Returns the names in a list, each without what is compared with it.
fn names(list: &str) -> impl Iterator<Item = String> {
    let names = list.split(',').map(|part| part.trim().trim_end_matches(['=', '~', '!']).trim().to_owned());
    names.filter(|name| !name.is_empty())
}

#[test]
fn names_are_found() {
    let set = |names: &[&str]| -> BTreeSet<String> { names.iter().map(|&name| name.to_owned()).collect() };
    let named = Named::read_from(
        "histogram_quantile(0.99, sum by (verb, le) (rate(a_bucket{job=\"x,y\",verb!~\"A|B\"}[5m]))) / 1e9 > 2 and up == 0",
    );
    assert_eq!(named.metrics, set(&["a_bucket", "up"]));
    assert_eq!(named.selected, set(&["job", "verb"]));
    assert_eq!(named.grouped, set(&["le", "verb"]));
}
