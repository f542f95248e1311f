//! Signing and verification of service account tokens.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args};

use super::{OptionsError, parse_duration};

/// Tokens of service accounts.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Service accounts")]
pub struct ServiceAccountOptions {
    /// Issuer of tokens; if given repeatedly, the first one issues, and tokens of the others are accepted
    /// too. A change invalidates all tokens
    #[arg(long, value_name = "URL", default_value = "https://kubernetes.default.svc")]
    pub service_account_issuer: Vec<String>,

    /// Private key (PEM, RSA or P-256) that signs tokens [default: sa.key beside the generated certificates]
    #[arg(long, value_name = "FILE")]
    pub service_account_signing_key_file: Option<PathBuf>,

    /// Unix socket of a program that signs tokens in the place of the server, and knows the keys that verify them
    /// (`ExternalJWTSigner` v1); `@NAME` is an abstract socket
    #[arg(long, value_name = "SOCKET")]
    pub service_account_signing_endpoint: Option<String>,

    /// Further keys (PEM) that tokens are verified with
    #[arg(long, value_name = "FILE")]
    pub service_account_key_file: Vec<PathBuf>,

    /// Audiences of tokens that name none [default: the issuer]
    #[arg(long, value_name = "AUDIENCE,…", value_delimiter = ',')]
    pub api_audiences: Vec<String>,

    /// Maximum lifetime of a token; 0 is no limit
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = parse_duration)]
    pub service_account_max_token_expiration: Duration,

    /// Extend the tokens that pods mount to a year, for clients that read them only once
    #[arg(long, default_value_t = true, action = ArgAction::Set)]
    pub service_account_extend_token_expiration: bool,

    /// URL of the keys that verify tokens, if it is not this server's
    #[arg(long, value_name = "URL")]
    pub service_account_jwks_uri: Option<String>,
}

/// Minimum and maximum of `--service-account-max-token-expiration`, in seconds.
const MAX_EXPIRATION_SECONDS: std::ops::RangeInclusive<u64> = 3600..=1 << 32;

// === impl ServiceAccountOptions ===

impl ServiceAccountOptions {
    /// Checks the flags.
    ///
    /// # Errors
    /// Fails if a value cannot be used; the text names the flag.
    pub(super) fn validate(&self) -> Result<(), OptionsError> {
        for (index, issuer) in self.service_account_issuer.iter().enumerate() {
            if issuer.is_empty() {
                return Err(OptionsError::EmptyIssuer);
            }
            if self.service_account_issuer.iter().take(index).any(|earlier| earlier == issuer) {
                return Err(OptionsError::RepeatedIssuer(issuer.clone()));
            }
        }
        self.validate_endpoint()?;
        let expiration = self.service_account_max_token_expiration;
        if !expiration.is_zero() && !MAX_EXPIRATION_SECONDS.contains(&expiration.as_secs()) {
            return Err(OptionsError::TokenExpiration);
        }
        if let Some(uri) = self.service_account_jwks_uri.as_ref().filter(|uri| !uri.starts_with("https://")) {
            return Err(OptionsError::KeysUrl(uri.clone()));
        }
        Ok(())
    }

    fn validate_endpoint(&self) -> Result<(), OptionsError> {
        let Some(endpoint) = &self.service_account_signing_endpoint else { return Ok(()) };
        if self.service_account_signing_key_file.is_some() || !self.service_account_key_file.is_empty() {
            return Err(OptionsError::SigningKeyAndEndpoint);
        }
        let is_part = |part: &str| {
            let is_plain = |byte: u8| byte.is_ascii_alphanumeric() || matches!(byte, b'_' | b'-');
            !part.is_empty() && part.bytes().all(is_plain)
        };
        if endpoint.strip_prefix('@').is_some_and(|name| !name.split('.').all(is_part)) {
            return Err(OptionsError::SigningEndpoint(endpoint.clone()));
        }
        Ok(())
    }
}

/// Returns the path of `--service-account-signing-endpoint`: the name of an abstract socket begins with a zero byte.
#[cfg(feature = "external-signer")]
pub(crate) fn socket_path(endpoint: &str) -> PathBuf {
    PathBuf::from(endpoint.strip_prefix('@').map_or_else(|| endpoint.to_owned(), |name| format!("\0{name}")))
}
