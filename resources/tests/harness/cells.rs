//! The cells of a table, as `kubectl get` prints them.

use registry_core::api::Object;
use registry_core::resource::{CellValue, ResourceType};
use serde_json::{Map, Value};

/// Returns the cells of an object in the columns that a case names. What the kind does not have is left out, and so are ages,
/// which depend on the time.
pub(crate) fn named_cells(resource: &ResourceType, object: &Object, named: &Value) -> Value {
    let mut cells = Map::new();
    for column in resource.columns.iter().filter(|column| named.get(column.name.as_ref()).is_some()) {
        if let CellValue::Fixed(value) = column.cell.value(object) {
            cells.insert(column.name.to_string(), value);
        }
    }
    Value::Object(cells)
}
