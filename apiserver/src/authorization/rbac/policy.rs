//! Bindings by their subjects, with the places of their roles: a state that is shared with readers as a whole.
//!
//! A role has a place as long as it exists or a binding refers to it. Grants know the place, so that a check looks up no
//! name, and a change of a role is one change, however many bindings refer to it.

use std::collections::HashSet;
use std::fmt::{self, Write as _};
use std::sync::Arc;

use registry_core::api::Object;
use registry_core::context::{ServiceAccountName, UserInfo};
use serde_json::Value;

use super::rules::Role;

/// Length of most reasons for which requests are allowed.
const TYPICAL_REASON_LENGTH: usize = 128;

/// Roles and bindings. Copies share what they have in common.
#[derive(Clone, Default)]
pub(super) struct Policy {
    /// The roles by their places; `None` at places that bindings of missing roles have, and at free ones.
    roles: imbl::Vector<Option<Arc<Role>>>,
    /// The places by the keys of roles.
    places: imbl::HashMap<Arc<str>, Place>,
    /// The places that are free.
    free: imbl::Vector<usize>,
    cluster: Subjects,
    namespaces: imbl::HashMap<Arc<str>, Subjects>,
    /// All bindings by their keys in the store, to find what a change replaces.
    bindings: imbl::HashMap<Arc<str>, Bound>,
}

/// The place of a role.
#[derive(Clone, Copy)]
struct Place {
    at: usize,
    /// Number of bindings that refer to the role.
    bindings: usize,
}

/// A binding, and the place of its role.
#[derive(Clone)]
struct Bound {
    binding: Arc<Binding>,
    /// `None` if the reference is to no kind of role.
    role: Option<usize>,
}

/// The grants to users and groups, in the cluster or in a namespace.
#[derive(Clone, Default)]
struct Subjects {
    users: Grants,
    groups: Grants,
}

/// Grants by the name of their subject, sorted by the name of the binding.
type Grants = imbl::HashMap<Arc<str>, Arc<Vec<Grant>>>;

/// A binding that applies to a subject.
#[derive(Clone)]
pub(super) struct Grant {
    binding: Arc<Binding>,
    /// The position of the subject in the binding.
    subject: usize,
    /// The place of the role.
    role: Option<usize>,
}

/// A binding of a role.
pub(super) struct Binding {
    name: Box<str>,
    /// Empty for bindings in the whole cluster.
    namespace: Box<str>,
    role_kind: Box<str>,
    role_name: Box<str>,
    /// The key of the role in a policy; `None` if the reference is to no kind of role.
    role: Option<Arc<str>>,
    subjects: Box<[Subject]>,
}

struct Subject {
    kind: Box<str>,
    name: Box<str>,
    /// The namespace of a service account: the binding's, if it names none.
    namespace: Box<str>,
}

/// The user or the group that a subject stands for.
enum Holder {
    User(Arc<str>),
    Group(Arc<str>),
}

/// Returns the key of a role. The namespace is empty for cluster roles.
pub(super) fn role_key(namespace: &str, name: &str) -> String {
    format!("{namespace}/{name}")
}

// === impl Policy ===

impl Policy {
    /// Sets or removes a role.
    pub(super) fn set_role(&mut self, key: &Arc<str>, role: Option<Arc<Role>>) {
        if role.is_none() && !self.places.contains_key(key) {
            return;
        }
        let at = self.place(key).at;
        self.roles.set(at, role);
        self.free_if_unused(key);
    }

    /// Sets or removes the binding that has this key in the store.
    pub(super) fn set_binding(&mut self, key: &Arc<str>, binding: Option<Arc<Binding>>) {
        let new = binding.map(|binding| Bound { role: self.refer(&binding), binding });
        let old = match &new {
            Some(new) => self.bindings.insert(key.clone(), new.clone()),
            None => self.bindings.remove(&**key),
        };
        if let Some(old) = old {
            self.change(&old, Subjects::remove);
            self.release(&old.binding);
        }
        if let Some(new) = new {
            self.change(&new, Subjects::add);
        }
    }

    /// Returns the place of a role, which it has from now on.
    fn place(&mut self, key: &Arc<str>) -> Place {
        if let Some(place) = self.places.get(key) {
            return *place;
        }
        let at = self.free.pop_back().unwrap_or_else(|| {
            self.roles.push_back(None);
            self.roles.len() - 1
        });
        let place = Place { at, bindings: 0 };
        self.places.insert(key.clone(), place);
        place
    }

