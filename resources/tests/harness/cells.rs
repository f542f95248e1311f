//! The cells of a table, as `kubectl get` prints them.

use std::collections::{BTreeMap, BTreeSet};

use registry_core::api::Object;
use registry_core::registry::InstalledPath;
use registry_core::resource::{CellValue, ResourceType};
use serde_json::{Map, Value};

use super::{all_cases, all_kinds};

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

/// The name, and ages: they depend on the time. The age of an IPAddress has no name.
const NOT_COMPARED: [&str; 5] = ["Name", "Age", "Created At", "TimeAdded", ""];

/// Reports a column that no case of its kind names.
pub(crate) fn each_column_has_a_cell() {
    let mut named: BTreeMap<String, BTreeSet<String>> = BTreeMap::new();
    for case in all_cases() {
        let cells = case["cells"].as_object().into_iter().flatten();
        let of_kind = named.entry(case["kind"].as_str().unwrap().to_owned()).or_default();
        of_kind.extend(cells.map(|(column, _)| column.clone()));
    }
    let installed = all_kinds();
    let is_main = |path: &&InstalledPath| path.subresource.is_none() && path.resource.is_builtin;
    let mut missing = BTreeSet::new();
    for resource in installed.paths.iter().filter(is_main).map(|path| &path.resource) {
        for column in resource.columns.iter().map(|column| column.name.as_ref()) {
            let is_named = named.get(resource.kind.kind).is_some_and(|cells| cells.contains(column));
            if !is_named && !NOT_COMPARED.contains(&column) {
                missing.insert(format!("{}: {column}", resource.kind.kind));
            }
        }
    }
    assert!(missing.is_empty(), "columns without a case:\n{}", Vec::from_iter(missing).join("\n"));
}
