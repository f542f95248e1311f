//! Answers in the form in which they are compared: without what a server makes up.

use std::collections::{BTreeSet, HashSet};

use serde_json::{Map, Value};

use crate::Case;

/// Kinds whose status is written by a controller in the server at a time of its own.
const LATE_STATUS: [&str; 6] = [
    "CustomResourceDefinition",
    "FlowSchema",
    "PriorityLevelConfiguration",
    "ServiceCIDR",
    "ValidatingAdmissionPolicy",
    "APIService",
];

/// The answer of a server.
#[derive(Debug, Default, PartialEq)]
pub struct Answer {
    pub code: u64,
    pub reason: String,
    /// Reason, field and message.
    pub causes: Vec<[String; 3]>,
    /// The message, if there are no causes.
    pub message: Option<String>,
    pub object: Option<Value>,
}

/// The degree to which two answers agree. Each level includes those before.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Agreement {
    None,
    Code,
    Causes,
    Exact,
}

// === impl Answer ===

impl Answer {
    /// Reads a recorded answer.
    pub fn recorded(expected: &Value) -> Self {
        let mut causes = causes(&expected["causes"], str::to_owned);
        causes.sort();
        Self {
            code: expected["code"].as_u64().unwrap(),
            reason: text(&expected["reason"]),
            causes,
            message: expected["message"].as_str().map(str::to_owned),
            object: expected.get("object").cloned(),
        }
    }

    /// Reads a response.
    pub fn received(case: &Case, code: u16, body: Value, uid: Option<&str>) -> Self {
        let code = code.into();
        let known = Known::for_case(case);
        let is_generated = !text(&case.body["metadata"]["generateName"]).is_empty()
            && text(&case.body["metadata"]["name"]).is_empty();
        if code < 400 && body["kind"] != "Status" {
            let object = Some(accepted_object(case, body, &known, is_generated, uid));
            return Self { code, object, ..Self::default() };
        }
        let details = &body["details"];
        let name = text(&details["name"]);
        let uid = details["uid"].as_str().filter(|uid| !uid.is_empty()).or(uid);
        let normal = |given: &str| {
            let given = if is_generated && !name.is_empty() {
                given.replace(&name, "<gen>")
            } else {
                given.to_owned()
            };
            known.loose(&known.text(&given, uid))
        };
        let mut found: Vec<_> = causes(&details["causes"], normal);
        found.sort();
        let message = found.is_empty().then(|| normal(&text(&body["message"])));
        Self { code, reason: text(&body["reason"]), causes: found, message, object: None }
    }

    /// Returns how far another answer agrees with this one.
    pub fn agreement(&self, other: &Self) -> Agreement {
        if self.code != other.code {
            return Agreement::None;
        }
        if self.object.is_some() {
            return if self.object == other.object { Agreement::Exact } else { Agreement::Causes };
        }
        let fields = |answer: &Self| -> BTreeSet<[String; 2]> {
            answer.causes.iter().map(|[reason, field, _]| [reason.clone(), field.clone()]).collect()
        };
        if fields(self) != fields(other) {
            return Agreement::Code;
        }
        if self == other { Agreement::Exact } else { Agreement::Causes }
    }
}

fn text(value: &Value) -> String {
    value.as_str().unwrap_or_default().to_owned()
}

fn causes(list: &Value, normal: impl Fn(&str) -> String) -> Vec<[String; 3]> {
    let normal = |value: Option<&Value>| normal(value.and_then(Value::as_str).unwrap_or_default());
    let cause = |cause: &Value| match cause {
        Value::Array(parts) => [0, 1, 2].map(|place| normal(parts.get(place))),
        _ => ["reason", "field", "message"].map(|name| normal(cause.get(name))),
    };
    list.as_array().into_iter().flatten().map(cause).collect()
}

fn accepted_object(
    case: &Case,
    mut body: Value,
    known: &Known,
    is_generated: bool,
    uid: Option<&str>,
) -> Value {
    let own_uid = text(&body["metadata"]["uid"]);
    let uid = if own_uid.is_empty() { uid } else { Some(own_uid.as_str()) };
    let names_itself = !text(&case.body["metadata"]["name"]).is_empty();
    if let Some(metadata) = body["metadata"].as_object_mut() {
        for field in ["uid", "creationTimestamp", "resourceVersion", "managedFields", "selfLink"] {
            metadata.remove(field);
        }
        if is_generated || !names_itself {
            metadata.remove("name");
        }
    }
    if LATE_STATUS.contains(&case.kind.as_str()) && case.verb != "create" {
        body.as_object_mut().unwrap().remove("status");
    }
    known.value(body, uid, "")
}

/// The texts and numbers of a request: what is not among them was made up by the server.
struct Known {
    texts: HashSet<String>,
    numbers: HashSet<i64>,
    request: String,
}

// === impl Known ===

