//! Configurations that cannot be used, and tokens that are not accepted because of their claims.

use std::io;
use std::path::PathBuf;

use clients::SettingsError;
use jiff::Timestamp;
use registry_core::api::validation::ErrorList;
use registry_core::cel::EvaluationError;
use registry_core::codec::configuration::DecodingError;
use registry_core::schema::FieldIssue;

/// Error of a configuration of issuers. Not retryable. The texts are Kubernetes', where it refuses the same.
#[derive(Debug, thiserror::Error)]
pub enum ConfigurationError {
    #[error("failed to load authentication configuration from file {:?}: {source}", .path.display())]
    File { path: PathBuf, source: Box<Self> },
    #[error(transparent)]
    Unreadable(#[from] io::Error),
    #[error("empty config data")]
    Empty,
    #[error("it is larger than {0} bytes")]
    TooLarge(usize),
    #[error(transparent)]
    Decoding(#[from] DecodingError),
    #[error("invalid authentication configuration: {0}")]
    Invalid(ErrorList),
    /// The authorities of an issuer cannot be used.
    #[error(transparent)]
    Authorities(#[from] SettingsError),
    /// An issuer names a network, and `--egress-selector-config-file` says nothing of any.
    #[error("oidc: egress lookup required with egress selector type {0:?}")]
    NoEgress(String),
    /// The file says nothing of the network that an issuer names.
    #[error("oidc: egress lookup for {0:?} is not configured")]
    OtherEgress(String),

    #[error("--oidc-ca-file: {}: {source}", .path.display())]
    AuthorityFile { path: PathBuf, source: SettingsError },
    #[error("--oidc-signing-algs: oidc: unsupported signing alg: {0:?}")]
    Algorithm(String),
    #[error("--oidc-signing-algs: {0}")]
    NotBuilt(&'static str),
}

/// Error of a token that its issuer does not vouch for, or that names no user. Not retryable, but for the first. The texts are
/// Kubernetes'.
#[derive(Debug, thiserror::Error)]
pub(super) enum JwtError {
    #[error("oidc: authenticator not initialized")]
    NotInitialized,
    #[error("oidc: verify token: {0}")]
    Unverified(#[source] ClaimError),
    #[error("oidc: verify token: {0}")]
    Duplicate(FieldIssue),
    #[error(transparent)]
    User(ClaimError),
}

/// Error of a token whose claims name no user, or are not accepted. Not retryable. The texts are Kubernetes'.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ClaimError {
    #[error("failed to verify signature: failed to verify id token signature")]
    Signature,
    #[error("oidc: id token signed with unsupported algorithm, expected {expected:?} got {name:?}")]
    Algorithm { expected: Vec<&'static str>, name: String },
    #[error("oidc: expected audience in {wanted:?} got {own:?}")]
    Audience { own: Vec<String>, wanted: Vec<String> },
    #[error("oidc: failed to unmarshal claims: aud is neither a string nor a list of strings")]
    AudienceType,
    #[error("oidc: token has no expiry")]
    NoExpiry,
    #[error("oidc: token is expired (Token Expiry: {0})")]
    Expired(i64),
    #[error("oidc: current time {now} before the nbf (not before) time: {begin}")]
    NotYetValid { now: Timestamp, begin: i64 },
    #[error("oidc: failed to unmarshal claims: {0} is not a time")]
    TimeType(&'static str),

    #[error("oidc: required claim {0} not present in ID token")]
    Missing(String),
    #[error("oidc: parse claim {0}: it is not a string")]
    NotText(String),
    #[error("oidc: required claim {claim} value does not match. Got = {found}, want = {wanted}")]
    OtherValue { claim: String, found: String, wanted: String },
    #[error("oidc: parse username claims {claim:?}: {source}")]
    Username { claim: String, source: TextError },
    #[error("oidc: empty username via CEL expression is not allowed")]
    EmptyUsername,
    #[error("oidc: email not verified")]
    EmailNotVerified,
    #[error("oidc: parse 'email_verified' claim: it is not a bool")]
    EmailVerifiedType,
    #[error("oidc: parse groups claim {0:?}: it is neither a string nor a list of strings")]
    GroupsType(String),
    #[error("oidc: the claim {0:?} is distributed: such claims are not fetched")]
    Distributed(String),
    #[error("oidc: parse uid claim {claim:?}: {source}")]
    Uid { claim: String, source: TextError },
    #[error("oidc: error evaluating extra claim expression: {key}: {source}")]
    Extra { key: String, source: ExpressionError },
    #[error("oidc: error evaluating {place}: {source}")]
    Expression { place: &'static str, source: ExpressionError },
}

/// Error of a claim that has to be a text.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum TextError {
    #[error("claim not present")]
    Missing,
    #[error("it is not a string")]
    NotText,
    #[error("it is empty")]
    Empty,
}

/// Error of an expression over claims or a user.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum ExpressionError {
    #[error(transparent)]
    Evaluation(#[from] EvaluationError),
    #[error("expression must return a string or a list of strings")]
    NotTexts,
    #[error("expression returns a value of no known type")]
    UnknownType,
    #[error("{0} claim expression must return a string")]
    NotText(&'static str),
    #[error("validation expression must return a boolean")]
    NotBoolean,
    /// A rule does not hold.
    #[error("validation expression '{expression}' failed: {message}")]
    Refused { expression: String, message: String },
}
