//! Prints parts of a pod spec as the Go structs without JSON names that Kubernetes decodes them into: with all fields, in
//! the order of the structs.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::sync::LazyLock;

use serde_json::{Map, Value};

const FACTS: &str = include_str!("go_structs.facts");

/// The order of the fields of label selectors, which have JSON names.
const SELECTOR_FIELDS: [&str; 5] = ["matchLabels", "matchExpressions", "key", "operator", "values"];

static STRUCTS: LazyLock<HashMap<&str, Vec<Member>>> = LazyLock::new(|| parse(FACTS));

/// A member of a struct.
enum Member {
    Field {
        name: &'static str,
        json: &'static str,
        kind: &'static str,
    },
    /// The fields of another struct.
    Embedded(&'static str),
    /// The fields of a struct with JSON names, without those that are unset.
    Plain(&'static str),
}

fn parse(facts: &'static str) -> HashMap<&'static str, Vec<Member>> {
    let mut structs: HashMap<&str, Vec<Member>> = HashMap::new();
    let mut current = "";
    for line in facts.lines().filter(|line| !line.starts_with('#')) {
        let Some(member) = line.strip_prefix(' ') else {
            current = line;
            continue;
        };
        let mut words = member.split(' ');
        let member = match (words.next(), words.next(), words.next()) {
            (Some("<"), Some(other), None) => Member::Embedded(other),
            (Some("*"), Some(json), None) => Member::Plain(json),
            (Some(name), Some(json), Some(kind)) => Member::Field { name, json, kind },
            _ => continue,
        };
        structs.entry(current).or_default().push(member);
    }
    structs
}

/// Returns a value as indented JSON, one field or element a line.
pub(super) fn pretty(value: Option<&Value>, kind: &str) -> String {
    let mut printer = Printer { text: String::new(), depth: 0 };
    printer.value(value, kind, None);
    printer.text
}

struct Printer {
    text: String,
    depth: usize,
}

// === impl Printer ===

impl Printer {
    fn value(&mut self, value: Option<&Value>, kind: &str, outer: Option<&Value>) {
        let value = value.filter(|value| !value.is_null());
        if let Some(inner) = kind.strip_prefix('?') {
            return match value {
                Some(_) => self.value(value, inner, outer),
                None => self.text.push_str("null"),
            };
        }
        if let Some(inner) = kind.strip_prefix("[]") {
            return self.list(value.and_then(Value::as_array), inner);
        }
        let zero = match kind {
            "text" => "\"\"",
            "flag" => "false",
            "number" => "0",
            "quantity" => "\"0\"",
            "map" => return self.map(value.and_then(Value::as_object)),
            "json" => return self.plain(value.unwrap_or(&Value::Null)),
            _ => return self.structure(value, kind, outer),
        };
        match value {
            Some(value) => self.scalar(value),
            None => self.text.push_str(zero),
        }
    }

    fn scalar(&mut self, value: &Value) {
        let text = value.to_string();
        self.text.push_str(&text.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026"));
    }

    fn list(&mut self, elements: Option<&Vec<Value>>, kind: &str) {
        match elements {
            None => self.text.push_str("null"),
            Some(elements) => self.lines('[', ']', elements.iter(), |printer, element| {
                printer.value(Some(element), kind, None);
            }),
        }
    }

    fn map(&mut self, entries: Option<&Map<String, Value>>) {
        let Some(entries) = entries else {
            self.text.push_str("null");
            return;
        };
        let mut sorted: Vec<_> = entries.iter().collect();
        sorted.sort_by_key(|(key, _)| *key);
        self.lines('{', '}', sorted.into_iter(), |printer, (key, value)| {
            printer.field(key, |printer| printer.scalar(value));
        });
    }

    /// Prints a value with JSON names.
    fn plain(&mut self, value: &Value) {
        match value {
            Value::Object(fields) => {
                let place = |key: &str| SELECTOR_FIELDS.iter().position(|field| *field == key);
                let mut sorted: Vec<_> = fields.iter().collect();
                sorted.sort_by_key(|(key, _)| (place(key).unwrap_or(usize::MAX), *key));
                self.lines('{', '}', sorted.into_iter(), |printer, (key, value)| {
                    printer.field(key, |printer| printer.plain(value));
                });
            }
            Value::Array(elements) => {
                self.lines('[', ']', elements.iter(), Self::plain);
            }
            scalar => self.scalar(scalar),
        }
    }

    fn structure(&mut self, value: Option<&Value>, kind: &str, outer: Option<&Value>) {
        let mut fields = Vec::new();
        collect(value, kind, outer, &mut fields);
        self.lines('{', '}', fields.into_iter(), |printer, (name, field, kind)| {
            printer.field(name, |printer| printer.value(field, kind, value));
        });
    }

    fn field(&mut self, name: &str, print: impl FnOnce(&mut Self)) {
        let _ = write!(self.text, "{}: ", Value::from(name));
        print(self);
    }

    /// Prints the parts of a list or of an object, each on a line of its own.
    fn lines<T>(
        &mut self,
        open: char,
        close: char,
        parts: impl ExactSizeIterator<Item = T>,
        print: impl Fn(&mut Self, T),
    ) {
        self.text.push(open);
        let count = parts.len();
        self.depth += 1;
        for (place, part) in parts.enumerate() {
            self.new_line();
            print(self, part);
            if place + 1 < count {
                self.text.push(',');
            }
        }
        self.depth -= 1;
        if count > 0 {
            self.new_line();
        }
        self.text.push(close);
    }

    fn new_line(&mut self) {
        self.text.push('\n');
        self.text.extend(std::iter::repeat_n(' ', self.depth));
    }
}

/// Collects the fields of a struct: the name, the value and the type of each.
fn collect<'v>(
    value: Option<&'v Value>,
    kind: &str,
    outer: Option<&'v Value>,
    fields: &mut Vec<(&'v str, Option<&'v Value>, &'static str)>,
) {
    for member in STRUCTS.get(kind).into_iter().flatten() {
        match member {
            Member::Field { name, json, kind } => {
                let field = match json.strip_prefix('^') {
                    Some(json) => outer.and_then(|outer| outer.get(json)),
                    None => value.and_then(|value| value.get(json)),
                };
                fields.push((name, field, kind));
            }
            Member::Embedded(kind) => collect(value, kind, outer, fields),
            Member::Plain(json) => {
                let own = value.and_then(|value| value.get(json)).and_then(Value::as_object);
                fields.extend(
                    own.into_iter().flatten().map(|(key, value)| (key.as_str(), Some(value), "json")),
                );
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn all_fields_are_printed() {
        let value = json!({"name": "v", "secret": {"secretName": "a<b"}});
        let text = pretty(Some(&value), "Volume");
        assert!(text.starts_with("{\n \"Name\": \"v\",\n \"HostPath\": null,\n"), "{text}");
        let secret = " \"Secret\": {\n  \"SecretName\": \"a\\u003cb\",\n  \"Items\": null,\n  \"DefaultMode\": null,\n  \"Optional\": null\n },\n";
        assert!(text.contains(secret), "{text}");
        let spec = json!({"hostNetwork": true, "securityContext": {"fsGroup": 1}, "containers": []});
        let text = pretty(Some(&spec), "PodSpec");
        assert!(
            text.contains("\n \"SecurityContext\": {\n  \"HostNetwork\": true,\n  \"HostPID\": false,\n"),
            "{text}"
        );
        assert!(text.contains("\n \"Containers\": [],\n"), "{text}");
    }

    #[test]
    fn all_types_are_known() {
        let is_known = |kind: &str| {
            matches!(kind, "text" | "flag" | "number" | "quantity" | "map" | "json")
                || STRUCTS.contains_key(kind)
        };
        for member in STRUCTS.values().flatten() {
            let kind = match member {
                Member::Field { kind, .. } => kind.trim_start_matches('?').trim_start_matches("[]"),
                Member::Embedded(kind) => kind,
                Member::Plain(_) => continue,
            };
            assert!(is_known(kind), "{kind}");
        }
    }
}
