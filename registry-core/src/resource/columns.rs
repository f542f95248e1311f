//! Table columns, as printed by `kubectl get`.
//!
//! Kubernetes concept: [`meta.k8s.io/v1 Table`](https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables).

use std::borrow::Cow;
use std::ops::Deref;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};

use serde_json::Value;

use crate::api::Object;

use super::cell::{Cell, CellValue, TableCell};

/// A column of a resource's table, as declared.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// The column header. A column without one has cells, but no definition.
    pub name: &'static str,
    /// The type of the cells.
    pub kind: ColumnType,
    /// The format hint for clients.
    pub format: ColumnFormat,
    /// 0: always shown; greater: only in wide output.
    pub priority: i32,
    /// The description; if empty, the schema's description of the field `documented_by`.
    pub description: &'static str,
    /// The path of the field that documents the column; empty if there is none.
    pub documented_by: &'static [&'static str],
    /// The computation of the column's cells.
    pub cell: Cell,
}

/// A column of a served resource's table.
#[derive(Clone, Debug)]
pub struct TableColumn {
    /// The column header.
    pub name: Cow<'static, str>,
    /// The type of the cells.
    pub kind: ColumnType,
    /// The format hint for clients.
    pub format: Cow<'static, str>,
    /// 0: always shown; greater: only in wide output.
    pub priority: i32,
    /// The description; if empty, the schema's description of the field `documented_by`.
    pub description: Cow<'static, str>,
    /// The path of the field that documents the column; empty if there is none.
    pub documented_by: &'static [&'static str],
    /// The computation of the column's cells.
    pub cell: TableCell,
}

/// The columns of a served resource's table; cheap to clone.
#[derive(Clone, Debug)]
pub struct TableColumns(Arc<ColumnSet>);

#[derive(Debug)]
struct ColumnSet {
    id: u64,
    columns: Box<[TableColumn]>,
}

/// The type of a column's cells.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnType {
    /// A string.
    String,
    /// An integer.
    Integer,
    /// A number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// A time: RFC 3339 for CRDs, an age in built-in tables.
    Date,
}

/// The format hint of a column.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ColumnFormat {
    /// No special format.
    Plain,
    /// The object's name.
    Name,
}

/// A condition of a table row, which summarises the object so that clients need not interpret the cells.
///
/// Kubernetes concept: `meta.k8s.io/v1 TableRowCondition`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowCondition {
    /// The type of the condition.
    pub kind: RowConditionType,
    /// The machine-readable reason, in CamelCase.
    pub reason: &'static str,
    /// The human-readable message.
    pub message: &'static str,
}

/// The type of a row's condition.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowConditionType {
    /// The object has run to completion.
    Completed,
}

impl Column {
    /// The object's name, the first column of every table.
    pub const NAME: Self = Self {
        format: ColumnFormat::Name,
        ..Self::new("Name", ColumnType::String, Cell::Text(&["metadata", "name"])).described(NAME_DESCRIPTION)
    };

    /// The object's age, as in built-in tables.
    pub const AGE: Self = Self::new("Age", ColumnType::String, Cell::Age(&["metadata", "creationTimestamp"]))
        .described(AGE_DESCRIPTION);

    /// The object's age, as in tables of custom kinds.
    pub const CUSTOM_AGE: Self = Self { kind: ColumnType::Date, ..Self::AGE };

    /// The object's creation time, as in tables of kinds without columns.
    pub const CREATED_AT: Self =
        Self::new("Created At", ColumnType::Date, Cell::Path(&["metadata", "creationTimestamp"]))
            .described(AGE_DESCRIPTION);

    /// Creates a column that is always shown.
    pub const fn new(name: &'static str, kind: ColumnType, cell: Cell) -> Self {
        let format = ColumnFormat::Plain;
        let priority = 0;
        Self { name, kind, format, priority, description: "", documented_by: &[], cell }
    }

    /// Creates a string column computed by a function.
    pub const fn text(name: &'static str, cell: fn(&Object) -> Value) -> Self {
        Self::new(name, ColumnType::String, Cell::Computed(cell))
    }

    /// Creates an integer column computed by a function.
    pub const fn integer(name: &'static str, cell: fn(&Object) -> Value) -> Self {
        Self::new(name, ColumnType::Integer, Cell::Computed(cell))
    }

    /// Creates a boolean column computed by a function.
    pub const fn boolean(name: &'static str, cell: fn(&Object) -> Value) -> Self {
        Self::new(name, ColumnType::Boolean, Cell::Computed(cell))
    }

    /// Creates a string column computed by a function whose result depends on the time.
    pub const fn dated(name: &'static str, cell: fn(&Object) -> CellValue) -> Self {
        Self::new(name, ColumnType::String, Cell::Dated(cell))
    }

    /// Restricts the column to wide output.
    pub const fn wide(self) -> Self {
        Self { priority: 1, ..self }
    }

    /// Sets the format `name`.
    pub const fn as_name(self) -> Self {
        Self { format: ColumnFormat::Name, ..self }
    }

    /// Sets the field that documents the column.
    pub const fn documented_by(self, path: &'static [&'static str]) -> Self {
        Self { documented_by: path, ..self }
    }

    /// Sets the description.
    pub const fn described(self, description: &'static str) -> Self {
        Self { description, ..self }
    }
}

const NAME_DESCRIPTION: &str = "Name must be unique within a namespace. Is required when creating resources, although some resources may allow a client to request the generation of an appropriate name automatically. Name is primarily intended for creation idempotence and configuration definition. Cannot be updated. More info: https://kubernetes.io/docs/concepts/overview/working-with-objects/names#names";

const AGE_DESCRIPTION: &str = "CreationTimestamp is a timestamp representing the server time when this object was created. It is not guaranteed to be set in happens-before order across separate operations. Clients may not set this value. It is represented in RFC3339 form and is in UTC.\n\nPopulated by the system. Read-only. Null for lists. More info: https://git.k8s.io/community/contributors/devel/sig-architecture/api-conventions.md#metadata";

// === impl TableColumns ===

impl TableColumns {
    /// Converts declared columns.
    pub fn declared(columns: &[Column]) -> Self {
        columns.iter().map(TableColumn::from).collect()
    }

    /// Returns a number that identifies the columns in this process; clones have the same.
    pub fn id(&self) -> u64 {
        self.0.id
    }
}

impl FromIterator<TableColumn> for TableColumns {
    fn from_iter<I: IntoIterator<Item = TableColumn>>(columns: I) -> Self {
        static NEXT: AtomicU64 = AtomicU64::new(0);
        let id = NEXT.fetch_add(1, Ordering::Relaxed);
        Self(Arc::new(ColumnSet { id, columns: columns.into_iter().collect() }))
    }
}

impl Default for TableColumns {
    /// No columns.
    fn default() -> Self {
        std::iter::empty().collect()
    }
}

impl Deref for TableColumns {
    type Target = [TableColumn];

    fn deref(&self) -> &[TableColumn] {
        &self.0.columns
    }
}

// === impl TableColumn ===

impl From<&Column> for TableColumn {
    fn from(column: &Column) -> Self {
        let format = match column.format {
            ColumnFormat::Plain => "",
            ColumnFormat::Name => "name",
        };
        Self {
            name: column.name.into(),
            kind: column.kind,
            format: format.into(),
            priority: column.priority,
            description: column.description.into(),
            documented_by: column.documented_by,
            cell: TableCell::Declared(column.cell),
        }
    }
}
