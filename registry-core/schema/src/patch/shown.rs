//! A patched document in the form that Go's JSON patch library leaves it, for error messages.
//!
//! The parts that a patch visits are in key order. The rest is as the server wrote it: each struct in the order of its
//! Go fields, approximated by protobuf's field numbers. (They differ for fields that were added later.)

use std::collections::BTreeMap;

use serde_json::{Map, Value};

use crate::{Schema, TypeRef};
use registry_meta::go_text::escape_html;

/// The parts of a document that a patch visits.
#[derive(Clone, Debug, Default)]
pub struct Touched {
    /// Whether the patch replaces the value here.
    is_replaced: bool,
    below: BTreeMap<String, Touched>,
}

// === impl Touched ===

impl Touched {
    /// Returns the parts that a merge patch visits.
    pub fn by_merge(patch: &Value) -> Self {
        let Value::Object(fields) = patch else { return Self { is_replaced: true, ..Self::default() } };
        let below = fields.iter().map(|(key, value)| (key.clone(), Self::by_merge(value)));
        Self { is_replaced: false, below: below.collect() }
    }

    /// Returns the node at this path, creating it.
    pub(super) fn at(&mut self, steps: &[String]) -> &mut Self {
        steps.iter().fold(self, |place, step| place.below.entry(step.clone()).or_default())
    }

    pub(super) fn replace(&mut self) {
        self.is_replaced = true;
    }
}

/// Formats the patched document for the client.
pub fn shown(patched: &Value, touched: &Touched, schema: &Schema) -> String {
    let mut text = String::new();
    write(&mut text, patched, Some(touched), Some(schema.root()));
    escape_html(text)
}

fn write(text: &mut String, value: &Value, touched: Option<&Touched>, ty: Option<TypeRef<'_>>) {
    let ty = ty.filter(|_| !touched.is_some_and(|touched| touched.is_replaced));
    let below = |step: &str| touched.and_then(|touched| touched.below.get(step));
    match value {
        Value::Object(map) => {
            let keys = match ty {
                Some(ty) if touched.is_none() => in_order(map, ty),
                _ => map.keys().map(String::as_str).collect(),
            };
            let fields = keys.into_iter().filter_map(|key| Some((key, map.get(key)?)));
            around(text, ('{', '}'), fields, |text, (key, value)| {
                let member = ty.and_then(|ty| ty.value().or_else(|| Some(ty.field(key)?.ty())));
                text.push_str(&Value::from(key).to_string());
                text.push(':');
                write(text, value, below(key), member);
            });
        }
        Value::Array(list) => around(text, ('[', ']'), list.iter().enumerate(), |text, (index, value)| {
            write(text, value, below(&index.to_string()), ty.and_then(|ty| ty.element()));
        }),
        scalar => text.push_str(&scalar.to_string()),
    }
}

/// Returns the keys of a map. The keys of a struct are in the order of its fields, followed by unknown keys.
fn in_order<'m>(map: &'m Map<String, Value>, ty: TypeRef<'m>) -> Vec<&'m str> {
    let mut keys = ty.fields_by_number();
    keys.retain(|key| map.contains_key(*key));
    let others = map.keys().map(String::as_str).filter(|key| !keys.contains(key)).collect::<Vec<_>>();
    keys.extend(others);
    keys
}

fn around<T>(
    text: &mut String,
    (begin, end): (char, char),
    items: impl Iterator<Item = T>,
    mut write: impl FnMut(&mut String, T),
) {
    text.push(begin);
    for (place, item) in items.enumerate() {
        if place > 0 {
            text.push(',');
        }
        write(text, item);
    }
    text.push(end);
}

#[cfg(test)]
mod tests {
    use std::sync::Arc;

    use serde_json::json;

    use super::*;
    use crate::TypeTable;
    use crate::patch::json::JsonPatch;

    /// `b` was declared before `a`.
    const FACTS: &str = "orlop facts 1
s string - string
t - test.v1.Part
 a 0 e 2
 b 0 e 1
l 1 - - []v1.Part
t - test.v1.Whole
 kind 0 e -
 part 1 e 1
 parts 2 e 2
k 3 test.dev v1 Whole
";

    #[test]
    fn patched_structs_are_sorted_and_others_keep_the_declared_order() {
        let table = Arc::new(TypeTable::parse(FACTS).unwrap());
        let schema = table.schema_of("test.dev/v1", "Whole").unwrap();
        let document =
            json!({"part": {"a": "<1>", "b": "2"}, "parts": [{"a": "1", "b": "2"}], "kind": "Whole"});
        let show = |touched: &Touched| shown(&document, touched, &schema);
        let merge = |patch: Value| show(&Touched::by_merge(&patch));
        let declared = r#"{"b":"2","a":"\u003c1\u003e"}"#;
        let sorted = r#"{"a":"\u003c1\u003e","b":"2"}"#;
        let parts = r#"[{"b":"2","a":"1"}]"#;
        let text = |part: &str, parts: &str| format!(r#"{{"kind":"Whole","part":{part},"parts":{parts}}}"#);
        assert_eq!(merge(json!({"kind": "Whole"})), text(declared, parts));
        assert_eq!(merge(json!({"part": {"b": "2"}})), text(sorted, parts));
        assert_eq!(merge(json!({"parts": []})), text(declared, r#"[{"a":"1","b":"2"}]"#));
        let json = |op: &str, path: &str| {
            let operations = json!([{"op": op, "path": path, "value": "2"}]);
            show(&JsonPatch::parse(&operations).unwrap().touched())
        };
        assert_eq!(json("test", "/part"), text(declared, parts));
        assert_eq!(json("add", "/part/b"), text(sorted, parts));
        assert_eq!(json("replace", "/part"), text(sorted, parts));
        let replaced = text(sorted, r#"[{"a":"1","b":"2"}]"#);
        assert_eq!(json("replace", ""), replaced);
        assert_eq!(json("test", ""), text(declared, parts));
        assert_eq!(json("add", "/parts/0/b"), text(declared, r#"[{"a":"1","b":"2"}]"#));
    }
}
