//! The state of a pod as a whole, computed from the states of its containers.

use std::collections::HashSet;

use jiff::Timestamp;
use registry_core::api::{Object, time};
use resource_views::Typed as _;
use resource_views::core::v1::{ContainerStateTerminated, ContainerStatus, Pod};

use crate::support::conditions;

use super::sidecars;

/// The summary of the states of a pod's containers.
pub(super) struct Progress {
    /// Number of containers that are ready.
    pub(super) ready: usize,
    /// Number of restarts.
    pub(super) restarts: i64,
    /// Time of the last restart.
    pub(super) last_restart: Option<Timestamp>,
    /// The state that is shown.
    pub(super) word: String,
}

// === impl Progress ===

impl Progress {
    /// Computes the progress of a pod. `word` is shown if the containers have nothing more precise.
    pub(super) fn compute(object: &Object, word: String) -> Self {
        let mut progress = Self { ready: 0, restarts: 0, last_restart: None, word };
        let is_initializing = progress.count_init_containers(object);
        if !is_initializing || conditions::is_true(object, "Initialized") {
            progress.count_containers(object);
        }
        progress
    }

    /// Counts the init containers up to the one that is not done. Returns whether there is one.
    fn count_init_containers(&mut self, object: &Object) -> bool {
        let sidecars = sidecars(object);
        let pod_status = Pod(object).status();
        for (index, status) in pod_status.init_container_statuses().elements().enumerate() {
            self.count_restarts(&status);
            let state = status.state();
            let terminated = state.terminated();
            if terminated.exists() && terminated.exit_code().number() == 0 {
                continue;
            }
            if sidecars.contains(&status.name().text()) && status.started().is_true() {
                self.ready += usize::from(status.ready().is_true());
                continue;
            }
            let waiting = state.waiting().reason().text();
            self.word = if terminated.exists() {
                format!("Init:{}", terminated_word(&terminated))
            } else if !waiting.is_empty() && waiting != "PodInitializing" {
                format!("Init:{waiting}")
            } else {
                format!("Init:{index}/{}", Pod(object).spec().init_containers().len())
            };
            return true;
        }
        false
    }

    /// Counts the containers, and of the init containers the restarts of sidecars only. The state of the first container
    /// takes precedence.
    fn count_containers(&mut self, object: &Object) {
        self.count_sidecar_restarts(object, &sidecars(object));
        let mut is_running = false;
        let mut failure = None;
        let pod_status = Pod(object).status();
        for status in pod_status.container_statuses().values().iter().rev().map(ContainerStatus::from_value) {
            self.count_restarts(&status);
            let state = status.state();
            let (waiting, terminated) = (state.waiting().reason().text(), state.terminated());
            if !waiting.is_empty() {
                waiting.clone_into(&mut self.word);
            } else if terminated.exists() {
                self.word = terminated_word(&terminated);
                if terminated.exit_code().number() != 0 {
                    failure = Some(self.word.clone());
                }
            } else if status.ready().is_true() && state.running().exists() {
                is_running = true;
                self.ready += 1;
            }
        }
        if self.word != "Completed" {
            return;
        }
        if is_running && conditions::is_true(object, "Ready") {
            "Running".clone_into(&mut self.word);
        } else if let Some(failure) = failure {
            self.word = failure;
        } else if is_running {
            "NotReady".clone_into(&mut self.word);
        }
    }

    fn count_sidecar_restarts(&mut self, object: &Object, sidecars: &HashSet<&str>) {
        self.restarts = 0;
        self.last_restart = None;
        // As for the pod's other counts, those after an init container that is not done do not count.
        let pod_status = Pod(object).status();
        for status in pod_status.init_container_statuses().elements() {
            let is_sidecar = sidecars.contains(&status.name().text());
            if is_sidecar {
                self.count_restarts(&status);
            }
            let state = status.state();
            let terminated = state.terminated();
            let is_done = terminated.exists() && terminated.exit_code().number() == 0;
            if is_done || is_sidecar && status.started().is_true() {
                continue;
            }
            break;
        }
    }

    fn count_restarts(&mut self, status: &ContainerStatus<'_, '_>) {
        self.restarts += status.restart_count().number();
        let finished = time::parse(status.last_state().terminated().finished_at().text());
        self.last_restart = self.last_restart.max(finished);
    }
}

/// Returns why a container terminated: its reason, or else its signal or exit code.
fn terminated_word(terminated: &ContainerStateTerminated<'_, '_>) -> String {
    let (reason, signal) = (terminated.reason().text(), terminated.signal().number());
    if !reason.is_empty() {
        reason.to_owned()
    } else if signal != 0 {
        format!("Signal:{signal}")
    } else {
        format!("ExitCode:{}", terminated.exit_code().number())
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn containers_count_once_the_pod_is_initialized() {
        let sidecar = |started: bool| json!({"name": "s", "ready": true, "restartCount": 2, "started": started, "state": {"running": {}}});
        let main = json!({"name": "m", "ready": true, "restartCount": 3, "state": {"running": {}}});
        let failed = json!({"name": "f", "state": {"terminated": {"exitCode": 1, "reason": "Error"}}});
        let completed = json!({"name": "c", "state": {"terminated": {"exitCode": 0, "reason": "Completed"}}});
        let initialized = json!([{"type": "Initialized", "status": "True"}]);
        for (init, containers, conditions, ready, restarts, word) in [
            (sidecar(false), json!([main]), json!([]), 0, 2, "Init:0/1"),
            (sidecar(false), json!([main]), initialized, 1, 5, "Init:0/1"),
            (sidecar(true), json!([main]), json!([]), 2, 5, "Running"),
            (sidecar(true), json!([completed, failed]), json!([]), 1, 2, "Error"),
            (sidecar(true), json!([completed, main]), json!([]), 2, 5, "NotReady"),
        ] {
            let pod = Object::from_value(json!({
                "spec": {"initContainers": [{"name": "s", "restartPolicy": "Always"}]},
                "status": {"initContainerStatuses": [init], "containerStatuses": containers, "conditions": conditions},
            }))
            .unwrap();
            let progress = Progress::compute(&pod, "Running".to_owned());
            assert_eq!(
                (progress.ready, progress.restarts, progress.word.as_str()),
                (ready, restarts, word),
                "{pod:?}"
            );
        }
    }
}
