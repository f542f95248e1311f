//! The table columns of custom resources.
//!
//! Kubernetes concept: `additionalPrinterColumns`.

use std::sync::Arc;

use registry_core::api::json_path::{Found, JsonPath, MAX_VISITS, print};
use registry_core::api::{Object, time};
use registry_core::resource::{CellValue, Column, ColumnType, TableCell, TableColumn, TableColumns};
use serde_json::Value;

use crate::api::apiextensions::customresourcedefinitions::definition::ColumnDefinition;

/// Maximum number of values that the paths of all columns visit in one object, unless each has the minimum.
const MAX_ROW_VISITS: usize = 1_000_000;

/// Minimum number of values that a column's path may visit.
const MIN_VISITS: usize = 100;

/// Returns the columns of a version: the name, and the declared columns, or the age if there are none.
///
/// If a declared path is malformed, that column and the ones after it are left out, as in Kubernetes.
pub(super) fn table_columns(declared: &[ColumnDefinition]) -> TableColumns {
    let name = TableColumn::from(&Column::NAME);
    if declared.is_empty() {
        return [name, TableColumn::from(&Column::CUSTOM_AGE)].into_iter().collect();
    }
    // The columns of a table share the work that a row may cost.
    let visits = (MAX_ROW_VISITS / declared.len()).clamp(MIN_VISITS, MAX_VISITS);
    std::iter::once(name).chain(declared.iter().map_while(|definition| column(definition, visits))).collect()
}

fn column(declared: &ColumnDefinition, visits: usize) -> Option<TableColumn> {
    let path = JsonPath::parse(&declared.json_path).ok()?;
    let kind = match declared.kind.as_str() {
        "integer" => ColumnType::Integer,
        "number" => ColumnType::Number,
        "boolean" => ColumnType::Boolean,
        "date" => ColumnType::Date,
        _ => ColumnType::String,
    };
    let description = match declared.description.as_str() {
        "" => format!("Custom resource definition column (in JSONPath format): {}", declared.json_path),
        text => text.to_owned(),
    };
    Some(TableColumn {
        name: declared.name.clone().into(),
        kind,
        format: declared.format.clone().into(),
        priority: declared.priority,
        description: description.into(),
        documented_by: &[],
        cell: TableCell::Computed(Arc::new(move |object| cell(&path, visits, kind, object))),
    })
}

/// Returns the first value at the path; null if there is none, if it has another type than the column, or if the path
/// visits more values than it may.
fn cell(path: &JsonPath, visits: usize, kind: ColumnType, object: &Object) -> CellValue {
    let Ok(found) = path.find_within(&object.0, visits) else { return Value::Null.into() };
    let Some(first) = found.first().copied() else { return Value::Null.into() };
    match (kind, first) {
        // This is how Go prints a value that is not there.
        (ColumnType::String, Found::Null) => "<no value>".into(),
        (ColumnType::String, value) => print(&[value]).into(),
        (ColumnType::Integer, Found::Number(number)) => match (number.as_i64(), number.as_f64()) {
            (Some(integer), _) => integer.into(),
            // Without the fraction, as Go converts it.
            (None, Some(float)) => truncated(float).into(),
            (None, None) => Value::Null.into(),
        },
        (ColumnType::Number, Found::Number(number)) => Value::Number(number.clone()).into(),
        (ColumnType::Boolean, Found::Bool(value)) => value.into(),
        (ColumnType::Date, Found::String(text)) => age(text),
        _ => Value::Null.into(),
    }
}

/// Converts a float to an integer, by its digits before the point.
fn truncated(float: f64) -> i64 {
    let digits = format!("{:.0}", float.trunc());
    let limit = if float < 0.0 { i64::MIN } else { i64::MAX };
    digits.parse().unwrap_or(limit)
}

/// Returns the time since a timestamp.
fn age(text: &str) -> CellValue {
    if matches!(text, "" | "null") {
        return "<unknown>".into();
    }
    match time::parse(text) {
        Some(moment) => CellValue::age(moment),
        None => "<invalid>".into(),
    }
}

#[cfg(test)]
mod tests;
