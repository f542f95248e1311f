//! An event as JSON, with the fields in Kubernetes' order. Recorded objects are copied, not parsed.

use registry_core::context::{ObjectIdentity, UserInfo};
use request_info::ResourceRequest;
use serde::Serialize;
use serde_json::Value;

use super::{Event, TYPICAL_BYTES, micro_time};

/// Writes the fields of an object.
struct Fields<'b> {
    buffer: &'b mut Vec<u8>,
    is_first: bool,
}

/// Appends an event.
pub(super) fn write(event: &Event, buffer: &mut Vec<u8>) {
    let facts = &event.facts;
    let recorded = &event.recorded;
    buffer.reserve(TYPICAL_BYTES);
    let mut fields = Fields::begin(buffer);
    fields.word("kind", "Event");
    fields.word("apiVersion", "audit.k8s.io/v1");
    fields.word("level", facts.level.as_str());
    fields.text("auditID", &facts.audit_id);
    fields.word("stage", event.stage.as_str());
    fields.text("requestURI", &facts.request_uri);
    fields.word("verb", facts.verb);
    write_user(fields.key("user"), &facts.user);
    if let Some(impersonated) = &event.impersonated {
        write_user(fields.key("impersonatedUser"), impersonated);
    }
    if let Some(constraint) = &event.impersonation_constraint {
        let mut metadata = Fields::begin(fields.key("authenticationMetadata"));
        metadata.text("impersonationConstraint", constraint);
        metadata.end();
    }
    if !facts.source_ips.is_empty() {
        fields.value("sourceIPs", &facts.source_ips);
    }
    fields.stated("userAgent", &facts.user_agent);
    if let Some(resource) = &facts.object_ref {
        write_object_ref(fields.key("objectRef"), resource, &recorded.identity);
    }
    if let Some(code) = event.code {
        write_status(fields.key("responseStatus"), event, code);
    }
    let objects =
        [("requestObject", &recorded.request_object), ("responseObject", &recorded.response_object)];
    for (name, object) in objects {
        if let Some(json) = object {
            write_object(fields.key(name), json, facts.omits_managed_fields);
        }
    }
    fields.word("requestReceivedTimestamp", &micro_time(facts.received));
    fields.word("stageTimestamp", &micro_time(event.stage_time));
    if !recorded.annotations.is_empty() {
        let mut sorted: Vec<_> = recorded.annotations.iter().collect();
        sorted.sort_unstable();
        let mut annotations = Fields::begin(fields.key("annotations"));
        for (key, value) in sorted {
            write_text(annotations.any_key(key), value);
        }
        annotations.end();
    }
    fields.end();
}

fn write_user(buffer: &mut Vec<u8>, user: &UserInfo) {
    let mut fields = Fields::begin(buffer);
    fields.stated("username", &user.name);
    fields.stated("uid", &user.uid);
    fields.texts("groups", &user.groups);
    if !user.extra.is_empty() {
        let mut sorted: Vec<_> = user.extra.iter().collect();
        sorted.sort_unstable();
        let mut extra = Fields::begin(fields.key("extra"));
        for (key, values) in sorted {
            write_texts(extra.any_key(key), values);
        }
        extra.end();
    }
    fields.end();
}

/// Appends the resource of the request's path, with what is known of the object from its body.
fn write_object_ref(buffer: &mut Vec<u8>, resource: &ResourceRequest, object: &ObjectIdentity) {
    fn first<'t>(known: &'t str, stated: &'t str) -> &'t str {
        if known.is_empty() { stated } else { known }
    }
    let mut fields = Fields::begin(buffer);
    fields.stated("resource", &resource.resource);
    fields.stated("namespace", first(&resource.namespace, &object.namespace));
    fields.stated("name", first(&resource.name, &object.name));
    fields.stated("uid", &object.uid);
    fields.stated("apiGroup", &resource.group);
    fields.stated("apiVersion", &resource.version);
    fields.stated("resourceVersion", &object.resource_version);
    fields.stated("subresource", &resource.subresource);
    fields.end();
}

fn write_status(buffer: &mut Vec<u8>, event: &Event, code: u16) {
    let mut fields = Fields::begin(buffer);
    fields.key("metadata").extend_from_slice(b"{}");
    event.status_fields().for_each(|(name, value)| fields.value(name, value));
    fields.value("code", &code);
    fields.end();
}

/// Appends an object, in one line.
fn write_object(buffer: &mut Vec<u8>, json: &[u8], omits_managed_fields: bool) {
    if omits_managed_fields && let Ok(mut object) = serde_json::from_slice::<Value>(json) {
        remove_managed_fields(&mut object);
        write_json(buffer, &object);
        return;
    }
    compact(buffer, json);
}