    /// Returns the place of a binding's role, which it has as long as the binding exists.
    fn refer(&mut self, binding: &Binding) -> Option<usize> {
        let key = binding.role.as_ref()?;
        let place = self.place(key);
        self.places.insert(key.clone(), Place { bindings: place.bindings + 1, ..place });
        Some(place.at)
    }

    fn release(&mut self, binding: &Binding) {
        let Some(key) = &binding.role else { return };
        if let Some(place) = self.places.get_mut(key) {
            place.bindings = place.bindings.saturating_sub(1);
        }
        self.free_if_unused(key);
    }

    fn free_if_unused(&mut self, key: &Arc<str>) {
        let Some(place) = self.places.get(key).copied() else { return };
        if place.bindings == 0 && self.roles.get(place.at).is_none_or(Option::is_none) {
            self.places.remove(key);
            self.free.push_back(place.at);
        }
    }

    fn change(&mut self, bound: &Bound, change: fn(&mut Subjects, &Bound)) {
        let namespace = &bound.binding.namespace;
        if namespace.is_empty() {
            change(&mut self.cluster, bound);
            return;
        }
        let mut subjects = self.namespaces.get(&**namespace).cloned().unwrap_or_default();
        change(&mut subjects, bound);
        if subjects.is_empty() {
            self.namespaces.remove(&**namespace);
        } else {
            self.namespaces.insert(Arc::from(&**namespace), subjects);
        }
    }

    /// Returns the grants to a user in a namespace, those of the whole cluster first. A binding that applies to the user for
    /// several reasons comes several times.
    pub(super) fn grants<'a>(
        &'a self,
        user: &'a UserInfo,
        namespace: &str,
    ) -> impl Iterator<Item = &'a Grant> + use<'a> {
        let own = Some(namespace).filter(|namespace| !namespace.is_empty());
        let own = own.and_then(|namespace| self.namespaces.get(namespace));
        std::iter::once(&self.cluster).chain(own).flat_map(|subjects| subjects.grants_to(user))
    }

    /// Returns the grants to a user in a namespace, each binding once, sorted by name.
    pub(super) fn distinct_grants<'a>(&'a self, user: &'a UserInfo, namespace: &str) -> Vec<&'a Grant> {
        let mut seen = HashSet::new();
        let mut found: Vec<&Grant> =
            self.grants(user, namespace).filter(|grant| seen.insert(Arc::as_ptr(&grant.binding))).collect();
        found.sort_by(|left, right| left.binding.order().cmp(&right.binding.order()));
        found
    }

    /// Returns the role that a grant is about, if it exists.
    pub(super) fn role_of(&self, grant: &Grant) -> Option<&Arc<Role>> {
        self.roles.get(grant.role?)?.as_ref()
    }

    /// Returns the number of places of roles, and how many of them are free.
    #[cfg(test)]
    pub(super) fn places(&self) -> (usize, usize) {
        (self.roles.len(), self.free.len())
    }
}

// === impl Subjects ===

impl Subjects {
    fn grants_to<'a>(&'a self, user: &'a UserInfo) -> impl Iterator<Item = &'a Grant> + use<'a> {
        let own = self.users.get(user.name.as_str());
        let groups = user.groups.iter().filter_map(|group| self.groups.get(group.as_str()));
        own.into_iter().chain(groups).flat_map(|grants| grants.iter())
    }

    fn is_empty(&self) -> bool {
        self.users.is_empty() && self.groups.is_empty()
    }

    fn add(&mut self, bound: &Bound) {
        let Bound { binding, role } = bound;
        for (subject, holder) in binding.holders() {
            let (grants, name) = self.grants_of(holder);
            if !grants.contains_key(&*name) {
                grants.insert(name.clone(), Arc::default());
            }
            let Some(list) = grants.get_mut(&*name).map(Arc::make_mut) else { continue };
            // The first subject that applies is the one that is reported.
            if let Err(at) = list.binary_search_by(|grant| grant.binding.name.cmp(&binding.name)) {
                list.insert(at, Grant { binding: binding.clone(), subject, role: *role });
            }
        }
    }

    fn remove(&mut self, bound: &Bound) {
        let binding = &bound.binding;
        for (_, holder) in binding.holders() {
            let (grants, name) = self.grants_of(holder);
            let Some(list) = grants.get_mut(&*name).map(Arc::make_mut) else { continue };
            if let Ok(at) = list.binary_search_by(|grant| grant.binding.name.cmp(&binding.name)) {
                list.remove(at);
            }
            if list.is_empty() {
                grants.remove(&*name);
            }
        }
    }

    fn grants_of(&mut self, holder: Holder) -> (&mut Grants, Arc<str>) {
        match holder {
            Holder::User(name) => (&mut self.users, name),
            Holder::Group(name) => (&mut self.groups, name),
        }
    }
}

