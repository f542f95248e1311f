//! Kubeconfigs that the server writes.

use std::borrow::Cow;
use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::{Value, json};

/// The name of the cluster and of the context.
const NAME: &str = "orlop";

/// A kubeconfig of one user of one server, which refers to no other file. Displays as YAML, for people; programs can have
/// [JSON](Self::to_json).
#[derive(Clone, Copy, Debug)]
pub struct WrittenKubeconfig<'a> {
    /// The server's URL.
    pub server: &'a str,
    /// The authority of the server's certificate (PEM).
    pub authority_pem: &'a str,
    /// The name of the user in the kubeconfig.
    pub user: &'a str,
    /// The user's certificate (PEM).
    pub certificate_pem: &'a str,
    /// Its key (PEM).
    pub key_pem: &'a str,
}

// === impl WrittenKubeconfig ===

impl WrittenKubeconfig<'_> {
    /// Returns the kubeconfig as JSON, which clients read too.
    pub fn to_json(&self) -> Value {
        json!({
            "apiVersion": "v1",
            "kind": "Config",
            "current-context": NAME,
            "clusters": [{"name": NAME, "cluster": {
                "server": self.server, "certificate-authority-data": STANDARD.encode(self.authority_pem),
            }}],
            "contexts": [{"name": NAME, "context": {"cluster": NAME, "user": self.user}}],
            "users": [{"name": self.user, "user": {
                "client-certificate-data": STANDARD.encode(self.certificate_pem),
                "client-key-data": STANDARD.encode(self.key_pem),
            }}],
        })
    }
}

impl fmt::Display for WrittenKubeconfig<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        let (server, user) = (scalar(self.server), scalar(self.user));
        let [authority, certificate, key] =
            [self.authority_pem, self.certificate_pem, self.key_pem].map(|pem| STANDARD.encode(pem));
        write!(
            f,
            "\
apiVersion: v1
kind: Config
current-context: {NAME}
clusters:
- name: {NAME}
  cluster:
    server: {server}
    certificate-authority-data: {authority}
contexts:
- name: {NAME}
  context:
    cluster: {NAME}
    user: {user}
users:
- name: {user}
  user:
    client-certificate-data: {certificate}
    client-key-data: {key}
"
        )
    }
}

/// Returns a text as YAML has it: as it is if it can be nothing else than a URL or a short name, so that simple programs can read
/// it too, or else quoted. Texts of JSON are texts of YAML.
fn scalar(text: &str) -> Cow<'_, str> {
    let is_of_url = |byte: u8| byte.is_ascii_alphanumeric() || b":/.-_[]".contains(&byte);
    let is_url = text.starts_with("https://") && text.bytes().all(is_of_url) && !text.ends_with(':');
    if is_url || text == "admin" { text.into() } else { Value::from(text).to_string().into() }
}

#[cfg(test)]
mod tests {
    use registry_core::codec::{Limits, yaml};

    use super::*;

    #[test]
    fn names_with_signs_of_yaml_stay_texts() {
        let written = WrittenKubeconfig {
            server: "https://[::1]:6443/a b: #c",
            authority_pem: "a",
            user: "system:node:x # \"y\"",
            certificate_pem: "b",
            key_pem: "c",
        };
        let read = yaml::decode(written.to_string().as_bytes(), &Limits::default()).unwrap().value;
        assert_eq!(read["clusters"][0]["cluster"]["server"], written.server);
        assert_eq!(read["contexts"][0]["context"]["user"], written.user);
        assert_eq!(read["users"][0]["name"], written.user);
        assert_eq!(read["users"][0]["user"]["client-key-data"], "Yw==");
        assert_eq!(read, written.to_json());
    }

    #[test]
    fn urls_are_written_as_they_are() {
        for text in ["https://[::1]:6443", "https://127.0.0.1:6443", "https://a-b.c:1/d_e", "admin"] {
            assert_eq!(scalar(text), text);
        }
        for text in ["https://a:", "https://a b", "https://a#b", "https://a\"b", "true", "null", "", "jane"] {
            assert_eq!(scalar(text), format!("{text:?}"));
        }
    }
}
