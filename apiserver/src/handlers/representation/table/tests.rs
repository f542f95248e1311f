use std::sync::atomic::{AtomicU32, Ordering};

use registry_core::storage::{Attributes, Entry};

use super::*;

static COLUMNS: [Column; 3] = [
    Column { description: "the name", ..Column::NAME },
    Column::integer("Data", |object| {
        object.get(&["data"]).and_then(Value::as_object).map_or(0, serde_json::Map::len).into()
    })
    .wide(),
    Column { description: "", ..Column::AGE },
];

fn table(query: &str, columns: &'static [Column]) -> Result<Table, StatusError> {
    let uri: http::Uri = format!("/x?{query}").parse().unwrap();
    let schema = resources::schema::built_in("", "v1", "ConfigMap");
    let budget = Arc::new(EncodingBudget::new(1 << 20));
    Table::new(TableColumns::declared(columns), schema, Query::from_uri(&uri), MetaVersion::V1, budget)
}

fn rendered(query: &str, columns: &'static [Column], with_columns: bool) -> Value {
    let json = br#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"name":"x","resourceVersion":"7"},"data":{"a":"b"}}"#;
    let mut buffer = Vec::new();
    table(query, columns).unwrap().write_object(&mut buffer, &Item::encoded(json), with_columns).unwrap();
    serde_json::from_slice(&buffer).unwrap()
}

#[test]
fn a_table_of_one_object() {
    let expected = json!({
        "kind": "Table", "apiVersion": "meta.k8s.io/v1", "metadata": {"resourceVersion": "7"},
        "columnDefinitions": [
            {"name": "Name", "type": "string", "format": "name", "description": "the name", "priority": 0},
            {"name": "Data", "type": "integer", "format": "", "description": "", "priority": 1},
            {"name": "Age", "type": "string", "format": "", "description": "", "priority": 0},
        ],
        "rows": [{
            "cells": ["x", 1, "<unknown>"],
            "object": {
                "kind": "PartialObjectMetadata", "apiVersion": "meta.k8s.io/v1",
                "metadata": {"name": "x", "resourceVersion": "7"},
            },
        }],
    });
    assert_eq!(rendered("", &COLUMNS, true), expected);
    assert_eq!(rendered("", &COLUMNS, false)["columnDefinitions"], Value::Null);
    assert_eq!(rendered("includeObject=None", &COLUMNS, true)["rows"][0]["object"], Value::Null);
    assert_eq!(
        rendered("includeObject=Object", &COLUMNS, true)["rows"][0]["object"]["data"],
        json!({"a": "b"})
    );
}

#[test]
fn resources_without_columns_have_a_name_and_a_birthday() {
    let table = rendered("", &[], true);
    assert_eq!(table["rows"][0]["cells"], json!(["x", null]));
    assert_eq!(table["columnDefinitions"][1]["name"], "Created At");
    assert_eq!(table["columnDefinitions"][1]["type"], "date");
}

#[test]
fn include_object_is_checked() {
    assert_eq!(
        table("includeObject=Zork", &COLUMNS).unwrap_err().message,
        "Unable to convert to Table as requested: includeObject: Invalid value: \"Zork\": must be 'Metadata', 'Object', 'None', or empty"
    );
}

#[test]
fn a_row_tells_of_an_object_that_is_done() {
    const DONE: &[RowCondition] =
        &[RowCondition { kind: RowConditionType::Completed, reason: "Done", message: "It is done." }];
    let mut table = table("includeObject=None", &COLUMNS).unwrap();
    let row = |table: &Table| {
        let mut buffer = Vec::new();
        table.write_row(&mut buffer, &Item::encoded(br#"{"metadata":{"name":"x"}}"#)).unwrap();
        serde_json::from_slice::<Value>(&buffer).unwrap()
    };
    assert_eq!(row(&table).get("conditions"), None);
    table.row_conditions = Some(|object| if object.name() == "x" { DONE } else { &[] });
    let condition =
        json!({"type": "Completed", "status": "True", "reason": "Done", "message": "It is done."});
    assert_eq!(row(&table)["conditions"], json!([condition]));
}

#[test]
fn the_cells_of_a_row_are_limited() {
    let columns: &'static [Column] = vec![Column::NAME; 1_000].leak();
    let json = json!({"metadata": {"name": "x".repeat(100_000)}}).to_string();
    let mut buffer = Vec::new();
    table("includeObject=None", columns)
        .unwrap()
        .write_object(&mut buffer, &Item::encoded(json.as_bytes()), false)
        .unwrap();
    assert!(buffer.len() < MAX_CELLS_BYTES + 200_000, "{}", buffer.len());
    let table: Value = serde_json::from_slice(&buffer).unwrap();
    let cells = table["rows"][0]["cells"].as_array().unwrap();
    assert_eq!(cells.len(), 1_000);
    assert!(cells[40].is_string() && cells[43].is_null());
}

#[test]
fn cells_are_computed_once_for_an_object_and_columns() {
    static CALLS: AtomicU32 = AtomicU32::new(0);
    static COUNTED: [Column; 1] = [Column::integer("Calls", |object| {
        assert_eq!(object.get(&["metadata", "managedFields"]), None);
        (CALLS.fetch_add(1, Ordering::Relaxed) + 1).into()
    })];
    let json = br#"{"kind":"ConfigMap","apiVersion":"v1","metadata":{"name":"x","managedFields":[{}]}}"#;
    let entry = Entry::new("/x".into(), 7, json[..].into(), 38, Attributes::default());
    let row = |table: &Table| {
        let mut buffer = Vec::new();
        table.write_row(&mut buffer, &Item::stored(&entry)).unwrap();
        serde_json::from_slice::<Value>(&buffer).unwrap()
    };
    let with_metadata = table("", &COUNTED).unwrap();
    assert_eq!(row(&with_metadata)["cells"], json!([1]));
    assert_eq!(row(&with_metadata)["object"]["metadata"]["managedFields"], json!([{}]));
    let without = Table { include: IncludeObject::None, ..with_metadata.clone() };
    assert_eq!(row(&without), json!({"cells": [1], "object": null}));
    // Other columns: another row of the same object.
    assert_eq!(row(&table("", &COUNTED).unwrap())["cells"], json!([2]));
    assert_eq!(row(&table("", const { &[Column::NAME] }).unwrap())["cells"], json!(["x"]));
    assert_eq!(row(&with_metadata)["cells"], json!([1]));
}
