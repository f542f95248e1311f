use registry_core::api::Object;
use registry_core::resource::{ColumnType, TableColumn};
use serde_json::{Value, json};

use super::table_columns;
use crate::api::apiextensions::customresourcedefinitions::definition::ColumnDefinition;

fn declared(kind: &str, json_path: &str) -> ColumnDefinition {
    ColumnDefinition {
        name: "Column".to_owned(),
        kind: kind.to_owned(),
        json_path: json_path.to_owned(),
        ..ColumnDefinition::default()
    }
}

fn object() -> Object {
    let now = jiff::Timestamp::now().as_second();
    let born = jiff::Timestamp::from_second(now - 3 * 86_400).unwrap();
    let value = json!({
        "metadata": {"name": "a", "creationTimestamp": born.to_string()},
        "spec": {
            "text": "1", "count": 3, "ratio": 0.5, "negative": -7.9, "open": true, "none": null, "when": "yesterday",
            "items": [1, "b", {"c": 2}],
            "conditions": [{"type": "Ready", "status": "True"}, {"type": "Synced", "status": "False"}],
        },
    });
    Object::from_value(value).unwrap()
}

#[track_caller]
fn check(cases: &[(&str, &str, Value)]) {
    for (kind, path, expected) in cases {
        let columns = table_columns(&[declared(kind, path)]);
        assert_eq!(columns[1].cell.value(&object()).at(jiff::Timestamp::now()), *expected, "{kind} {path}");
    }
}

#[test]
fn cells_have_the_type_of_their_column() {
    check(&[
        ("string", ".spec.text", json!("1")),
        ("string", ".spec.count", json!("3")),
        ("string", ".spec.ratio", json!("0.5")),
        ("string", ".spec.open", json!("true")),
        ("string", ".spec.items", json!(r#"[1,"b",{"c":2}]"#)),
        ("string", ".spec.none", json!("<no value>")),
        ("string", ".spec.missing", json!(null)),
        ("integer", ".spec.count", json!(3)),
        ("integer", ".spec.negative", json!(-7)),
        ("integer", ".spec.text", json!(null)),
        ("integer", ".spec.none", json!(null)),
        ("number", ".spec.ratio", json!(0.5)),
        ("number", ".spec.count", json!(3)),
        ("number", ".spec.text", json!(null)),
        ("boolean", ".spec.open", json!(true)),
        ("boolean", ".spec.text", json!(null)),
        ("date", ".metadata.creationTimestamp", json!("3d")),
        ("date", ".spec.when", json!("<invalid>")),
        ("date", ".spec.count", json!(null)),
        ("date", ".spec.missing", json!(null)),
    ]);
}

#[test]
fn a_cell_is_the_first_result() {
    check(&[
        ("string", r#".spec.conditions[?(@.type=="Synced")].status"#, json!("False")),
        ("string", ".spec.conditions[*].type", json!("Ready")),
        ("string", ".spec.items[7]", json!(null)),
        ("string", ".spec.items[-1].c", json!("2")),
        ("string", "..status", json!("True")),
    ]);
}

#[test]
fn the_name_comes_first() {
    let described =
        ColumnDefinition { description: "d".to_owned(), priority: 1, ..declared("integer", ".spec.count") };
    let columns = table_columns(&[declared("string", ".spec.text"), described]);
    let shown = |column: &TableColumn| (column.name.to_string(), column.description.to_string());
    assert_eq!(columns[0].name, "Name");
    assert_eq!(columns[0].format, "name");
    assert_eq!(columns[0].cell.value(&object()).at(jiff::Timestamp::now()), json!("a"));
    let generated = "Custom resource definition column (in JSONPath format): .spec.text";
    assert_eq!(shown(&columns[1]), ("Column".to_owned(), generated.to_owned()));
    assert_eq!(shown(&columns[2]), ("Column".to_owned(), "d".to_owned()));
    assert_eq!((columns[2].priority, columns[2].kind), (1, ColumnType::Integer));
}

#[test]
fn the_age_is_shown_by_default() {
    let columns = table_columns(&[]);
    let names: Vec<&str> = columns.iter().map(|column| &*column.name).collect();
    assert_eq!(names, ["Name", "Age"]);
    assert_eq!(columns[1].kind, ColumnType::Date);
    assert_eq!(columns[1].cell.value(&object()).at(jiff::Timestamp::now()), json!("3d"));
}

#[test]
fn a_malformed_path_ends_the_columns() {
    let columns = [declared("string", ".spec.text"), declared("string", ".a["), declared("string", ".b")];
    assert_eq!(table_columns(&columns).len(), 2);
}

#[test]
fn columns_share_the_work_of_a_row() {
    let texts: Vec<String> = (0..1_000).map(|number| number.to_string()).collect();
    let object = Object::from_value(json!({"spec": {"texts": texts}})).unwrap();
    let few = table_columns(&vec![declared("string", "..texts"); 2]);
    assert_ne!(few[1].cell.value(&object).at(jiff::Timestamp::now()), Value::Null);
    let many = table_columns(&vec![declared("string", "..texts"); 10_000]);
    let begin = std::time::Instant::now();
    let cells: Vec<Value> =
        many.iter().map(|column| column.cell.value(&object).at(jiff::Timestamp::now())).collect();
    assert!(begin.elapsed() < std::time::Duration::from_secs(5), "it took {:?}", begin.elapsed());
    assert_eq!(cells.len(), 10_001);
    assert_eq!(cells[1], Value::Null);
}
