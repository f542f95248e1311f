//! The types of a structural schema, for server-side apply and everything else that traverses a [`Schema`].
//!
//! Kubernetes concept: `ToSchemaFromOpenAPI` of `k8s.io/kube-openapi/pkg/schemaconv`.

use std::collections::HashMap;
use std::sync::Arc;

use serde_json::Value;

use crate::Schema;
use crate::types::{Dialect, Field, KindEntry, ListKind, Scalar, Struct, Type, TypeId, TypeShape, TypeTable};
use registry_meta::GroupVersionKind;

use super::StructuralSchema;
use super::kind::Kind;
use super::metadata::OBJECT_META;
use super::node::{Additional, Flags, Node, NodeId, Tree};

struct Builder<'a> {
    tree: &'a Tree,
    table: TypeTable,
    /// Scalars, and lists and maps without properties of their own, which are shared.
    known: HashMap<Shape, TypeId>,
    names: Names,
}

/// A type that does not need to be repeated.
#[derive(Clone, Copy, PartialEq, Eq, Hash)]
enum Shape {
    Scalar(&'static str),
    List(TypeId, bool),
    Map(TypeId, bool),
}

/// The names of types, which all of them share.
struct Names {
    list: Arc<str>,
    map: Arc<str>,
    structure: Arc<str>,
}

// === impl Schema ===

impl Schema {
    /// Returns the schema of a custom kind.
    ///
    /// Conforming an object coerces its metadata and prunes it, and never fails for a wrong type elsewhere. Validation
    /// is left to the kind's strategy, which calls the [`StructuralSchema`] itself because it orders several validations.
    pub fn for_custom_resource(
        schema: &Value,
        preserve_unknown_fields: bool,
        kind: GroupVersionKind,
    ) -> Self {
        let structural = StructuralSchema::compile(schema, preserve_unknown_fields);
        let names = Names { list: "[]".into(), map: "map[string]".into(), structure: "struct {}".into() };
        let meta = TypeTable::meta();
        let table =
            TypeTable { dialect: Dialect::JsonSchema, base: Some(Arc::clone(meta)), ..TypeTable::default() };
        let mut builder = Builder { tree: &structural.tree, table, known: HashMap::new(), names };
        let root = builder.root(structural.root, kind);
        let mut table = builder.table;
        table.types.shrink_to_fit();
        let structural = Some(Arc::new(structural));
        // In kube-apiserver, custom resources are maps, whose keys are written by name.
        Self { structural, fields_by_name: true, ..Self::with_root(Arc::new(table), root) }
    }

    /// Returns the structural schema of a custom kind; `None` for other kinds.
    pub fn structural(&self) -> Option<&Arc<StructuralSchema>> {
        self.structural.as_ref()
    }
}

// === impl Builder ===

impl Builder<'_> {
    fn root(&mut self, id: NodeId, kind: GroupVersionKind) -> TypeId {
        let node = self.tree.node(id);
        let keeps_unknown = self.tree.preserves_unknown_fields || node.is(Flags::KEEPS_UNKNOWN);
        let root = self.structure(node, true, keeps_unknown);
        self.table.kinds.push(KindEntry {
            ty: root,
            group: kind.group.into(),
            version: kind.version.into(),
            kind: kind.kind.into(),
        });
        root
    }

    /// Returns the type of a schema. Schemas below one that keeps unknown fields do so, too.
    fn ty(&mut self, id: NodeId, keeps_unknown: bool) -> TypeId {
        let node = self.tree.node(id);
        let keeps_unknown = keeps_unknown || node.is(Flags::KEEPS_UNKNOWN);
        match node.kind {
            // Without a type, the value determines how it is managed.
            Kind::Any if node.properties.is_empty() => self.scalar("any", Scalar::Any),
            Kind::IntOrString => self.scalar("any", Scalar::Any),
            Kind::Any | Kind::Object => self.object(node, keeps_unknown),
            Kind::Array => self.list(node, keeps_unknown),
            // What has a format can be any scalar, except for base64.
            Kind::String => match node.rules.as_ref().and_then(|rules| rules.format.as_ref()) {
                Some(format) if &*format.name != "byte" => self.scalar("scalar", Scalar::IntOrString),
                _ => self.scalar("string", Scalar::String),
            },
            Kind::Integer => self.scalar("int64", Scalar::Int64),
            Kind::Number => self.scalar("float64", Scalar::Double),
            Kind::Boolean => self.scalar("bool", Scalar::Bool),
        }
    }

