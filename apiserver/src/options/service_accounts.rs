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
    #[arg(long, value_name = "BOOL", default_value_t = true, num_args = 0..=1, default_missing_value = "true",
          require_equals = true, action = ArgAction::Set)]
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
        let refuse = |text: String| Err(OptionsError(text));
        for (index, issuer) in self.service_account_issuer.iter().enumerate() {
            if issuer.is_empty() {
                return refuse("service-account-issuer should not be an empty string".to_owned());
            }
            if self.service_account_issuer.iter().take(index).any(|earlier| earlier == issuer) {
                return refuse(format!("service-account-issuer {issuer:?} is already specified"));
            }
        }
        let expiration = self.service_account_max_token_expiration;
        if !expiration.is_zero() && !MAX_EXPIRATION_SECONDS.contains(&expiration.as_secs()) {
            let text = "the service-account-max-token-expiration must be between 1 hour and 2^32 seconds";
            return refuse(text.to_owned());
        }
        if let Some(uri) = self.service_account_jwks_uri.as_ref().filter(|uri| !uri.starts_with("https://")) {
            return refuse(format!("service-account-jwks-uri requires https scheme, parsed as: {uri}"));
        }
        Ok(())
    }
}
