//! `manifests`: prints what an extension server needs in a cluster.

use std::time::Duration;

use registry_core::registry::StorageMap;
use responses::yaml;

use crate::Program;
use crate::manifests::{Manifests, Serving};
use crate::options::ManifestsCommand;
use crate::pki::{issue_serving, now};

use super::error::CommandError;

/// Prints the manifests as YAML documents.
///
/// # Errors
/// Fails if a name cannot be that of an object, or if a certificate cannot be read or made.
pub(super) fn print(
    program: Program,
    command: &ManifestsCommand,
    maps: &[&'static StorageMap],
) -> Result<(), CommandError> {
    super::print(text(program, command, maps)?)
}

fn text(
    program: Program,
    command: &ManifestsCommand,
    maps: &[&'static StorageMap],
) -> Result<String, CommandError> {
    let name = command.name.as_deref().unwrap_or(program.name);
    for (flag, value) in [("--name", name), ("--namespace", command.namespace.as_str())] {
        if !is_label(value) {
            return Err(CommandError::NoLabel { flag, value: value.to_owned() });
        }
    }
    if command.expires < Duration::from_mins(1) {
        return Err(CommandError::Expires("longer than a minute"));
    }
    let default_image = format!("{}:{}", program.name, program.version);
    let image = command.image.as_deref().unwrap_or(&default_image);
    let manifests = |ca_pem: &str, serving: Serving<'_>| {
        let namespace = command.namespace.as_str();
        Manifests { name, namespace, image, ca_pem, serving, maps }.objects()
    };
    let objects = if let (Some(secret), Some(file)) = (&command.tls_secret, &command.ca_file) {
        let ca_pem = std::fs::read_to_string(file);
        let ca_pem = ca_pem.map_err(|source| CommandError::AuthorityFile { path: file.clone(), source })?;
        manifests(&ca_pem, Serving::Secret(secret))
    } else {
        let made = issue_serving(name, &command.namespace, command.expires, now())?;
        let (certificate_pem, key_pem) = (&made.leaf.certificate_pem, &made.leaf.key_pem);
        manifests(&made.ca_pem, Serving::Made { certificate_pem, key_pem })
    };
    let documents: Vec<String> = objects.iter().map(yaml::encode).collect();
    Ok(documents.join("---\n"))
}

/// Whether a name can be that of a service and a namespace.
fn is_label(name: &str) -> bool {
    let is_inner = |byte: u8| byte.is_ascii_lowercase() || byte.is_ascii_digit() || byte == b'-';
    let begins = name.as_bytes().first().is_some_and(u8::is_ascii_lowercase);
    begins && name.len() <= 50 && !name.ends_with('-') && name.bytes().all(is_inner)
}

#[cfg(test)]
mod tests {
    use registry_core::codec::{Limits, yaml as reader};

    use super::*;
    use crate::options::{Command, Options};

    const ZOO: Program = Program { name: "zoo", version: "1.2.3", description: "" };

    fn run(flags: &[&str]) -> Result<String, String> {
        let options = Options::from_arguments([&["zoo", "manifests"], flags].concat());
        let options = options.map_err(|error| error.to_string())?;
        let Some(Command::Manifests(command)) = &options.command else { return Err("another".to_owned()) };
        text(ZOO, command, &[crate::builtin_storage_map()]).map_err(|error| error.to_string())
    }

    #[test]
    fn manifests_are_yaml_with_a_certificate_for_the_service() {
        let text = run(&["--namespace=animals"]).unwrap();
        let documents: Vec<_> = text.split("---\n").collect();
        let read = |document: &&str| reader::decode(document.as_bytes(), &Limits::default()).unwrap().value;
        let objects: Vec<_> = documents.iter().map(read).collect();
        let deployment = objects.iter().find(|object| object["kind"] == "Deployment").unwrap();
        assert_eq!(deployment["spec"]["template"]["spec"]["containers"][0]["image"], "zoo:1.2.3");
        assert!(objects.iter().any(|object| object["kind"] == "Secret"), "{text}");
    }

    #[test]
    fn names_are_checked() {
        for flags in [
            &["--namespace=Zoo"][..],
            &["--name=a_b"],
            &["--name=-a"],
            &["--name="],
            &["--tls-secret=a"],
            &["--expires=1s"],
        ] {
            assert!(run(flags).is_err(), "{flags:?}");
        }
    }
}
