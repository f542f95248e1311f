//! HTTP: headers for browsers, and the distribution of connections.

use std::str::FromStr;
use std::time::Duration;

use clap::Args;
use regex::{Regex, RegexBuilder};

use super::{OptionsError, ValueError, parse_duration};

/// Maximum chance with which a connection is closed.
const MAX_GOAWAY_CHANCE: f64 = 0.02;
/// Maximum size of a compiled pattern.
const MAX_PATTERN_BYTES: usize = 1024 * 1024;

/// HTTP: headers for browsers, and the distribution of connections.
#[derive(Args, Clone, Debug, Default)]
#[command(next_help_heading = "HTTP")]
pub struct HttpOptions {
    /// Patterns of origins from which browsers may call the server, such as //example\.com(:|$)
    #[arg(long, value_name = "PATTERN,…", value_delimiter = ',')]
    pub cors_allowed_origins: Vec<OriginPattern>,

    /// Directives of the header Strict-Transport-Security: max-age=SECONDS, includeSubDomains, preload
    #[arg(long, value_name = "DIRECTIVE,…", value_delimiter = ',')]
    pub strict_transport_security_directives: Vec<HstsDirective>,

    /// Chance with which an HTTP/2 client is asked to connect again after a request, at most 0.02, so that clients
    /// spread over several servers; 0 is never
    #[arg(long, value_name = "CHANCE", default_value_t = 0.0)]
    pub goaway_chance: f64,

    /// The host in URLs that the server publishes of itself, such as that of the keys of service accounts
    /// [default: the address that it listens on]
    #[arg(long, value_name = "HOST")]
    pub external_hostname: Option<String>,

    /// Time after the start in which failing checks do not fail /livez
    #[arg(long, value_name = "DURATION", default_value = "0s", value_parser = parse_duration)]
    pub livez_grace_period: Duration,
}

/// A pattern of origins.
#[derive(Clone, Debug)]
pub struct OriginPattern(pub Regex);

/// A directive of `Strict-Transport-Security`.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct HstsDirective(pub String);

// === impl HttpOptions ===

impl HttpOptions {
    /// Checks the flags.
    ///
    /// # Errors
    /// Fails if a value cannot be used; the text names the flag.
    pub(super) fn validate(&self) -> Result<(), OptionsError> {
        if !(0.0..=MAX_GOAWAY_CHANCE).contains(&self.goaway_chance) {
            return Err(OptionsError::GoawayChance);
        }
        let is_letter = |letter: char| {
            letter.is_ascii_alphanumeric() || matches!(letter, '-' | '.' | '_' | ':' | '[' | ']')
        };
        if self.external_hostname.as_ref().is_some_and(|host| host.is_empty() || !host.chars().all(is_letter))
        {
            return Err(OptionsError::ExternalHostname);
        }
        Ok(())
    }
}

impl FromStr for OriginPattern {
    type Err = ValueError;

    fn from_str(pattern: &str) -> Result<Self, ValueError> {
        if pattern.is_empty() {
            return Err(ValueError::EmptyOrigin);
        }
        let contains = |markers: [&str; 2]| markers.iter().any(|marker| pattern.contains(marker));
        // Otherwise `example.com` would also mean `example.com.attacker.net`.
        if !contains(["^", "//"]) || !contains(["$", ":"]) {
            return Err(ValueError::UnpinnedOrigin);
        }
        Ok(Self(RegexBuilder::new(pattern).size_limit(MAX_PATTERN_BYTES).build()?))
    }
}

impl FromStr for HstsDirective {
    type Err = ValueError;

    fn from_str(directive: &str) -> Result<Self, ValueError> {
        let age = directive.strip_prefix("max-age=");
        let is_age = age.is_some_and(|age| !age.is_empty() && age.bytes().all(|byte| byte.is_ascii_digit()));
        if is_age || matches!(directive, "includeSubDomains" | "preload") {
            return Ok(Self(directive.to_owned()));
        }
        Err(ValueError::Directive)
    }
}
