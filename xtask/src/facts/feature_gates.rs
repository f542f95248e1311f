//! The feature gates of kube-apiserver: upstream data has the states of its release, with which the committed table of all
//! emulated releases has to agree.

use std::collections::BTreeMap;

use serde::Deserialize;

use super::FactsError;

/// The committed table: see `apiserver/src/options/feature_gates/table.rs`.
const TABLE: &str = include_str!("../../../apiserver/src/options/kubernetes_gates.txt");

/// One gate, as the upstream data has it.
#[derive(Debug, Deserialize)]
pub(super) struct Gate {
    stage: String,
    default: bool,
}

/// Compares the newest states of the table with the upstream data, which has only alpha and beta gates.
pub(super) fn check(gates: &BTreeMap<String, Gate>) -> Result<(), FactsError> {
    let newest: BTreeMap<&str, &str> =
        TABLE.lines().filter_map(|line| Some((line.split_once(' ')?.0, line.rsplit(' ').next()?))).collect();
    let wrong = gates.iter().find(|(name, gate)| {
        let mut state = newest.get(name.as_str()).copied().unwrap_or_default().split(':').skip(1);
        let stage = state.next().unwrap_or_default();
        stage != gate.stage.to_lowercase()
            || state.next() != Some(if gate.default { "true" } else { "false" })
    });
    let unknown = newest.iter().find(|(name, state)| {
        let is_early = state.contains(":alpha:") || state.contains(":beta:");
        is_early && !gates.contains_key(**name)
    });
    match (wrong, unknown) {
        (Some((name, gate)), _) => Err(FactsError::Contradiction(format!(
            "kubernetes_gates.txt: {name} is {} by default and {} upstream",
            gate.default, gate.stage
        ))),
        (None, Some((name, _))) => {
            Err(FactsError::Contradiction(format!("kubernetes_gates.txt: {name} does not exist upstream")))
        }
        (None, None) => Ok(()),
    }
}
