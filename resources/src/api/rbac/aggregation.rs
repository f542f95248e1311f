//! Writes the rules of aggregated cluster roles: those of all cluster roles that their selectors select.
//!
//! kube-controller-manager does the same, by the same rules in the same order, so that neither changes what the other has
//! written.
//!
//! Kubernetes concept: `pkg/controller/clusterroleaggregation`.

use std::collections::HashSet;
use std::sync::Arc;
use std::time::Duration;

use registry_core::api::selector::LabelSelector;
use registry_core::api::{Object, StatusError};
use registry_core::registry::{Compiled, InformerTask, InstalledApi, Synced};
use registry_core::resource::Resource;
use resource_views::rbac::v1::ClusterRole;
use serde_json::Value;

use super::clusterroles::ClusterRoles;
use crate::support::system_writer::SystemWriter;

/// Time before another attempt after a failure.
const BACKOFF: Duration = Duration::from_secs(1);
/// Time after a change in which further changes are collected.
const GATHER: Duration = Duration::from_millis(20);

/// Keeps aggregated cluster roles up to date.
pub struct RoleAggregation {
    roles: Arc<Compiled<Object>>,
    synced: Synced,
    writer: SystemWriter,
}

// === impl RoleAggregation ===

impl RoleAggregation {
    /// Creates the controller, and the informer that it needs; `None` if cluster roles are not served.
    pub fn new(installed: &InstalledApi) -> Option<(Self, InformerTask)> {
        let (roles, informer) = Compiled::informer(installed.store(ClusterRoles::TYPE)?, Some);
        let task = informer.into_task();
        let writer = SystemWriter::for_resource::<ClusterRoles>(installed)?;
        Some((Self { roles, synced: task.synced(), writer }, task))
    }

    /// Runs until it is dropped.
    pub async fn run(self) {
        self.synced.wait().await;
        let mut changes = self.roles.subscribe();
        loop {
            changes.mark_unchanged();
            let refreshed = self.refresh().await;
            if let Err(failure) = &refreshed {
                tracing::warn!("cannot write the rules of an aggregated cluster role: {failure}");
            }
            // The sender lives as long as this.
            tokio::select! {
                _ = changes.changed() => {},
                () = tokio::time::sleep(BACKOFF), if refreshed.is_err() => {},
            }
            tokio::time::sleep(GATHER).await;
        }
    }

    /// Writes the rules of the aggregated roles that have others. A role that aggregates aggregated ones is written again
    /// when those have changed.
    async fn refresh(&self) -> Result<(), StatusError> {
        let roles = self.roles.snapshot();
        let all: Vec<&Object> = roles.values().map(AsRef::as_ref).collect();
        let mut failed = Ok(());
        for aggregated in roles.values().filter(|role| ClusterRole(role).aggregation_rule().exists()) {
            let rules = aggregate(aggregated, &all);
            let Some(rules) = rules.filter(|rules| rules.as_slice() != rules_of(aggregated)) else {
                continue;
            };
            let written = self.writer.change("", aggregated.name(), |present| {
                let mut role = present.clone();
                role.set(&["rules"], Value::Array(rules.clone()));
                role
            });
            match written.await {
                Err(failure) if !failure.is_not_found() => failed = Err(failure),
                _ => {}
            }
        }
        failed
    }
}

/// Returns the rules that an aggregated role should have; `None` if a selector is invalid. `roles` are sorted by name.
fn aggregate(aggregated: &Object, roles: &[&Object]) -> Option<Vec<Value>> {
    let selectors = ClusterRole(aggregated).aggregation_rule().cluster_role_selectors().values();
    let mut seen = HashSet::new();
    let mut rules = Vec::new();
    for selector in selectors {
        let selector = LabelSelector::from_object(selector).ok()?;
        let others = roles.iter().filter(|role| role.name() != aggregated.name());
        let selected = others.filter(|role| {
            let metadata = ClusterRole(role).metadata();
            let labels = metadata.labels();
            selector.matches(|key| labels.entry(key).optional_text())
        });
        for rule in selected.flat_map(|role| rules_of(role)) {
            if seen.insert(rule.to_string()) {
                rules.push(rule.clone());
            }
        }
    }
    Some(rules)
}

/// Returns the rules of a role, in a namespace or in the cluster: both have the field.
pub(super) fn rules_of(role: &Object) -> &[Value] {
    ClusterRole(role).rules().values()
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn role(name: &str, label: &str, rules: &Value) -> Object {
        let metadata = json!({ "name": name, "labels": { label: "true" } });
        Object::from_value(json!({ "metadata": metadata, "rules": rules })).unwrap()
    }

    #[test]
    fn an_aggregated_role_has_each_rule_of_the_selected_ones_once() {
        let read = json!({ "apiGroups": [""], "resources": ["pods"], "verbs": ["get"] });
        let write = json!({ "apiGroups": [""], "resources": ["pods"], "verbs": ["update"] });
        let mut all = role("all", "view", &json!([write]));
        let selectors = json!([{ "matchLabels": { "edit": "true" } }, { "matchLabels": { "view": "true" } }]);
        all.set(&["aggregationRule", "clusterRoleSelectors"], selectors);
        let roles = [
            role("a", "view", &json!([read])),
            all.clone(),
            role("b", "edit", &json!([write, read])),
            role("c", "other", &json!([{ "verbs": ["*"] }])),
        ];
        assert_eq!(
            aggregate(&all, &roles.iter().collect::<Vec<_>>()),
            Some(vec![write.clone(), read.clone()])
        );
        all.set(&["aggregationRule", "clusterRoleSelectors"], json!([{ "matchLabels": { "-": "!" } }]));
        assert_eq!(aggregate(&all, &roles.iter().collect::<Vec<_>>()), None);
    }

    #[tokio::test]
    async fn the_rules_follow_the_roles() {
        let installed = crate::testing::installed(&["clusterroles"]);
        let (aggregation, informer) = RoleAggregation::new(&installed).unwrap();
        let running = [tokio::spawn(informer.run()), tokio::spawn(aggregation.run())];
        let writer = SystemWriter::for_resource::<ClusterRoles>(&installed).unwrap();
        let rule = |verb: &str| json!({ "apiGroups": [""], "resources": ["pods"], "verbs": [verb] });
        let mut all = role("all", "x", &Value::Null);
        all.set(&["aggregationRule", "clusterRoleSelectors"], json!([{ "matchLabels": { "view": "true" } }]));
        writer.create(all).await.unwrap();
        writer.create(role("a", "view", &json!([rule("get")]))).await.unwrap();
        writer.create(role("b", "view", &json!([rule("list")]))).await.unwrap();
        let becomes = async |expected: Value| {
            for _ in 0..500 {
                let present = writer.get_newest("", "all").await.unwrap().unwrap();
                if present.get(&["rules"]).unwrap_or(&Value::Null) == &expected {
                    return;
                }
                tokio::time::sleep(Duration::from_millis(10)).await;
            }
            panic!("the rules do not become {expected}");
        };
        becomes(json!([rule("get"), rule("list")])).await;
        writer.remove("", "a").await.unwrap();
        becomes(json!([rule("list")])).await;
        for task in running {
            task.abort();
        }
    }
}
