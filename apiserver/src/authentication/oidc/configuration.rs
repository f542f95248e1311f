//! The file of `--authentication-config`, and the `--oidc-*` flags as such a file.

use std::fs;
use std::path::Path;

use crate::options::OidcOptions;
use clients::SettingsError;
use clients::tls::Trust;
use registry_core::codec::configuration::decode;
use serde::Deserialize;

use super::error::ConfigurationError;
use super::keys::Algorithm;
use super::p521_key::NOT_BUILT;

/// Versions of the configuration that are read; they have the same fields.
const VERSIONS: [&str; 3] =
    ["apiserver.config.k8s.io/v1", "apiserver.config.k8s.io/v1beta1", "apiserver.config.k8s.io/v1alpha1"];
/// Maximum size of the file.
const MAX_BYTES: usize = 4 * 1024 * 1024;

/// The issuers whose tokens are accepted, and who needs none.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::authentication) struct AuthenticationConfiguration {
    #[serde(default)]
    pub(super) jwt: Vec<JwtAuthenticator>,
    pub(in crate::authentication) anonymous: Option<AnonymousConfig>,
}

/// The requests that are accepted without credentials.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::authentication) struct AnonymousConfig {
    #[serde(default)]
    pub(in crate::authentication) enabled: bool,
    #[serde(default)]
    pub(in crate::authentication) conditions: Vec<AnonymousCondition>,
}

/// A path.
#[derive(Clone, Debug, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(in crate::authentication) struct AnonymousCondition {
    #[serde(default)]
    pub(in crate::authentication) path: String,
}

/// An issuer, and the users that its tokens name.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct JwtAuthenticator {
    #[serde(default)]
    pub(super) issuer: IssuerConfig,
    #[serde(default)]
    pub(super) claim_validation_rules: Vec<ClaimValidationRule>,
    #[serde(default)]
    pub(super) claim_mappings: ClaimMappings,
    #[serde(default)]
    pub(super) user_validation_rules: Vec<UserValidationRule>,
}

/// An issuer.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct IssuerConfig {
    #[serde(default)]
    pub(super) url: String,
    #[serde(default, rename = "discoveryURL")]
    pub(super) discovery_url: String,
    #[serde(default)]
    pub(super) certificate_authority: String,
    #[serde(default)]
    pub(super) audiences: Vec<String>,
    #[serde(default)]
    pub(super) audience_match_policy: String,
    #[serde(default)]
    pub(super) egress_selector_type: String,
}

/// A requirement on the claims: a value, or an expression.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ClaimValidationRule {
    #[serde(default)]
    pub(super) claim: String,
    #[serde(default)]
    pub(super) required_value: String,
    #[serde(default)]
    pub(super) expression: String,
    #[serde(default)]
    pub(super) message: String,
}

/// The claims that each property of the user comes from.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ClaimMappings {
    #[serde(default)]
    pub(super) username: PrefixedClaim,
    #[serde(default)]
    pub(super) groups: PrefixedClaim,
    #[serde(default)]
    pub(super) uid: UnprefixedClaim,
    #[serde(default)]
    pub(super) extra: Vec<ExtraMapping>,
}

/// A claim with a prefix, or an expression.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct PrefixedClaim {
    #[serde(default)]
    pub(super) claim: String,
    pub(super) prefix: Option<String>,
    #[serde(default)]
    pub(super) expression: String,
}

/// A claim, or an expression.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct UnprefixedClaim {
    #[serde(default)]
    pub(super) claim: String,
    #[serde(default)]
    pub(super) expression: String,
}

/// An extra attribute of the user.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct ExtraMapping {
    #[serde(default)]
    pub(super) key: String,
    #[serde(default)]
    pub(super) value_expression: String,
}

/// A requirement on the user.
#[derive(Clone, Debug, Default, Deserialize, PartialEq)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
pub(super) struct UserValidationRule {
    #[serde(default)]
    pub(super) expression: String,
    #[serde(default)]
    pub(super) message: String,
}

// === impl AuthenticationConfiguration ===

impl AuthenticationConfiguration {
    /// Reads a file.
    ///
    /// # Errors
    /// Fails if it cannot be read, or is no such configuration.
    pub(in crate::authentication) fn read(path: &Path) -> Result<Self, ConfigurationError> {
        Self::read_with_content(path).map(|(configuration, _)| configuration)
    }

    /// Reads a file, and returns the configuration with the content of the file.
    ///
    /// # Errors
    /// Fails if it cannot be read, or is no such configuration.
    pub(in crate::authentication) fn read_with_content(
        path: &Path,
    ) -> Result<(Self, Vec<u8>), ConfigurationError> {
        let read = || {
            let bytes = fs::read(path)?;
            Ok((Self::parse(&bytes)?, bytes))
        };
        read().map_err(|source: ConfigurationError| ConfigurationError::File {
            path: path.to_owned(),
            source: Box::new(source),
        })
    }

