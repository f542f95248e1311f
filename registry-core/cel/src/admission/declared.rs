//! The declared types of the variables of admission.

use std::collections::BTreeMap;
use std::sync::Arc;

use crate::syntax::ast::Name;
use crate::types::{DeclType, Field, ListKind, ObjectType, Shape};

/// The name of the type of applied configurations. The name of the type of a field continues with the field's path.
pub(super) const OBJECT_TYPE: &str = "Object";
/// The type of the operations of a JSON patch.
pub(super) const JSON_PATCH_TYPE: &str = "JSONPatch";

fn object<const N: usize>(name: &str, fields: [(&str, DeclType); N]) -> DeclType {
    DeclType::new(Shape::Object(Arc::new(ObjectType::new(name, declared(fields)))))
}

fn declared<const N: usize>(fields: [(&str, DeclType); N]) -> BTreeMap<Name, Field> {
    let field = |(name, declared)| (Name::from(name), Field { json_name: Name::from(name), declared });
    fields.into_iter().map(field).collect()
}

fn text() -> DeclType {
    DeclType::new(Shape::String)
}

fn list(of: DeclType) -> DeclType {
    DeclType::new(Shape::List(Arc::new(of), ListKind::Atomic))
}

fn map(of: DeclType) -> DeclType {
    DeclType::new(Shape::Map(Arc::new(of)))
}

fn time() -> DeclType {
    DeclType::new(Shape::DateTime)
}

/// The variable `request`.
///
/// Kubernetes concept: `AdmissionRequest` in `k8s.io/api/admission/v1`.
pub(super) fn request() -> DeclType {
    let kind = || {
        let fields = [("group", text()), ("version", text()), ("kind", text())];
        object("kubernetes.GroupVersionKind", fields)
    };
    let resource = || {
        let fields = [("group", text()), ("version", text()), ("resource", text())];
        object("kubernetes.GroupVersionResource", fields)
    };
    let user =
        [("username", text()), ("uid", text()), ("groups", list(text())), ("extra", map(list(text())))];
    let fields = [
        ("kind", kind()),
        ("resource", resource()),
        ("subResource", text()),
        ("requestKind", kind()),
        ("requestResource", resource()),
        ("requestSubResource", text()),
        ("name", text()),
        ("namespace", text()),
        ("operation", text()),
        ("userInfo", object("kubernetes.UserInfo", user)),
        ("dryRun", DeclType::new(Shape::Bool)),
        ("options", DeclType::new(Shape::Dyn)),
    ];
    object("kubernetes.AdmissionRequest", fields)
}

/// The variable `namespaceObject`.
pub(super) fn namespace() -> DeclType {
    let condition = [
        ("status", text()),
        ("type", text()),
        ("lastTransitionTime", time()),
        ("message", text()),
        ("reason", text()),
    ];
    let conditions = list(object("kubernetes.NamespaceCondition", condition));
    let status = [("conditions", conditions), ("phase", text())];
    let metadata = [
        ("name", text()),
        ("generateName", text()),
        ("namespace", text()),
        ("labels", map(text())),
        ("annotations", map(text())),
        ("UID", text()),
        ("creationTimestamp", time()),
        ("deletionGracePeriodSeconds", DeclType::new(Shape::Int)),
        ("deletionTimestamp", time()),
        ("generation", DeclType::new(Shape::Int)),
        ("resourceVersion", text()),
        ("finalizers", list(text())),
    ];
    let fields = [
        ("metadata", object("kubernetes.NamespaceMetadata", metadata)),
        ("spec", object("kubernetes.NamespaceSpec", [("finalizers", list(text()))])),
        ("status", object("kubernetes.NamespaceStatus", status)),
    ];
    object("kubernetes.Namespace", fields)
}

/// An operation of a JSON patch.
pub(super) fn json_patch() -> ObjectType {
    let fields = [("op", text()), ("path", text()), ("from", text()), ("value", DeclType::new(Shape::Dyn))];
    ObjectType::new(JSON_PATCH_TYPE, declared(fields))
}
