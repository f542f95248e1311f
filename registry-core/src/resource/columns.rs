//! Table columns: what `kubectl get` prints.
//!
//! Kubernetes concept: [`meta.k8s.io/v1 Table`](https://kubernetes.io/docs/reference/using-api/api-concepts/#receiving-resources-as-tables).

use std::borrow::Cow;
use std::sync::Arc;

use serde_json::Value;

use crate::api::{Object, time};

/// One column of a resource's table, as its author declares it.
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
    /// What the column means; empty: what the schema says of the field it is documented by.
    pub description: &'static str,
    /// The path of the field whose documentation is the column's; empty: of none.
    pub documented_by: &'static [&'static str],
    /// How a cell is made.
    pub cell: Cell,
}

/// One column of the table of a resource that is served.
#[derive(Clone, Debug)]
pub struct TableColumn {
    /// The heading.
    pub name: Cow<'static, str>,
    /// The type of the cells.
    pub kind: ColumnType,
    /// How clients may show the cells.
    pub format: Cow<'static, str>,
    /// 0: always shown; more: in wide output only.
    pub priority: i32,
    /// What the column means; empty for the schema's description of the field it is documented by.
    pub description: Cow<'static, str>,
    /// The path of the field whose description is the column's; empty for none.
    pub documented_by: &'static [&'static str],
    /// How a cell is made.
    pub cell: TableCell,
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

/// What a table's row tells of its object as a whole, so that clients need not read the cells.
///
/// Kubernetes concept: `meta.k8s.io/v1 TableRowCondition`.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct RowCondition {
    /// What it is about.
    pub kind: RowConditionType,
    /// Why it is so, in one word.
    pub reason: &'static str,
    /// The same for people.
    pub message: &'static str,
}

/// What a row's condition is about.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum RowConditionType {
    /// The object has run to its end, and will do nothing more.
    Completed,
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

/// How a cell of a served table is made from an object.
#[derive(Clone)]
pub enum TableCell {
    /// As its author declared it.
    Declared(Cell),
    /// By a function that may capture, for example the compiled path of a custom resource's column.
    Computed(Arc<dyn Fn(&Object) -> Value + Send + Sync>),
}

impl Column {
    /// The object's name: the first column of every table.
    pub const NAME: Self = Self {
        format: ColumnFormat::Name,
        ..Self::new("Name", ColumnType::String, Cell::Path(&["metadata", "name"])).described(NAME_DESCRIPTION)
    };

    /// How old the object is, as built-in tables show it.
    pub const AGE: Self = Self::new("Age", ColumnType::String, Cell::Age(&["metadata", "creationTimestamp"]))
        .described(AGE_DESCRIPTION);

    /// How old the object is, as tables of custom kinds show it.
    pub const CUSTOM_AGE: Self = Self { kind: ColumnType::Date, ..Self::AGE };

    /// When the object was made, as tables of kinds without columns of their own show it.
    pub const CREATED_AT: Self =
        Self::new("Created At", ColumnType::Date, Cell::Path(&["metadata", "creationTimestamp"]))
            .described(AGE_DESCRIPTION);

    /// A column that is always shown.
    pub const fn new(name: &'static str, kind: ColumnType, cell: Cell) -> Self {
        let format = ColumnFormat::Plain;
        let priority = 0;
        Self { name, kind, format, priority, description: "", documented_by: &[], cell }
    }

    /// A text column made by a function of the object.
    pub const fn text(name: &'static str, cell: fn(&Object) -> Value) -> Self {
        Self::new(name, ColumnType::String, Cell::Computed(cell))
    }

    /// A column of whole numbers made by a function of the object.
    pub const fn integer(name: &'static str, cell: fn(&Object) -> Value) -> Self {
        Self::new(name, ColumnType::Integer, Cell::Computed(cell))
    }

    /// A yes-or-no column made by a function of the object.
    pub const fn boolean(name: &'static str, cell: fn(&Object) -> Value) -> Self {
        Self::new(name, ColumnType::Boolean, Cell::Computed(cell))
    }

    /// The same column, shown in wide output only.
    pub const fn wide(self) -> Self {
        Self { priority: 1, ..self }
    }

    /// The same column, shown as a name.
    pub const fn as_name(self) -> Self {
        Self { format: ColumnFormat::Name, ..self }
    }

    /// The same column, which means what the field at this path does.
    pub const fn documented_by(self, path: &'static [&'static str]) -> Self {
        Self { documented_by: path, ..self }
    }

    /// The same column with words on what it means.
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
    /// The cell of one object, at this moment.
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
    /// The columns that a resource declares.
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
    /// The cell of one object, at this moment.
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

/// A duration as people read it, the more roughly the longer: `45s`, `5m30s`, `3h`, `6d4h`, `2y10d`.
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
