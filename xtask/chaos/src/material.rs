//! The files of servers that change while they run: the serving certificate, and the keys that objects are encrypted with.

use std::path::{Path, PathBuf};

use serde_json::{Value, json};

use crate::Failure;

/// Returns the file with the serving certificate and its key.
pub(crate) fn certificate_file(directory: &Path) -> PathBuf {
    directory.join("serving.pem")
}

/// Returns the file with the encryption configuration.
pub(crate) fn keys_file(directory: &Path) -> PathBuf {
    directory.join("encryption.json")
}

/// Writes a new certificate and its key, and returns the certificate.
pub(crate) fn write_certificate(directory: &Path) -> Result<Vec<u8>, Failure> {
    let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
    let made = rcgen::generate_simple_self_signed(names)?;
    let text = made.cert.pem() + &made.signing_key.serialize_pem();
    replace(&certificate_file(directory), &text)?;
    Ok(made.cert.der().to_vec())
}

/// Returns a new key: 32 bytes in base64.
pub(crate) fn new_key(random: &mut fastrand::Rng) -> String {
    // The last character has four bits.
    let text: String = (0..42).map(|_| random.alphanumeric()).collect();
    text + "A="
}

/// Writes the keys of ConfigMaps. The first one encrypts.
pub(crate) fn write_keys(directory: &Path, keys: &[String]) -> Result<(), Failure> {
    // A key keeps its name wherever it stands.
    let keys: Vec<_> = keys.iter().map(|key| json!({ "name": key.get(..8), "secret": key })).collect();
    let providers = json!([{ "secretbox": { "keys": keys } }, { "identity": {} }]);
    let configuration = json!({
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "EncryptionConfiguration",
        "resources": [{ "resources": ["configmaps"], "providers": providers }],
    });
    replace(&keys_file(directory), &configuration.to_string())
}

/// Returns the keys of ConfigMaps.
pub(crate) fn keys(directory: &Path) -> Result<Vec<String>, Failure> {
    let configuration: Value = serde_json::from_slice(&std::fs::read(keys_file(directory))?)?;
    let keys = configuration.pointer("/resources/0/providers/0/secretbox/keys").and_then(Value::as_array);
    let secrets = keys.into_iter().flatten().filter_map(|key| key.get("secret")?.as_str());
    Ok(secrets.map(str::to_owned).collect())
}

/// Replaces a file at once, so that a server never reads a part of it.
fn replace(path: &Path, text: &str) -> Result<(), Failure> {
    let new = path.with_extension("new");
    std::fs::write(&new, text)?;
    Ok(std::fs::rename(new, path)?)
}
