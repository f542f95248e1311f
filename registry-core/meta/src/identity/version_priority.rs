//! The order of versions by priority.
//!
//! Kubernetes concept: `CompareKubeAwareVersionStrings` in `k8s.io/apimachinery/pkg/version`.

use std::cmp::{Ordering, Reverse};

/// The stability of a version: alpha, beta, or generally available.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
enum Stability {
    Alpha,
    Beta,
    Stable,
}

/// Compares versions by priority: `v2` > `v1` > `v1beta2` > `v1alpha1` > any other text, the first of them by the alphabet
/// being the greatest.
pub fn compare_versions(a: &str, b: &str) -> Ordering {
    match (parse(a), parse(b)) {
        (Some(a), Some(b)) => a.cmp(&b),
        (Some(_), None) => Ordering::Greater,
        (None, Some(_)) => Ordering::Less,
        (None, None) => Reverse(a).cmp(&Reverse(b)),
    }
}

/// Parses `v1`, `v1beta2`.
fn parse(version: &str) -> Option<(Stability, u64, u64)> {
    let rest = version.strip_prefix('v')?;
    let digits = rest.find(|next: char| !next.is_ascii_digit()).unwrap_or(rest.len());
    let (major, rest) = rest.split_at_checked(digits)?;
    let major = number(major)?;
    if rest.is_empty() {
        return Some((Stability::Stable, major, 0));
    }
    if let Some(minor) = rest.strip_prefix("beta") {
        return Some((Stability::Beta, major, number(minor)?));
    }
    Some((Stability::Alpha, major, number(rest.strip_prefix("alpha")?)?))
}

/// Parses a positive number without leading zeros.
fn number(text: &str) -> Option<u64> {
    let is_number = !text.starts_with('0') && text.bytes().all(|byte| byte.is_ascii_digit());
    if is_number { text.parse().ok() } else { None }
}

#[cfg(test)]
mod tests {
    use super::compare_versions;

    #[test]
    fn versions_are_ordered_by_priority() {
        let sorted = [
            "v10",
            "v2",
            "v1",
            "v11beta2",
            "v2beta10",
            "v1beta1",
            "v12alpha1",
            "v1alpha1",
            "a1",
            "foo1",
            "foo10",
            "v01",
            "v1gamma",
        ];
        for pair in sorted.windows(2) {
            assert!(compare_versions(pair[0], pair[1]).is_gt(), "{pair:?}");
            assert!(compare_versions(pair[1], pair[0]).is_lt(), "{pair:?}");
        }
    }
}