    /// Reads a configuration (YAML or JSON).
    pub(super) fn parse(bytes: &[u8]) -> Result<Self, ConfigurationError> {
        if bytes.trim_ascii().is_empty() {
            return Err(ConfigurationError::Empty);
        }
        if bytes.len() > MAX_BYTES {
            return Err(ConfigurationError::TooLarge(MAX_BYTES));
        }
        Ok(decode(bytes, "AuthenticationConfiguration", &VERSIONS)?)
    }

    /// Returns the configuration that the `--oidc-*` flags stand for; `None` without them.
    ///
    /// # Errors
    /// Fails if the file of authorities cannot be used.
    pub(in crate::authentication) fn from_flags(
        flags: &OidcOptions,
    ) -> Result<Option<Self>, ConfigurationError> {
        let (Some(url), Some(client)) = (&flags.oidc_issuer_url, &flags.oidc_client_id) else {
            return Ok(None);
        };
        let certificate_authority = match &flags.oidc_ca_file {
            Some(path) => authorities(path)
                .map_err(|source| ConfigurationError::AuthorityFile { path: path.clone(), source })?,
            None => String::new(),
        };
        let prefix = match flags.oidc_username_prefix.as_deref().unwrap_or_default() {
            "-" => String::new(),
            "" if flags.oidc_username_claim != "email" => format!("{url}#"),
            prefix => prefix.to_owned(),
        };
        let username = PrefixedClaim {
            claim: flags.oidc_username_claim.clone(),
            prefix: Some(prefix),
            ..PrefixedClaim::default()
        };
        let groups = flags.oidc_groups_claim.as_ref().filter(|claim| !claim.is_empty());
        let groups = groups.map(|claim| PrefixedClaim {
            claim: claim.clone(),
            prefix: Some(flags.oidc_groups_prefix.clone().unwrap_or_default()),
            ..PrefixedClaim::default()
        });
        let rules = flags.oidc_required_claim.iter().map(|(claim, value)| ClaimValidationRule {
            claim: claim.clone(),
            required_value: value.clone(),
            ..ClaimValidationRule::default()
        });
        let jwt = JwtAuthenticator {
            issuer: IssuerConfig {
                url: url.clone(),
                audiences: vec![client.clone()],
                certificate_authority,
                ..IssuerConfig::default()
            },
            claim_validation_rules: rules.collect(),
            claim_mappings: ClaimMappings {
                username,
                groups: groups.unwrap_or_default(),
                ..ClaimMappings::default()
            },
            ..JwtAuthenticator::default()
        };
        Ok(Some(Self { jwt: vec![jwt], ..Self::default() }))
    }
}

/// Reads the authorities of an issuer. A file without any content stands for those of the system, as in Kubernetes.
fn authorities(path: &Path) -> Result<String, SettingsError> {
    let bundle = fs::read_to_string(path)?;
    if !bundle.trim().is_empty() {
        Trust::from_bundle(bundle.as_bytes())?;
    }
    Ok(bundle)
}

/// Returns the signature algorithms of `--oidc-signing-algs`.
///
/// # Errors
/// Fails if there is another one, or one that this program was built without.
pub(in crate::authentication) fn algorithms(names: &[String]) -> Result<Vec<Algorithm>, ConfigurationError> {
    let algorithm = |name: &String| match Algorithm::named(name) {
        Some(algorithm) => match NOT_BUILT {
            Some(reason) if algorithm == Algorithm::Es512 => Err(ConfigurationError::NotBuilt(reason)),
            _ => Ok(algorithm),
        },
        None => Err(ConfigurationError::Algorithm(name.clone())),
    };
    names.iter().map(algorithm).collect()
}

#[cfg(test)]
mod tests {
    use super::*;
    use crate::options::Options;

    #[test]
    fn authorities_that_cannot_be_used_are_refused_by_their_flag_and_file() {
        let directory = tempfile::tempdir().unwrap();
        let path = directory.path().join("ca.crt");
        let from_flags = |content: Option<&[u8]>| {
            let mut flags = Options::default().authentication.oidc;
            flags.oidc_issuer_url = Some("https://issuer.example.com".to_owned());
            flags.oidc_client_id = Some("client".to_owned());
            flags.oidc_ca_file = Some(path.clone());
            match content {
                Some(content) => fs::write(&path, content).unwrap(),
                None => fs::remove_file(&path).unwrap(),
            }
            AuthenticationConfiguration::from_flags(&flags).map_err(|error| error.to_string())
        };
        assert!(from_flags(Some(b"\n")).is_ok(), "those of the system");
        let at = format!("--oidc-ca-file: {}: ", path.display());
        for (content, reason) in [
            (
                Some(&b"no PEM"[..]),
                "unable to load root certificates: no valid certificate authority data seen",
            ),
            (Some(&[0xff]), "stream did not contain valid UTF-8"),
            (None, "No such file or directory (os error 2)"),
        ] {
            assert_eq!(from_flags(content).err(), Some(format!("{at}{reason}")));
        }
    }
}
