//! Table columns, as printed by `kubectl get`.
//!
//! Kubernetes concept: [`meta.k8s.io/v1 Table`](https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables).

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;

use crate::api::{Object, time};

/// A column of a resource's table, as declared.
#[derive(Clone, Copy, Debug)]
pub struct Column {
    /// The column header.
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
    /// How a cell is computed.
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
    /// How a cell is computed.
    pub cell: TableCell,
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

/// How a cell is computed from an object.
#[derive(Clone, Copy)]
pub enum Cell {
    /// The value at this path; null if absent.
    Path(&'static [&'static str]),
    /// The time since the timestamp at this path, as `5m`, `3d4h`; `<unknown>` if absent.
    Age(&'static [&'static str]),
    /// A function of the object.
    Computed(fn(&Object) -> Value),
}

/// How a cell of a served table is computed from an object.
#[derive(Clone)]
pub enum TableCell {
    /// As declared.
    Declared(Cell),
    /// A closure, for example with the compiled path of a custom resource's column.
    Computed(Arc<dyn Fn(&Object) -> Value + Send + Sync>),
}

impl Column {
    /// The object's name, the first column of every table.
    pub const NAME: Self = Self {
        format: ColumnFormat::Name,
        ..Self::new("Name", ColumnType::String, Cell::Path(&["metadata", "name"])).described(NAME_DESCRIPTION)
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

impl std::fmt::Debug for Cell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Path(path) => f.debug_tuple("Path").field(path).finish(),
            Self::Age(path) => f.debug_tuple("Age").field(path).finish(),
            Self::Computed(_) => f.write_str("Computed"),
        }
    }
}

impl Cell {
    /// Returns the cell of an object at the current time.
    pub fn of(&self, object: &Object) -> Value {
        match self {
            Self::Path(path) => object.get(path).cloned().unwrap_or_default(),
            Self::Age(path) => match object.get_str(path).and_then(time::parse) {
                Some(moment) => duration_text(jiff::Timestamp::now().as_second() - moment.as_second()).into(),
                None => "<unknown>".into(),
            },
            Self::Computed(make) => make(object),
        }
    }
}

// === impl TableColumn ===

impl TableColumn {
    /// Converts declared columns.
    pub fn declared(columns: &[Column]) -> Arc<[Self]> {
        columns.iter().map(Self::from).collect()
    }
}

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

// === impl TableCell ===

impl TableCell {
    /// Returns the cell of an object at the current time.
    pub fn of(&self, object: &Object) -> Value {
        match self {
            Self::Declared(cell) => cell.of(object),
            Self::Computed(make) => make(object),
        }
    }
}

impl std::fmt::Debug for TableCell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Declared(cell) => cell.fmt(f),
            Self::Computed(_) => f.write_str("Computed"),
        }
    }
}

/// Formats a duration with a precision that decreases with its length: `45s`, `5m30s`, `3h`, `6d4h`, `2y10d`.
pub fn duration_text(seconds: i64) -> String {
    const MINUTE: i64 = 60;
    const HOUR: i64 = 60 * MINUTE;
    const DAY: i64 = 24 * HOUR;
    const YEAR: i64 = 365 * DAY;
    let two = |large: i64, large_unit: &str, small: i64, small_unit: &str| {
        if small == 0 {
            format!("{large}{large_unit}")
        } else {
            format!("{large}{large_unit}{small}{small_unit}")
        }
    };
    match seconds {
        i64::MIN..=-2 => "<invalid>".to_owned(),
        -1 => "0s".to_owned(),
        0..120 => format!("{seconds}s"),
        120..600 => two(seconds / MINUTE, "m", seconds % MINUTE, "s"),
        600..10_800 => format!("{}m", seconds / MINUTE),
        10_800..28_800 => two(seconds / HOUR, "h", seconds % HOUR / MINUTE, "m"),
        28_800..172_800 => format!("{}h", seconds / HOUR),
        172_800..691_200 => two(seconds / DAY, "d", seconds % DAY / HOUR, "h"),
        691_200..63_072_000 => format!("{}d", seconds / DAY),
        63_072_000..252_288_000 => two(seconds / YEAR, "y", seconds % YEAR / DAY, "d"),
        _ => format!("{}y", seconds / YEAR),
    }
}

#[cfg(test)]
mod tests {
    use super::duration_text;

    #[test]
    fn durations_get_rougher_the_longer_they_are() {
        let cases = [
            (-5, "<invalid>"),
            (-1, "0s"),
            (0, "0s"),
            (119, "119s"),
            (120, "2m"),
            (330, "5m30s"),
            (601, "10m"),
            (3 * 3_600 + 61, "3h1m"),
            (9 * 3_600 + 61, "9h"),
            (3 * 86_400 + 3_600, "3d1h"),
            (30 * 86_400, "30d"),
            (6 * 365 * 86_400 + 325 * 86_400, "6y325d"),
            (10 * 365 * 86_400, "10y"),
        ];
        for (seconds, expected) in cases {
            assert_eq!(duration_text(seconds), expected, "{seconds} s");
        }
    }
}