// === impl Grant ===

impl Grant {
    /// Returns the reason for which a request is allowed.
    pub(super) fn reason(&self) -> String {
        let mut reason = String::with_capacity(TYPICAL_REASON_LENGTH);
        // Writing to a string does not fail.
        let _ = write!(reason, "RBAC: allowed by {self}");
        reason
    }

    /// Returns the error about a role that does not exist.
    pub(super) fn missing_role(&self) -> String {
        let binding = &self.binding;
        if binding.role.is_none() {
            return format!("unsupported role reference kind: {:?}", binding.role_kind);
        }
        let kind = if &*binding.role_kind == "Role" { "role" } else { "clusterrole" };
        format!("{kind}.rbac.authorization.k8s.io {:?} not found", binding.role_name)
    }
}

impl fmt::Display for Grant {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let binding = &self.binding;
        if binding.namespace.is_empty() {
            f.write_str("ClusterRoleBinding ")?;
            write_quoted(f, &[&binding.name])?;
        } else {
            f.write_str("RoleBinding ")?;
            write_quoted(f, &[&binding.name, "/", &binding.namespace])?;
        }
        for text in [" of ", &binding.role_kind, " "] {
            f.write_str(text)?;
        }
        write_quoted(f, &[&binding.role_name])?;
        f.write_str(" to ")?;
        let Some(subject) = binding.subjects.get(self.subject) else { return Ok(()) };
        f.write_str(&subject.kind)?;
        f.write_str(" ")?;
        match &*subject.kind {
            "ServiceAccount" => write_quoted(f, &[&subject.name, "/", &subject.namespace]),
            _ => write_quoted(f, &[&subject.name]),
        }
    }
}

/// Writes a text in quotes, given in parts. Names rarely need escapes, and every allowed request has such a reason.
fn write_quoted(f: &mut fmt::Formatter<'_>, parts: &[&str]) -> fmt::Result {
    let is_plain = |byte: u8| (b' '..=b'~').contains(&byte) && byte != b'"' && byte != b'\\';
    if !parts.iter().all(|part| part.bytes().all(is_plain)) {
        return write!(f, "{:?}", parts.concat());
    }
    f.write_str("\"")?;
    parts.iter().try_for_each(|part| f.write_str(part))?;
    f.write_str("\"")
}

// === impl Binding ===

impl Binding {
    /// Compiles a binding, as stored.
    pub(super) fn new(object: &Object, is_namespaced: bool) -> Self {
        let text = |value: &Value, field: &str| -> Box<str> {
            value.get(field).and_then(Value::as_str).unwrap_or_default().into()
        };
        let namespace = if is_namespaced { object.namespace() } else { "" };
        let role_ref = object.get(&["roleRef"]).unwrap_or(&Value::Null);
        let (role_kind, role_name) = (text(role_ref, "kind"), text(role_ref, "name"));
        let role = match &*role_kind {
            "ClusterRole" => Some(role_key("", &role_name)),
            "Role" if is_namespaced => Some(role_key(namespace, &role_name)),
            _ => None,
        };
        let subjects = object.get(&["subjects"]).and_then(Value::as_array).into_iter().flatten();
        let subjects = subjects.map(|subject| {
            let own: Box<str> = text(subject, "namespace");
            let namespace = if own.is_empty() { namespace.into() } else { own };
            Subject { kind: text(subject, "kind"), name: text(subject, "name"), namespace }
        });
        Self {
            name: object.name().into(),
            namespace: namespace.into(),
            role_kind,
            role_name,
            role: role.map(Into::into),
            subjects: subjects.collect(),
        }
    }

    /// Returns the subjects that requests can have, with their positions.
    fn holders(&self) -> impl Iterator<Item = (usize, Holder)> {
        self.subjects.iter().enumerate().filter_map(|(at, subject)| {
            let name = &subject.name;
            let holder = match &*subject.kind {
                "User" => Holder::User(Arc::from(&**name)),
                "Group" => Holder::Group(Arc::from(&**name)),
                "ServiceAccount" if !subject.namespace.is_empty() => {
                    let account = ServiceAccountName { namespace: &subject.namespace, name };
                    Holder::User(account.user_name().into())
                }
                _ => return None,
            };
            Some((at, holder))
        })
    }

    /// Returns the key of the order in which bindings are listed.
    fn order(&self) -> (&str, &str) {
        (&self.namespace, &self.name)
    }
}
