//! Formats values in messages that Kubernetes holds in Go structs without JSON names: by the names and in the order of
//! their fields, including unset ones.

use serde_json::Value;

pub(crate) mod difference;
pub(crate) mod internal;

/// The Go type of a value.
#[derive(Clone, Copy)]
pub(crate) enum GoShape {
    /// A scalar, or a value that is shown as JSON; with the text of its zero value.
    Plain(&'static str),
    /// A struct: the Go names, the JSON names and the shapes of its fields.
    Struct(&'static [(&'static str, &'static str, GoShape)]),
    /// A pointer.
    Pointer(&'static GoShape),
    /// A list.
    List(&'static GoShape),
    /// A struct with JSON names that omits unset fields: the order of its fields, and their shapes.
    Json(&'static [(&'static str, GoShape)]),
}

/// A text that is empty when unset.
pub(crate) const TEXT: GoShape = GoShape::Plain("\"\"");
/// A number that is 0 when unset.
pub(crate) const NUMBER: GoShape = GoShape::Plain("0");
/// A value that may be null.
pub(crate) const OPTIONAL: GoShape = GoShape::Plain("null");

/// `metav1.LabelSelector`.
pub(crate) const LABEL_SELECTOR: GoShape = GoShape::Json(&[
    ("matchLabels", OPTIONAL),
    (
        "matchExpressions",
        GoShape::List(&GoShape::Json(&[("key", TEXT), ("operator", TEXT), ("values", OPTIONAL)])),
    ),
]);

/// Returns a value as messages show it.
pub(crate) fn text(value: Option<&Value>, shape: GoShape) -> String {
    let value = value.filter(|value| !value.is_null());
    match (shape, value) {
        (GoShape::Plain(zero), None) => zero.to_owned(),
        (GoShape::Plain(_), Some(value)) => value.to_string(),
        (GoShape::Pointer(_) | GoShape::List(_), None) => "null".to_owned(),
        (GoShape::Pointer(inner), value) => text(value, *inner),
        (GoShape::List(inner), Some(list)) => {
            let elements = list.as_array().into_iter().flatten();
            let texts: Vec<_> = elements.map(|element| text(Some(element), *inner)).collect();
            format!("[{}]", texts.join(","))
        }
        (GoShape::Struct(fields), value) => {
            let texts = fields.iter().map(|(name, json, shape)| {
                format!("\"{name}\":{}", text(value.and_then(|value| value.get(json)), *shape))
            });
            format!("{{{}}}", texts.collect::<Vec<_>>().join(","))
        }
        (GoShape::Json(fields), value) => {
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
        const INNER: GoShape = GoShape::Struct(&[("B", "b", TEXT), ("A", "a", OPTIONAL)]);
        const OUTER: GoShape = GoShape::Struct(&[
            ("Many", "many", GoShape::List(&INNER)),
            ("One", "one", GoShape::Pointer(&INNER)),
        ]);
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
