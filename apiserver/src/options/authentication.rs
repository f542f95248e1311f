//! Authentication of clients.

use std::path::PathBuf;
use std::time::Duration;

use clap::{ArgAction, Args};

use super::{OptionsError, ValueError, parse_duration};

/// Authentication of clients.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Authentication")]
pub struct AuthenticationOptions {
    /// Certificate authorities (PEM) whose client certificates are accepted, in addition to the generated
    /// one: the common name is the user, the organizations are the groups. Read again when it changes
    #[arg(long, value_name = "FILE")]
    pub client_ca_file: Option<PathBuf>,

    /// File of bearer tokens, one per line: token,user,uid,"group1,group2"
    #[arg(long, value_name = "FILE")]
    pub token_auth_file: Option<PathBuf>,

    /// Accept requests without credentials as system:anonymous, who may read health and version only
    /// [default: true]
    #[arg(long)]
    pub anonymous_auth: Option<bool>,

    /// Accept bootstrap tokens: Secrets of type bootstrap.kubernetes.io/token in kube-system
    #[arg(long, default_value_t = false, action = ArgAction::Set)]
    pub enable_bootstrap_token_auth: bool,

    /// File with an AuthenticationConfiguration: issuers whose tokens are accepted, and paths that need no
    /// credentials. Read again when it changes
    #[arg(long, value_name = "FILE")]
    pub authentication_config: Option<PathBuf>,

    /// Front proxies.
    #[command(flatten)]
    pub front_proxy: FrontProxyOptions,

    /// An issuer of tokens.
    #[command(flatten)]
    pub oidc: OidcOptions,

    /// A webhook that knows tokens.
    #[command(flatten)]
    pub token_webhook: TokenWebhookOptions,
}

/// Front proxies, which authenticate users and name them in headers.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "Authentication by front proxies")]
pub struct FrontProxyOptions {
    /// Certificate authorities (PEM) of front proxies, whose headers are trusted. Read again when it changes
    #[arg(long, value_name = "FILE")]
    pub requestheader_client_ca_file: Option<PathBuf>,

    /// Common names of front proxies [default: any of the authorities']
    #[arg(long, value_name = "NAME,…", value_delimiter = ',')]
    pub requestheader_allowed_names: Vec<String>,

    /// Headers that name the user, for example X-Remote-User
    #[arg(long, value_name = "HEADER,…", value_delimiter = ',')]
    pub requestheader_username_headers: Vec<String>,

    /// Headers that give the user's uid, for example X-Remote-Uid
    #[arg(long, value_name = "HEADER,…", value_delimiter = ',')]
    pub requestheader_uid_headers: Vec<String>,

    /// Headers that name the user's groups, for example X-Remote-Group
    #[arg(long, value_name = "HEADER,…", value_delimiter = ',')]
    pub requestheader_group_headers: Vec<String>,

    /// Prefixes of headers with further attributes of the user, for example X-Remote-Extra-
    #[arg(long, value_name = "PREFIX,…", value_delimiter = ',')]
    pub requestheader_extra_headers_prefix: Vec<String>,
}

/// One issuer of tokens, by flags.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Authentication by OpenID Connect")]
pub struct OidcOptions {
    /// URL of the issuer (https)
    #[arg(long, value_name = "URL")]
    pub oidc_issuer_url: Option<String>,

    /// The audience of tokens
    #[arg(long, value_name = "ID")]
    pub oidc_client_id: Option<String>,

    /// Certificate authorities (PEM) of the issuer's certificate [default: those of the system]
    #[arg(long, value_name = "FILE")]
    pub oidc_ca_file: Option<PathBuf>,

    /// The claim that names the user
    #[arg(long, value_name = "CLAIM", default_value = "sub")]
    pub oidc_username_claim: String,

    /// Prefix of user names; `-` is none [default: the issuer's URL and #, but none for the claim `email`]
    #[arg(long, value_name = "PREFIX")]
    pub oidc_username_prefix: Option<String>,

    /// The claim that names the user's groups
    #[arg(long, value_name = "CLAIM")]
    pub oidc_groups_claim: Option<String>,

