//! The numbers of cases per kind that agreed when they were last raised.

/// Kind, cases that agree in their causes, cases that agree exactly.
const FLOORS: &[(&str, usize, usize)] = &[];

/// Returns the floors of a kind.
pub fn of(kind: &str) -> (usize, usize) {
    FLOORS
        .iter()
        .find(|(name, ..)| *name == kind)
        .map(|(_, causes, exact)| (*causes, *exact))
        .unwrap_or_default()
}
