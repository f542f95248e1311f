//! `DefaultTolerationSeconds`: a pod stays on a node that is not ready or not reachable for a while.

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::admission::{MutatingAdmission, ObjectWriteMut, Operation};
use registry_core::api::{Object, StatusError};
use resource_views::Typed as _;
use resource_views::core::v1::{Pod, Toleration};
use serde_json::{Value, json};

use crate::api::core::pods::Pods;

const TAINTS: [&str; 2] = ["node.kubernetes.io/not-ready", "node.kubernetes.io/unreachable"];

/// The plug-in.
pub(super) struct TolerationSeconds(pub(super) DefaultTolerations);

/// For how many seconds pods tolerate the two taints, unless they say otherwise.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct DefaultTolerations {
    /// The node is not ready.
    pub not_ready: i64,
    /// The node cannot be reached.
    pub unreachable: i64,
}

impl Default for DefaultTolerations {
    fn default() -> Self {
        Self { not_ready: 300, unreachable: 300 }
    }
}

#[async_trait]
impl MutatingAdmission for TolerationSeconds {
    async fn admit(&self, _: &RequestContext, write: ObjectWriteMut<'_>) -> Result<(), StatusError> {
        let concerned = write.attributes.are_of::<Pods>(Operation::WRITES);
        if let (true, Some(pod)) = (concerned, write.object) {
            tolerate(pod, self.0);
        }
        Ok(())
    }
}

fn tolerate(pod: &mut Object, seconds: DefaultTolerations) {
    let mut tolerations = Pod(pod).spec().tolerations().values().to_vec();
    let given = tolerations.len();
    for (taint, seconds) in TAINTS.into_iter().zip([seconds.not_ready, seconds.unreachable]) {
        if !tolerations.iter().any(|toleration| tolerates(toleration, taint)) {
            tolerations.push(json!({
                "key": taint, "operator": "Exists", "effect": "NoExecute", "tolerationSeconds": seconds,
            }));
        }
    }
    if tolerations.len() > given {
        pod.set(&["spec", "tolerations"], tolerations.into());
    }
}

/// An empty key tolerates every taint, an empty effect every effect.
fn tolerates(toleration: &Value, taint: &str) -> bool {
    let toleration = Toleration::from_value(toleration);
    matches!(toleration.effect().text(), "" | "NoExecute")
        && (toleration.key().text().is_empty() || toleration.key().text() == taint)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn only_what_is_not_tolerated_yet_is_added() {
        let tolerated = |tolerations: Value| {
            let mut pod = Object::from_value(json!({"spec": {"tolerations": tolerations}})).unwrap();
            tolerate(&mut pod, DefaultTolerations::default());
            pod.get(&["spec", "tolerations"]).and_then(Value::as_array).map_or(0, Vec::len)
        };
        assert_eq!(tolerated(json!([])), 2);
        assert_eq!(tolerated(json!([{"operator": "Exists"}])), 1);
        assert_eq!(tolerated(json!([{"key": TAINTS[0], "operator": "Exists", "effect": "NoExecute"}])), 2);
        assert_eq!(tolerated(json!([{"key": TAINTS[0], "operator": "Exists", "effect": "NoSchedule"}])), 3);
    }
}