    /// Prefix of groups
    #[arg(long, value_name = "PREFIX")]
    pub oidc_groups_prefix: Option<String>,

    /// A claim and the value that it must have; can be repeated
    #[arg(long, value_name = "CLAIM=VALUE", value_parser = parse_pair)]
    pub oidc_required_claim: Vec<(String, String)>,

    /// Signature algorithms of tokens: RS256, RS384, RS512, ES256, ES384, ES512, PS256, PS384, PS512
    #[arg(long, value_name = "ALGORITHM,…", value_delimiter = ',', default_value = "RS256")]
    pub oidc_signing_algs: Vec<String>,
}

/// A webhook that knows the users of tokens.
#[derive(Args, Clone, Debug)]
#[command(next_help_heading = "Authentication by a webhook")]
pub struct TokenWebhookOptions {
    /// Kubeconfig of a server that is asked for the users of tokens, with TokenReviews
    #[arg(long, value_name = "FILE")]
    pub authentication_token_webhook_config_file: Option<PathBuf>,

    /// Time for which its answers are kept [default: 2m; 10s in an extension server]
    #[arg(long, value_name = "DURATION", value_parser = parse_duration)]
    pub authentication_token_webhook_cache_ttl: Option<Duration>,

    /// Version of the TokenReviews: v1 or v1beta1
    #[arg(long, value_name = "VERSION", default_value = "v1beta1")]
    pub authentication_token_webhook_version: String,
}

// === impl AuthenticationOptions ===

impl AuthenticationOptions {
    /// Checks the flags in combination.
    ///
    /// # Errors
    /// Fails if flags contradict each other; the text names them.
    pub(super) fn validate(&self) -> Result<(), OptionsError> {
        if self.oidc.oidc_issuer_url.is_some() != self.oidc.oidc_client_id.is_some() {
            return Err(OptionsError::OidcIncomplete);
        }
        if self.oidc.is_given() && self.oidc.oidc_issuer_url.is_none() {
            return Err(OptionsError::OidcIncomplete);
        }
        if self.oidc.is_given() && self.authentication_config.is_some() {
            return Err(OptionsError::OidcAndConfiguration);
        }
        if self.oidc.is_given() && self.oidc.oidc_username_claim.is_empty() {
            return Err(OptionsError::OidcUsername);
        }
        self.front_proxy.validate()
    }
}

// === impl OidcOptions ===

impl OidcOptions {
    /// Whether one of the flags is given that has no default.
    fn is_given(&self) -> bool {
        self.oidc_issuer_url.is_some()
            || self.oidc_client_id.is_some()
            || self.oidc_ca_file.is_some()
            || self.oidc_username_prefix.is_some()
            || self.oidc_groups_claim.is_some()
            || self.oidc_groups_prefix.is_some()
            || !self.oidc_required_claim.is_empty()
    }
}

// === impl FrontProxyOptions ===

impl FrontProxyOptions {
    fn validate(&self) -> Result<(), OptionsError> {
        let lists = [
            ("requestheader-username-headers", &self.requestheader_username_headers),
            ("requestheader-group-headers", &self.requestheader_group_headers),
            ("requestheader-extra-headers-prefix", &self.requestheader_extra_headers_prefix),
            ("requestheader-allowed-names", &self.requestheader_allowed_names),
            ("requestheader-uid-headers", &self.requestheader_uid_headers),
        ];
        for (flag, values) in lists {
            if values.iter().any(|value| value.trim().is_empty()) {
                return Err(OptionsError::EmptyHeader(flag));
            }
        }
        let uid = &self.requestheader_uid_headers;
        if !uid.is_empty() && !uid.iter().any(|header| header.eq_ignore_ascii_case("X-Remote-Uid")) {
            return Err(OptionsError::NoUidHeader);
        }
        Ok(())
    }
}

/// Reads `key=value`.
fn parse_pair(text: &str) -> Result<(String, String), ValueError> {
    let (key, value) = text.split_once('=').ok_or_else(|| ValueError::NoPair(text.to_owned()))?;
    if key.trim().is_empty() {
        return Err(ValueError::NoClaim(text.to_owned()));
    }
    Ok((key.trim().to_owned(), value.trim().to_owned()))
}