impl Known {
    fn for_case(case: &Case) -> Self {
        let old = case.old.clone().unwrap_or_default();
        let request = format!("{} {old}", case.body);
        let mut known = Self { texts: HashSet::new(), numbers: HashSet::new(), request };
        known.add(&case.body);
        known.add(&old);
        known
    }

    fn add(&mut self, value: &Value) {
        match value {
            Value::Object(fields) => fields.values().for_each(|value| self.add(value)),
            Value::Array(elements) => elements.iter().for_each(|value| self.add(value)),
            Value::String(text) => {
                self.texts.insert(text.clone());
            }
            Value::Number(number) => {
                self.numbers.extend(number.as_i64());
            }
            Value::Null | Value::Bool(_) => {}
        }
    }

    fn value(&self, value: Value, uid: Option<&str>, key: &str) -> Value {
        match value {
            Value::Object(fields) => {
                let set = fields.into_iter().filter(|(_, value)| !value.is_null());
                let normal = set.map(|(key, value)| {
                    let value = self.value(value, uid, &key);
                    (key, value)
                });
                Value::Object(normal.collect::<Map<_, _>>())
            }
            Value::Array(elements) => {
                elements.into_iter().map(|element| self.value(element, uid, key)).collect()
            }
            Value::String(text) => {
                let normal = self.text(&text, uid);
                let is_address = matches!(key, "clusterIP" | "clusterIPs");
                if is_address && !self.texts.contains(&normal) && !matches!(normal.as_str(), "None" | "") {
                    return "<ip>".into();
                }
                normal.into()
            }
            Value::Number(number) if matches!(key, "nodePort" | "healthCheckNodePort") => {
                let is_known = number.as_i64().is_none_or(|port| port == 0 || self.numbers.contains(&port));
                if is_known { Value::Number(number) } else { "<port>".into() }
            }
            other => other,
        }
    }

    fn text(&self, text: &str, uid: Option<&str>) -> String {
        let text = match uid.filter(|uid| !uid.is_empty()) {
            Some(uid) => text.replace(uid, "<uid>"),
            None => text.to_owned(),
        };
        let is_time = time_length(&text) == Some(text.len());
        if is_time && !self.texts.contains(&text) { "<time>".to_owned() } else { text }
    }

    /// Replaces times, UIDs and addresses inside a message that the request does not contain.
    fn loose(&self, message: &str) -> String {
        let mut normal = String::new();
        let mut rest = message;
        let mut before = ' ';
        while let Some(next) = rest.chars().next() {
            let at_word = !before.is_ascii_alphanumeric();
            let found =
                [("<time>", time_length(rest)), ("<uid>", uid_length(rest)), ("<ip>", ip_length(rest))];
            let found = found.into_iter().find_map(|(mark, length)| Some((mark, rest.get(..length?)?)));
            if let Some((mark, part)) = found.filter(|(_, part)| at_word && !self.request.contains(part)) {
                normal.push_str(mark);
                rest = &rest[part.len()..];
                before = '>';
            } else {
                normal.push(next);
                rest = &rest[next.len_utf8()..];
                before = next;
            }
        }
        normal
    }
}

/// Whether the text begins so: `d` is a digit, `x` a hexadecimal digit, all else itself.
fn begins_like(text: &str, form: &str) -> bool {
    let bytes = text.as_bytes();
    let fits = |(place, wanted): (usize, u8)| match (wanted, bytes.get(place)) {
        (b'd', Some(byte)) => byte.is_ascii_digit(),
        (b'x', Some(byte)) => byte.is_ascii_hexdigit(),
        (wanted, byte) => byte == Some(&wanted),
    };
    form.bytes().enumerate().all(fits)
}

/// The length of the time that the text begins with.
fn time_length(text: &str) -> Option<usize> {
    const FORM: &str = "dddd-dd-ddTdd:dd:dd";
    if !begins_like(text, FORM) {
        return None;
    }
    let end = text.find('Z')?;
    let fraction = &text[FORM.len()..end];
    let digits = fraction.strip_prefix('.').unwrap_or(fraction);
    let is_time =
        fraction.is_empty() || fraction.starts_with('.') && digits.bytes().all(|byte| byte.is_ascii_digit());
    is_time.then_some(end + 1)
}

/// The length of the UID that the text begins with.
fn uid_length(text: &str) -> Option<usize> {
    const FORM: &str = "xxxxxxxx-xxxx-4xxx-xxxx-xxxxxxxxxxxx";
    begins_like(text, FORM).then_some(FORM.len())
}

/// The length of the service address that the text begins with.
fn ip_length(text: &str) -> Option<usize> {
    let rest = text.strip_prefix("10.0.0.")?;
    let digits = rest.bytes().take_while(u8::is_ascii_digit).count();
    let is_range = rest[digits..].starts_with('/');
    (digits > 0 && !is_range).then_some("10.0.0.".len() + digits)
}
