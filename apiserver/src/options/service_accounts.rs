//! Who signs the tokens of service accounts, and whose signatures are believed.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args};

use super::parse_duration;

/// Tokens of service accounts.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Service accounts")]
pub struct ServiceAccountOptions {
    /// Who issues tokens; given again, tokens of the others are believed too. Changing it ends all tokens
    #[arg(long, value_name = "URL", default_value = "https://kubernetes.default.svc")]
    pub service_account_issuer: Vec<String>,

    /// The private key (PEM, RSA or P-256) that signs tokens [default: sa.key beside the generated certificates]
    #[arg(long, value_name = "FILE")]
    pub service_account_signing_key_file: Option<PathBuf>,

    /// Further keys (PEM) whose signatures are believed
    #[arg(long, value_name = "FILE")]
    pub service_account_key_file: Vec<PathBuf>,

    /// For whom tokens are meant that do not say it [default: the issuer]
    #[arg(long, value_name = "AUDIENCE,…", value_delimiter = ',')]
    pub api_audiences: Vec<String>,

    /// How long a token may be good at most; 0 is no limit
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = parse_duration)]
    pub service_account_max_token_expiration: Duration,

    /// Let tokens that pods mount live for a year, for clients that read them only once
    #[arg(long, value_name = "BOOL", default_value_t = true, num_args = 0..=1, default_missing_value = "true",
          require_equals = true, action = ArgAction::Set)]
    pub service_account_extend_token_expiration: bool,

    /// Where others find the keys, when that is not this server
    #[arg(long, value_name = "URL")]
    pub service_account_jwks_uri: Option<String>,
}
