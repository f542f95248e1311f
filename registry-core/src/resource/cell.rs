//! Table cells: how they are computed from an object, and ages, which are made when a cell is written.

use std::sync::Arc;

use jiff::Timestamp;
use serde_json::Value;

use crate::api::{Object, time};

/// The computation of a cell from an object.
#[derive(Clone, Copy)]
pub enum Cell {
    /// The value at this path; null if absent.
    Path(&'static [&'static str]),
    /// The text at this path; empty if absent. Other values are written out.
    Text(&'static [&'static str]),
    /// The whole number at this path; 0 if absent.
    Whole(&'static [&'static str]),
    /// The truth value at this path; false if absent.
    Flag(&'static [&'static str]),
    /// The time since the timestamp at this path, as `5m`, `3d4h`; `<unknown>` if absent.
    Age(&'static [&'static str]),
    /// A function of the object alone. It does not see `metadata.managedFields`.
    Computed(fn(&Object) -> Value),
    /// A function of the object whose result depends on the time. It does not see `metadata.managedFields`.
    Dated(fn(&Object) -> CellValue),
}

/// The computation of a cell of a served table from an object.
#[derive(Clone)]
pub enum TableCell {
    /// As declared.
    Declared(Cell),
    /// A closure, for example with the compiled path of a custom resource's column.
    Computed(Arc<dyn Fn(&Object) -> CellValue + Send + Sync>),
}

/// The value of a cell. It is computed once for an object, and only the age in it again whenever the cell is written.
#[derive(Clone, Debug, PartialEq)]
pub enum CellValue {
    /// A value that changes only with the object.
    Fixed(Value),
    /// A text that contains an age.
    Age {
        /// The text before the age.
        before: String,
        /// The beginning of the age.
        since: Timestamp,
        /// The text after the age.
        after: &'static str,
    },
}

impl std::fmt::Debug for Cell {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        match self {
            Self::Path(path) => f.debug_tuple("Path").field(path).finish(),
            Self::Text(path) => f.debug_tuple("Text").field(path).finish(),
            Self::Whole(path) => f.debug_tuple("Whole").field(path).finish(),
            Self::Flag(path) => f.debug_tuple("Flag").field(path).finish(),
            Self::Age(path) => f.debug_tuple("Age").field(path).finish(),
            Self::Computed(_) => f.write_str("Computed"),
            Self::Dated(_) => f.write_str("Dated"),
        }
    }
}

// === impl Cell ===

impl Cell {
    /// Returns the cell of an object.
    pub fn value(&self, object: &Object) -> CellValue {
        match self {
            Self::Path(path) => object.get(path).cloned().unwrap_or_default().into(),
            Self::Text(path) => match object.get(path) {
                None | Some(Value::Null) => "".into(),
                Some(Value::String(text)) => text.as_str().into(),
                Some(other) => other.to_string().into(),
            },
            Self::Whole(path) => object.get_i64(path).unwrap_or_default().into(),
            Self::Flag(path) => object.get(path).and_then(Value::as_bool).unwrap_or_default().into(),
            Self::Age(path) => CellValue::age_of(object.get_str(path)),
            Self::Computed(make) => make(object).into(),
            Self::Dated(make) => make(object),
        }
    }
}

// === impl TableCell ===

impl TableCell {
    /// Returns the cell of an object.
    pub fn value(&self, object: &Object) -> CellValue {
        match self {
            Self::Declared(cell) => cell.value(object),
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

// === impl CellValue ===

impl CellValue {
    /// Returns the age of a moment.
    pub const fn age(since: Timestamp) -> Self {
        Self::Age { before: String::new(), since, after: "" }
    }

    /// Returns the age of a timestamp; `<unknown>` if there is none, or if it is malformed.
    pub fn age_of(text: Option<&str>) -> Self {
        text.and_then(time::parse).map_or_else(|| "<unknown>".into(), Self::age)
    }

    /// Returns the value at a time.
    pub fn at(self, now: Timestamp) -> Value {
        match self {
            Self::Fixed(value) => value,
            Self::Age { before, since, after } => {
                let age = duration_text(now.as_second() - since.as_second());
                format!("{before}{age}{after}").into()
            }
        }
    }
}

impl<T: Into<Value>> From<T> for CellValue {
    fn from(value: T) -> Self {
        Self::Fixed(value.into())
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
    use super::*;

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
            let since = Timestamp::from_second(2_000_000_000).unwrap();
            let now = Timestamp::from_second(2_000_000_000 + seconds).unwrap();
            let cell = CellValue::Age { before: "3 (".to_owned(), since, after: " ago)" };
            assert_eq!(cell.at(now), format!("3 ({expected} ago)"));
        }
    }

    #[test]
    fn a_time_that_is_none_has_no_age() {
        for text in [None, Some(""), Some("yesterday")] {
            assert_eq!(CellValue::age_of(text), CellValue::from("<unknown>"));
        }
    }
}