    fn scalar(&mut self, name: &'static str, scalar: Scalar) -> TypeId {
        self.shared(Shape::Scalar(name), |_| Type::unnamed(name.into(), TypeShape::Scalar(scalar)))
    }

    fn list(&mut self, node: &Node, keeps_unknown: bool) -> TypeId {
        let element = match node.items {
            Some(items) => self.ty(items, keeps_unknown),
            None => self.scalar("any", Scalar::Any),
        };
        let name = Arc::clone(&self.names.list);
        let declared = node.list_kind.is_some();
        let keys: Box<[Arc<str>]> = node.list_keys().into();
        let kind = node.list_kind.unwrap_or(ListKind::Atomic);
        let is_atomic = kind == ListKind::Atomic;
        let ty = Type::unnamed(name, TypeShape::List { element, kind, keys, declared });
        if is_atomic { self.shared(Shape::List(element, declared), |_| ty) } else { self.push(ty) }
    }

    fn object(&mut self, node: &Node, keeps_unknown: bool) -> TypeId {
        let is_embedded = node.is(Flags::EMBEDDED);
        if !node.properties.is_empty() || is_embedded || node.additional == Additional::Forbidden {
            return self.structure(node, is_embedded, keeps_unknown);
        }
        let value = match node.additional {
            Additional::Schema(id) => self.ty(id, keeps_unknown),
            _ => self.scalar("any", Scalar::Any),
        };
        let atomic = node.is(Flags::ATOMIC_MAP);
        let name = Arc::clone(&self.names.map);
        self.shared(Shape::Map(value, atomic), |_| Type::unnamed(name, TypeShape::Map { value, atomic }))
    }

    fn structure(&mut self, node: &Node, is_resource: bool, keeps_unknown: bool) -> TypeId {
        let mut fields = Vec::with_capacity(node.properties.len() + 3);
        for (name, id) in &node.properties {
            if !(is_resource && matches!(&**name, "apiVersion" | "kind" | "metadata")) {
                let default = self.tree.node(*id).default.clone();
                fields.push(Field { default, ..Field::new(Arc::clone(name), self.ty(*id, keeps_unknown)) });
            }
        }
        if is_resource {
            let string = self.scalar("string", Scalar::String);
            fields.push(Field::new("apiVersion", string));
            fields.push(Field::new("kind", string));
            let metadata = TypeTable::meta().names.get(OBJECT_META);
            fields.extend(metadata.map(|metadata| Field::new("metadata", *metadata)));
            fields.sort_unstable_by(|left, right| left.name.cmp(&right.name));
        }
        let shape = Struct {
            fields: fields.into(),
            atomic: node.is(Flags::ATOMIC_MAP),
            keeps_unknown: keeps_unknown || node.additional == Additional::Allowed,
            ..Struct::default()
        };
        let name = Arc::clone(&self.names.structure);
        self.push(Type::unnamed(name, TypeShape::Struct(shape)))
    }

    fn shared(&mut self, shape: Shape, make: impl FnOnce(&mut Self) -> Type) -> TypeId {
        if let Some(id) = self.known.get(&shape) {
            return *id;
        }
        let ty = make(self);
        let id = self.push(ty);
        self.known.insert(shape, id);
        id
    }

    fn push(&mut self, ty: Type) -> TypeId {
        self.table.push(ty)
    }
}
