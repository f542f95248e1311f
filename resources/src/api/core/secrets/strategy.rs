//! Rules of Secrets.

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use registry_core::RequestContext;
use registry_core::api::validation::ErrorList;
use registry_core::api::{FieldError, FieldPath, Object};
use registry_core::resource::ObjectStrategy;
use resource_views::core::v1::Secret;
use resource_views::{Bytes, Map};
use serde_json::Value;

use super::key_pair;
use crate::api::core::config_data;

/// Data by type, size, and immutability on demand.
pub(super) struct SecretStrategy;

impl ObjectStrategy for SecretStrategy {
    fn apply_defaults(&self, object: &mut Object) {
        if Secret(object).r#type().text().is_empty() {
            object.set(&["type"], "Opaque".into());
        }
        // Text is stored as bytes; `stringData` itself is not stored.
        if let Some(Value::Object(texts)) = object.0.remove("stringData") {
            for (key, text) in texts {
                let encoded = STANDARD.encode(text.as_str().unwrap_or_default());
                object.set(&["data", &key], encoded.into());
            }
        }
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let data = Secret(object).data();
        config_data::check_keys(&data, &mut errors);
        let total = data.entries().map(|(_, value)| config_data::decoded_length(value.text())).sum::<usize>();
        if total > config_data::MAX_BYTES {
            errors.push(FieldError::too_long(FieldPath::new("data"), config_data::MAX_BYTES));
        }
        check_type(object, &data, &mut errors);
        errors
    }

    fn validate_update(&self, context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        Secret(new).r#type().check_immutable(&Secret(old).r#type(), &mut errors);
        config_data::check_immutable(new, old, &["data"], &mut errors);
        errors.append(self.validate(context, new));
        errors.append(config_data::repeated_metadata_errors(new));
        errors
    }

    fn warnings(&self, _context: &RequestContext, object: &Object) -> Vec<String> {
        warnings(object)
    }
}

/// Returns warnings about an unusable certificate or key.
fn warnings(object: &Object) -> Vec<String> {
    if Secret(object).r#type().optional_text() != Some("kubernetes.io/tls") {
        return Vec::new();
    }
    let data = Secret(object).data();
    let part = |key| data.entry(key).bytes();
    key_pair::complaint(&part("tls.crt"), &part("tls.key")).into_iter().collect()
}

/// Checks the required keys of well-known types.
fn check_type(object: &Object, data: &Map<Bytes<'_, '_>>, errors: &mut ErrorList) {
    let mut needs = |key: &str| {
        let present = data.value().is_some_and(|data| data.get(key).is_some());
        if !present {
            errors.push(FieldError::required(data.path().key(key), ""));
        }
        present
    };
    match Secret(object).r#type().text() {
        "kubernetes.io/service-account-token" => {
            const ACCOUNT: &str = "kubernetes.io/service-account.name";
            if object.annotation(ACCOUNT).is_none_or(str::is_empty) {
                let path = FieldPath::new("metadata").child("annotations").key(ACCOUNT);
                errors.push(FieldError::required(path, ""));
            }
        }
        "kubernetes.io/dockercfg" if needs(".dockercfg") => check_json(data, ".dockercfg", errors),
        "kubernetes.io/dockerconfigjson" if needs(".dockerconfigjson") => {
            check_json(data, ".dockerconfigjson", errors);
        }
        "kubernetes.io/basic-auth" => {
            let has = |key: &str| data.value().is_some_and(|data| data.get(key).is_some());
            if !has("username") && !has("password") {
                errors.push(FieldError::required(data.path().key("username"), ""));
                errors.push(FieldError::required(data.path().key("password"), ""));
            }
        }
        "kubernetes.io/ssh-auth" => {
            let path = data.path().key("ssh-privatekey");
            if data.entry("ssh-privatekey").text().is_empty() {
                errors.push(FieldError::required(path, ""));
            }
        }
        "kubernetes.io/tls" => {
            needs("tls.crt");
            needs("tls.key");
        }
        _ => {}
    }
}

fn check_json(data: &Map<Bytes<'_, '_>>, key: &str, errors: &mut ErrorList) {
    let decoded = data.entry(key).bytes();
    if let Err(error) = serde_json::from_slice::<serde::de::IgnoredAny>(&decoded) {
        let path = data.path().key(key);
        let first = decoded.iter().map(|byte| char::from(*byte)).find(|letter| !letter.is_ascii_whitespace());
        // A value begins with one of these.
        let begins = |letter: char| letter.is_ascii_digit() || "{[\"-tfn".contains(letter);
        let detail = match first {
            None => "unexpected end of JSON input".to_owned(),
            Some(letter) if !begins(letter) => {
                format!("invalid character {} looking for beginning of value", quoted(letter))
            }
            Some(_) => error.to_string(),
        };
        errors.push(FieldError::invalid(path, "<secret contents redacted>", detail));
    }
}

/// Returns a character in quotes, as Go's JSON decoder writes one.
fn quoted(letter: char) -> String {
    match letter {
        '\'' => r"'\''".to_owned(),
        '"' => "'\"'".to_owned(),
        letter if letter.is_control() => format!(r"'\x{:02x}'", u32::from(letter)),
        letter => format!("'{letter}'"),
    }
}
