//! Table columns: what `kubectl get` prints.
//!
//! Kubernetes concept: [`meta.k8s.io/v1 Table`](https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables).

use serde_json::Value;

use crate::api::Object;

/// One column of a resource's table.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// The heading.
    pub name: &'static str,
    /// What its cells hold.
    pub kind: ColumnType,
    /// How clients may show them.
    pub format: ColumnFormat,
    /// 0: always shown; more: in wide output only.
    pub priority: i32,
    /// What the column means.
    pub description: &'static str,
    /// How a cell is made.
    pub cell: Cell,
}

/// What the cells of a column hold.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// Text.
    String,
    /// A whole number.
    Integer,
    /// A number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// A moment, as RFC 3339 in CRDs and as an age in built-in tables.
    Date,
}

/// How clients may show the cells of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnFormat {
    /// As they are.
    Plain,
    /// As the object's name.
    Name,
}

/// How a cell is made from an object.
#[derive(Clone, Copy)]
pub enum Cell {
    /// The value at this path; absent gives null.
    Path(&'static [&'static str]),
    /// How long ago the moment at this path was, as `5m`, `3d4h`; absent gives `<unknown>`.
    Age(&'static [&'static str]),
    /// A function of the object.
    Computed(fn(&Object) -> Value),
}

impl std::fmt::Debug for Cell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Path(path) => f.debug_tuple("Path").field(path).finish(),
            Self::Age(path) => f.debug_tuple("Age").field(path).finish(),
            Self::Computed(_) => f.write_str("Computed"),
        }
    }
}

// === impl Column ===

impl Column {
    /// The column every table begins with.
    pub const NAME: Self = Self {
        name: "Name",
        kind: ColumnType::String,
        format: ColumnFormat::Name,
        priority: 0,
        description: "Name must be unique within a namespace. Is required when creating resources, although some \
                      resources may allow a client to request the generation of an appropriate name \
                      automatically. Name is primarily intended for creation idempotence and configuration \
                      definition. Cannot be updated. More info: \
                      https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names",
        cell: Cell::Path(&["metadata", "name"]),
    };

    /// The column that ends the table of a custom kind.
    pub const AGE: Self = Self {
        name: "Age",
        kind: ColumnType::Date,
        format: ColumnFormat::Plain,
        priority: 0,
        description: "CreationTimestamp is a timestamp representing the server time when this object was \
                      created. It is not guaranteed to be set in happens-before order across separate \
                      operations. Clients may not set this value. It is represented in RFC3339 form and is in \
                      UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: \
                      https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata",
        cell: Cell::Age(&["metadata", "creationTimestamp"]),
    };
}
