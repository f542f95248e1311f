//! Values as Go's `fmt` prints them, for messages.

use std::collections::HashSet;
use std::fmt::Display;

use serde_json::{Map, Value};

/// Formats a value as `%v`.
pub fn print(value: &Value) -> String {
    match value {
        Value::Null => "<nil>".to_owned(),
        Value::String(text) => text.clone(),
        Value::Array(list) => print_list(list),
        Value::Object(map) => print_map(map),
        other => other.to_string(),
    }
}

/// Formats a list as `%v`.
pub fn print_list(list: &[Value]) -> String {
    format!("[{}]", list.iter().map(print).collect::<Vec<_>>().join(" "))
}

/// Formats a map as `%v`.
pub fn print_map(map: &Map<String, Value>) -> String {
    let entries: Vec<_> = map.iter().map(|(key, value)| format!("{key}:{}", print(value))).collect();
    format!("map[{}]", entries.join(" "))
}

/// Formats texts as `%q`.
pub fn quoted(texts: &[impl AsRef<str>]) -> String {
    let texts: Vec<String> = texts.iter().map(|text| format!("{:?}", text.as_ref())).collect();
    format!("[{}]", texts.join(" "))
}

/// Joins errors as Go's aggregates do: each once, in brackets if there are several. Without any, the text is empty.
///
/// Kubernetes concept: `NewAggregate` in `k8s.io/apimachinery/pkg/util/errors`.
pub fn aggregate(errors: impl IntoIterator<Item = impl Display>) -> String {
    let mut texts: Vec<String> = errors.into_iter().map(|error| error.to_string()).collect();
    let mut known = HashSet::new();
    texts.retain(|text| known.insert(text.clone()));
    match texts.as_slice() {
        [] => String::new(),
        [only] => only.clone(),
        several => format!("[{}]", several.join(", ")),
    }
}