/// Removes the managed fields of an object, of a list's items, or of a table's rows.
fn remove_managed_fields(object: &mut Value) {
    let remove = |object: &mut Value| {
        if let Some(metadata) = object.get_mut("metadata").and_then(Value::as_object_mut) {
            metadata.remove("managedFields");
        }
    };
    remove(object);
    let items = |object: &mut Value, field: &str| match object.get_mut(field).map(Value::take) {
        Some(Value::Array(items)) => Some(items),
        _ => None,
    };
    let is_list = object.get("kind").and_then(Value::as_str).is_some_and(|kind| kind.ends_with("List"));
    if is_list && let Some(mut list) = items(object, "items") {
        list.iter_mut().for_each(remove);
        registry_core::json_fields::put(object, "items", list);
    }
    if object.get("kind").and_then(Value::as_str) == Some("Table")
        && let Some(mut rows) = items(object, "rows")
    {
        rows.iter_mut().filter_map(|row| row.get_mut("object")).for_each(remove);
        registry_core::json_fields::put(object, "rows", rows);
    }
}

/// Appends JSON without the white space between its tokens, as a line of a log must not have newlines.
fn compact(buffer: &mut Vec<u8>, json: &[u8]) {
    if !json.iter().any(|byte| matches!(byte, b'\n' | b'\r')) {
        buffer.extend_from_slice(json);
        return;
    }
    let mut in_text = false;
    let mut is_escaped = false;
    for &byte in json {
        if !in_text && byte.is_ascii_whitespace() {
            continue;
        }
        match byte {
            b'"' if !is_escaped => in_text = !in_text,
            _ => {}
        }
        is_escaped = in_text && byte == b'\\' && !is_escaped;
        buffer.push(byte);
    }
}

/// Appends a text. Most texts need no escapes, and are copied as they are.
fn write_text(buffer: &mut Vec<u8>, text: &str) {
    // Looks at all bytes, which processors do many at a time.
    let escapes = |byte| u8::from(matches!(byte, 0..=0x1f | b'"' | b'\\'));
    let has_escapes = text.bytes().fold(0, |found, byte| found | escapes(byte)) != 0;
    if has_escapes {
        write_json(buffer, text);
    } else {
        write_quoted(buffer, text);
    }
}

fn write_quoted(buffer: &mut Vec<u8>, text: &str) {
    buffer.push(b'"');
    buffer.extend_from_slice(text.as_bytes());
    buffer.push(b'"');
}

fn write_texts<T: AsRef<str>>(buffer: &mut Vec<u8>, texts: &[T]) {
    buffer.push(b'[');
    for (at, text) in texts.iter().enumerate() {
        if at > 0 {
            buffer.push(b',');
        }
        write_text(buffer, text.as_ref());
    }
    buffer.push(b']');
}

fn write_json(buffer: &mut Vec<u8>, value: &(impl Serialize + ?Sized)) {
    // Cannot fail: the keys are strings, and writing to memory does not fail.
    let _ = serde_json::to_writer(&mut *buffer, value);
}

// === impl Fields ===

impl<'b> Fields<'b> {
    fn begin(buffer: &'b mut Vec<u8>) -> Self {
        buffer.push(b'{');
        Self { buffer, is_first: true }
    }

    fn end(self) {
        self.buffer.push(b'}');
    }

    /// Appends a name that needs no escapes, and returns the buffer to which its value is to be appended.
    fn key(&mut self, name: &'static str) -> &mut Vec<u8> {
        self.separate();
        write_quoted(self.buffer, name);
        self.buffer.push(b':');
        self.buffer
    }

    /// Appends any name, and returns the buffer to which its value is to be appended.
    fn any_key(&mut self, name: &str) -> &mut Vec<u8> {
        self.separate();
        write_text(self.buffer, name);
        self.buffer.push(b':');
        self.buffer
    }

    fn separate(&mut self) {
        if !std::mem::take(&mut self.is_first) {
            self.buffer.push(b',');
        }
    }

    fn value(&mut self, name: &'static str, value: &(impl Serialize + ?Sized)) {
        write_json(self.key(name), value);
    }

    /// Appends a text of the server's own, which needs no escapes.
    fn word(&mut self, name: &'static str, word: &str) {
        write_quoted(self.key(name), word);
    }

    fn text(&mut self, name: &'static str, text: &str) {
        write_text(self.key(name), text);
    }

    /// Appends texts, unless there are none.
    fn texts<T: AsRef<str>>(&mut self, name: &'static str, texts: &[T]) {
        if !texts.is_empty() {
            write_texts(self.key(name), texts);
        }
    }

    /// Appends a text unless it is empty.
    fn stated(&mut self, name: &'static str, text: &str) {
        if !text.is_empty() {
            self.text(name, text);
        }
    }
}
