//! Random changes of roles and bindings, compared with an implementation that scans all of them for each check.

use std::collections::BTreeMap;

use proptest::prelude::*;

use super::*;

const NAMESPACES: [&str; 3] = ["", "a", "b"];
const NAMES: [&str; 3] = ["x", "y", "z"];
const VERBS: [&str; 3] = ["get", "list", "delete"];
const RESOURCES: [&str; 5] = ["pods", "secrets", "*", "pods/log", "*/log"];

#[derive(Clone, Debug)]
enum Change {
    /// Writes a role that allows these verbs on a resource.
    Role {
        namespace: usize,
        name: usize,
        verbs: Vec<usize>,
        resource: usize,
    },
    RemoveRole {
        namespace: usize,
        name: usize,
    },
    Bind {
        namespace: usize,
        name: usize,
        to_cluster_role: bool,
        role: usize,
        subjects: Vec<(bool, usize)>,
    },
    Unbind {
        namespace: usize,
        name: usize,
    },
}

/// A binding: the kind and the name of its role, and its subjects: whether each is a group, and its name.
type BindingModel = (bool, usize, Vec<(bool, usize)>);

#[derive(Default)]
struct Model {
    /// The verbs and the resource of each role.
    roles: BTreeMap<(usize, usize), (Vec<usize>, usize)>,
    bindings: BTreeMap<(usize, usize), BindingModel>,
}

fn change() -> impl Strategy<Value = Change> {
    let place = (0..NAMESPACES.len(), 0..NAMES.len());
    let verbs = prop::collection::vec(0..VERBS.len(), 0..3);
    let subjects = prop::collection::vec((any::<bool>(), 0..NAMES.len()), 0..4);
    prop_oneof![
        (place.clone(), verbs, 0..RESOURCES.len()).prop_map(|((namespace, name), verbs, resource)| {
            Change::Role { namespace, name, verbs, resource }
        }),
        place.clone().prop_map(|(namespace, name)| Change::RemoveRole { namespace, name }),
        (place.clone(), any::<bool>(), 0..NAMES.len(), subjects).prop_map(
            |((namespace, name), to_cluster_role, role, subjects)| Change::Bind {
                namespace,
                name,
                to_cluster_role,
                role,
                subjects
            }
        ),
        place.prop_map(|(namespace, name)| Change::Unbind { namespace, name }),
    ]
}

impl Model {
    fn apply(&mut self, change: &Change) {
        match change.clone() {
            Change::Role { namespace, name, verbs, resource } => {
                self.roles.insert((namespace, name), (verbs, resource));
            }
            Change::RemoveRole { namespace, name } => {
                self.roles.remove(&(namespace, name));
            }
            Change::Bind { namespace, name, to_cluster_role, role, subjects } => {
                self.bindings.insert((namespace, name), (to_cluster_role, role, subjects));
            }
            Change::Unbind { namespace, name } => {
                self.bindings.remove(&(namespace, name));
            }
        }
    }

    fn allows(&self, (user, group): (usize, usize), namespace: usize, verb: &str, resource: &str) -> bool {
        self.bindings.iter().any(|((scope, _), (to_cluster_role, role, subjects))| {
            let holds = subjects.iter().any(|subject| *subject == (false, user) || *subject == (true, group));
            let applies = *scope == 0 || *scope == namespace;
            // A binding in the whole cluster cannot refer to a role of a namespace.
            let role_scope =
                if *to_cluster_role { Some(0) } else { Some(*scope).filter(|scope| *scope != 0) };
            let role = role_scope.and_then(|scope| self.roles.get(&(scope, *role)));
            let allows = role.is_some_and(|(verbs, of)| {
                let is_about = match RESOURCES[*of] {
                    "*" => true,
                    "*/log" => resource.ends_with("/log"),
                    own => own == resource,
                };
                is_about && verbs.iter().any(|own| VERBS[*own] == verb)
            });
            holds && applies && allows
        })
    }
}

impl Fixture {
    fn change(&mut self, change: &Change) {
        match change {
            Change::Role { namespace, name, verbs, resource } => {
                let verbs: Vec<&str> = verbs.iter().map(|verb| VERBS[*verb]).collect();
                let rule = rule(&[""], &[RESOURCES[*resource]], &verbs);
                self.role(NAMESPACES[*namespace], NAMES[*name], &json!([rule]));
            }
            Change::RemoveRole { namespace, name } => {
                let key = role_key(NAMESPACES[*namespace], NAMES[*name]);
                self.apply(&format!("/roles/{key}"), Content::Role(key.into(), None));
            }
            Change::Bind { namespace, name, to_cluster_role, role, subjects } => {
                let kind = if *to_cluster_role { "ClusterRole" } else { "Role" };
                let subjects = subjects.iter().map(|(is_group, name)| {
                    json!({ "kind": if *is_group { "Group" } else { "User" }, "name": NAMES[*name] })
                });
                let subjects = subjects.collect::<Vec<_>>().into();
                self.bind(NAMESPACES[*namespace], NAMES[*name], (kind, NAMES[*role]), &subjects);
            }
            Change::Unbind { namespace, name } => {
                let key = format!("/bindings/{}/{}", NAMESPACES[*namespace], NAMES[*name]);
                self.apply(&key, Content::Binding(None));
            }
        }
    }

    fn compare(&self, model: &Model, after: &Change) {
        for (user_name, name) in NAMES.iter().enumerate() {
            let group = (user_name + 1) % NAMES.len();
            let user = user(name, &[NAMES[group]]);
            for (namespace, namespace_name) in NAMESPACES.iter().enumerate() {
                let scope = match *namespace_name {
                    "" => "/api/v1".to_owned(),
                    name => format!("/api/v1/namespaces/{name}"),
                };
                for (verb, method, resource, rest) in [
                    ("get", "GET", "pods", "pods/p"),
                    ("list", "GET", "pods", "pods"),
                    ("delete", "DELETE", "secrets", "secrets/s"),
                    ("get", "GET", "pods/log", "pods/p/log"),
                    ("get", "GET", "services/log", "services/s/log"),
                ] {
                    let path = format!("{scope}/{rest}");
                    let expected = model.allows((user_name, group), namespace, verb, resource);
                    assert_eq!(
                        self.allows(&user, method, &path),
                        expected,
                        "{method} {path} after {after:?}"
                    );
                }
            }
        }
    }
}

proptest! {
    #![proptest_config(ProptestConfig { failure_persistence: None, cases: 64, ..ProptestConfig::default() })]

    #[test]
    fn checks_equal_a_scan_after_every_change(changes in prop::collection::vec(change(), 1..60)) {
        let mut fixture = Fixture::new();
        let mut model = Model::default();
        for change in &changes {
            fixture.change(change);
            model.apply(change);
            fixture.compare(&model, change);
        }
        for namespace in 0..NAMESPACES.len() {
            for name in 0..NAMES.len() {
                fixture.change(&Change::RemoveRole { namespace, name });
                fixture.change(&Change::Unbind { namespace, name });
            }
        }
        let (places, free) = fixture.rbac.index.policy().places();
        prop_assert_eq!(places, free, "places of roles are lost");
    }
}
