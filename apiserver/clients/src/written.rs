//! Kubeconfigs that the server writes.

use std::fmt;

use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use serde_json::Value;

/// A kubeconfig of one user of one server, which refers to no other file. Displays as YAML.
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

impl fmt::Display for WrittenKubeconfig<'_> {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        // Texts of JSON are texts of YAML.
        let (server, user) = (Value::from(self.server), Value::from(self.user));
        let [authority, certificate, key] =
            [self.authority_pem, self.certificate_pem, self.key_pem].map(|pem| STANDARD.encode(pem));
        write!(
            f,
            "\
apiVersion: v1
kind: Config
current-context: orlop
clusters:
- name: orlop
  cluster:
    server: {server}
    certificate-authority-data: {authority}
contexts:
- name: orlop
  context:
    cluster: orlop
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

#[cfg(test)]
mod tests {
    use registry_core::codec::{Limits, yaml};

    use super::*;

    #[test]
    fn names_with_signs_of_yaml_stay_texts() {
        let written = WrittenKubeconfig {
            server: "https://[::1]:6443",
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
    }
}
