//! Table columns of pods.
//!
//! Kubernetes concept: `printPod` in `pkg/printers/internalversion`.

mod progress;

use std::collections::HashSet;

use registry_core::api::Object;
use registry_core::resource::{CellValue, Column, RowCondition, RowConditionType};
use resource_views::core::v1::{Pod, PodReadinessGate};
use serde_json::Value;

use crate::support::conditions;
use crate::support::printers;

use progress::Progress;

pub(super) static COLUMNS: &[Column] = &[
    Column::NAME,
    Column::text("Ready", ready).described("The aggregate readiness state of this pod for accepting traffic."),
    Column::text("Status", status).described("The aggregate status of the containers in this pod."),
    Column::dated("Restarts", restarts).described(
        "The number of times the containers in this pod have been restarted and when the last container in this pod has restarted.",
    ),
    Column::AGE,
    Column::text("IP", pod_ip).documented_by(&["status", "podIP"]).wide(),
    Column::text("Node", |object| printers::text_or(object, &["spec", "nodeName"], "<none>")).documented_by(&["spec", "nodeName"]).wide(),
    Column::text("Nominated Node", |object| printers::text_or(object, &["status", "nominatedNodeName"], "<none>")).documented_by(&["status", "nominatedNodeName"]).wide(),
    Column::text("Readiness Gates", readiness_gates).documented_by(&["spec", "readinessGates"]).wide(),
];

/// Returns the row conditions of a pod that has terminated.
pub(super) fn row_conditions(object: &Object) -> &'static [RowCondition] {
    const fn completed(reason: &'static str, message: &'static str) -> RowCondition {
        RowCondition { kind: RowConditionType::Completed, reason, message }
    }
    match Pod(object).status().phase().optional_text() {
        Some("Succeeded") => const { &[completed("Succeeded", "The pod has completed successfully.")] },
        Some("Failed") => const { &[completed("Failed", "The pod failed.")] },
        _ => &[],
    }
}

/// Returns the names of the sidecars: the init containers that keep running.
fn sidecars(object: &Object) -> HashSet<&str> {
    let spec = Pod(object).spec();
    let containers = spec.init_containers();
    let sidecars = containers.elements().filter(|container| container.restart_policy().text() == "Always");
    sidecars.map(|container| container.name().text()).collect()
}

/// Returns ready and all containers that keep running: `1/2`.
fn ready(object: &Object) -> Value {
    let all = Pod(object).spec().containers().len() + sidecars(object).len();
    format!("{}/{all}", Progress::compute(object, String::new()).ready).into()
}

/// Returns a summary of the pod's state.
fn status(object: &Object) -> Value {
    let mut word =
        Pod(object).status().reason().optional_text().filter(|reason| !reason.is_empty()).map(str::to_owned);
    let mut word = word.take().unwrap_or_else(|| Pod(object).status().phase().text().to_owned());
    if conditions::all(object).any(|condition| {
        condition.r#type().text() == "PodScheduled" && condition.reason().text() == "SchedulingGated"
    }) {
        "SchedulingGated".clone_into(&mut word);
    }
    let mut word = Progress::compute(object, word).word;
    if object.deletion_timestamp().is_some() {
        let lost = Pod(object).status().reason().optional_text() == Some("NodeLost");
        let over = matches!(Pod(object).status().phase().optional_text(), Some("Succeeded" | "Failed"));
        if lost {
            "Unknown".clone_into(&mut word);
        } else if !over {
            "Terminating".clone_into(&mut word);
        }
    }
    word.into()
}

/// Returns the number of restarts, and the time since the last one.
fn restarts(object: &Object) -> CellValue {
    let Progress { restarts: count, last_restart: last, .. } = Progress::compute(object, String::new());
    match last {
        Some(since) if count > 0 => CellValue::Age { before: format!("{count} ("), since, after: " ago)" },
        _ => count.to_string().into(),
    }
}

/// Returns the pod's first address.
fn pod_ip(object: &Object) -> Value {
    let status = Pod(object).status();
    let addresses = status.pod_ips();
    match addresses.elements().next() {
        Some(address) => address.ip().text().into(),
        None => printers::text_or(object, &["status", "podIP"], "<none>"),
    }
}

/// Returns the readiness gates that are true, of all: `1/2`.
fn readiness_gates(object: &Object) -> Value {
    let spec = Pod(object).spec();
    let gates = spec.readiness_gates();
    let is_open = |gate: &PodReadinessGate<'_, '_>| conditions::is_true(object, gate.condition_type().text());
    let opened = gates.elements().filter(is_open).count();
    if gates.is_empty() { "<none>".into() } else { format!("{opened}/{}", gates.len()).into() }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn a_row_tells_how_a_pod_ended() {
        let reason = |phase: &str| {
            let pod = Object::from_value(json!({"status": {"phase": phase}})).unwrap();
            row_conditions(&pod).iter().map(|condition| condition.reason).collect::<Vec<_>>()
        };
        assert_eq!((reason("Succeeded"), reason("Failed")), (vec!["Succeeded"], vec!["Failed"]));
        assert!(reason("Running").is_empty() && row_conditions(&Object::default()).is_empty());
    }
}
