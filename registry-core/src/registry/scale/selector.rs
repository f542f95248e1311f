//! Label selectors as strings, which autoscalers use to list pods.
//!
//! Kubernetes concept: `metav1.LabelSelectorAsSelector(…).String()`.

use serde_json::Value;

/// Formats a selector of any form: a string, a map of labels, or a `LabelSelector`.
pub(super) fn to_text(selector: &Value) -> String {
    let Value::Object(fields) = selector else { return selector.as_str().unwrap_or_default().to_owned() };
    let is_selector = fields.keys().all(|key| key == "matchLabels" || key == "matchExpressions")
        && fields.values().all(|value| value.is_object() || value.is_array());
    let mut terms: Vec<(&str, String)> = Vec::new();
    let labels = if is_selector { selector.get("matchLabels") } else { Some(selector) };
    for (key, value) in labels.and_then(Value::as_object).into_iter().flatten() {
        terms.push((key, format!("{key}={}", value.as_str().unwrap_or_default())));
    }
    if is_selector {
        let expressions = selector.get("matchExpressions").and_then(Value::as_array);
        terms.extend(expressions.into_iter().flatten().filter_map(expression));
    }
    terms.sort_by_key(|(key, _)| *key);
    let terms: Vec<String> = terms.into_iter().map(|(_, term)| term).collect();
    terms.join(",")
}

/// Formats one expression; returns it with its sort key.
fn expression(expression: &Value) -> Option<(&str, String)> {
    let key = expression.get("key")?.as_str()?;
    let values = expression.get("values").and_then(Value::as_array);
    let mut values: Vec<&str> = values.into_iter().flatten().filter_map(Value::as_str).collect();
    values.sort_unstable();
    let values = values.join(",");
    let term = match expression.get("operator")?.as_str()? {
        "In" => format!("{key} in ({values})"),
        "NotIn" => format!("{key} notin ({values})"),
        "Exists" => key.to_owned(),
        "DoesNotExist" => format!("!{key}"),
        _ => return None,
    };
    Some((key, term))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn every_form_of_a_selector_becomes_its_text() {
        let expressions = json!([
            {"key": "tier", "operator": "In", "values": ["front", "back"]},
            {"key": "canary", "operator": "DoesNotExist"},
            {"key": "zone", "operator": "NotIn", "values": ["a"]},
            {"key": "owner", "operator": "Exists"},
        ]);
        let table = [
            (json!("app=web"), "app=web"),
            (json!({"b": "2", "a": "1"}), "a=1,b=2"),
            (json!({"matchLabels": {"app": "web"}}), "app=web"),
            (json!({}), ""),
            (
                json!({"matchLabels": {"app": "web"}, "matchExpressions": expressions}),
                "app=web,!canary,owner,tier in (back,front),zone notin (a)",
            ),
        ];
        for (selector, text) in table {
            assert_eq!(to_text(&selector), text);
        }
    }
}
