//! How messages show a value that Kubernetes holds in a Go struct without names for JSON: by the names and in the
//! order of its fields, and with those that are not set.

use serde_json::Value;

/// What a value is to Go.
#[derive(Clone, Copy)]
pub(crate) enum Shape {
    /// A scalar, or anything that is shown as its JSON; with the text of its zero.
    Plain(&'static str),
    /// A struct: the Go names, the JSON names and the shapes of its fields.
    Struct(&'static [(&'static str, &'static str, Shape)]),
    /// A pointer to something.
    Pointer(&'static Shape),
    /// A list of things.
    List(&'static Shape),
    /// A struct with names for JSON that leaves out what is not set: the order of its fields, and their shapes.
    Json(&'static [(&'static str, Shape)]),
}

/// A text that is empty when unset.
pub(crate) const TEXT: Shape = Shape::Plain("\"\"");
/// A number that is 0 when unset.
pub(crate) const NUMBER: Shape = Shape::Plain("0");
/// What may be nothing at all.
pub(crate) const OPTIONAL: Shape = Shape::Plain("null");

/// `metav1.LabelSelector`.
pub(crate) const LABEL_SELECTOR: Shape = Shape::Json(&[
    ("matchLabels", OPTIONAL),
    (
        "matchExpressions",
        Shape::List(&Shape::Json(&[("key", TEXT), ("operator", TEXT), ("values", OPTIONAL)])),
    ),
]);

/// A value as messages show it.
pub(crate) fn text(value: Option<&Value>, shape: Shape) -> String {
    let value = value.filter(|value| !value.is_null());
    match (shape, value) {
        (Shape::Plain(zero), None) => zero.to_owned(),
        (Shape::Plain(_), Some(value)) => value.to_string(),
        (Shape::Pointer(_) | Shape::List(_), None) => "null".to_owned(),
        (Shape::Pointer(inner), value) => text(value, *inner),
        (Shape::List(inner), Some(list)) => {
            let elements = list.as_array().into_iter().flatten();
            let texts: Vec<_> = elements.map(|element| text(Some(element), *inner)).collect();
            format!("[{}]", texts.join(","))
        }
        (Shape::Struct(fields), value) => {
            let texts = fields.iter().map(|(name, json, shape)| {
                format!("\"{name}\":{}", text(value.and_then(|value| value.get(json)), *shape))
            });
            format!("{{{}}}", texts.collect::<Vec<_>>().join(","))
        }
        (Shape::Json(fields), value) => {
            let set = fields.iter().filter_map(|(name, shape)| Some((name, value?.get(name)?, shape)));
            let texts = set.map(|(name, value, shape)| format!("\"{name}\":{}", text(Some(value), *shape)));
            format!("{{{}}}", texts.collect::<Vec<_>>().join(","))
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn fields_keep_their_names_and_order() {
        const INNER: Shape = Shape::Struct(&[("B", "b", TEXT), ("A", "a", OPTIONAL)]);
        const OUTER: Shape =
            Shape::Struct(&[("Many", "many", Shape::List(&INNER)), ("One", "one", Shape::Pointer(&INNER))]);
        assert_eq!(text(None, OUTER), r#"{"Many":null,"One":null}"#);
        let value = json!({"one": {"a": 1}, "many": [{"b": "x"}]});
        let expected = r#"{"Many":[{"B":"x","A":null}],"One":{"B":"","A":1}}"#;
        assert_eq!(text(Some(&value), OUTER), expected);
        let selector =
            json!({"matchExpressions": [{"key": "k", "operator": "Exists"}], "matchLabels": {"a": "b"}});
        assert_eq!(
            text(Some(&selector), LABEL_SELECTOR),
            r#"{"matchLabels":{"a":"b"},"matchExpressions":[{"key":"k","operator":"Exists"}]}"#
        );
    }
}
