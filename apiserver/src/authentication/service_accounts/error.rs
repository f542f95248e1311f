//! Tokens of service accounts that are not accepted.

use registry_core::api::StatusError;
use registry_core::api::go_text::quoted;

/// Error of a service account's token that is not, or no longer, valid. The texts are Kubernetes'.
#[derive(Debug, PartialEq, Eq, thiserror::Error)]
pub(super) enum TokenError {
    #[error("error in cryptographic primitive")]
    Signature,
    #[error("service account token claims could not be validated")]
    Claims,
    #[error("token audiences {} is invalid for the target audiences {}", quoted(.own), quoted(.wanted))]
    Audiences { own: Vec<String>, wanted: Vec<String> },
    #[error("service account token is not valid yet")]
    NotYetValid,
    #[error("service account token has expired")]
    Expired,
    #[error("service account token is issued in the future")]
    IssuedInFuture,
    #[error("service account token has been invalidated")]
    Invalidated,
    #[error("serviceaccounts {0:?} not found")]
    AccountNotFound(String),
    #[error("service account UID ({uid}) does not match claim ({claimed})")]
    AccountUid { uid: String, claimed: String },
    #[error("{kind} UID ({uid}) does not match service account {kind} ref claim ({claimed})")]
    BoundUid { kind: &'static str, uid: String, claimed: String },
    /// An object of the token cannot be read. Retryable.
    #[error("{}", .0.message)]
    Read(StatusError),

    #[error("{0} claim is missing")]
    MissingClaim(&'static str),
    #[error("sub claim is invalid")]
    Subject,
    #[error("Token has been invalidated")]
    SecretGone,
    #[error("Token does not match server's copy")]
    OtherCopy,
    #[error("ServiceAccount {namespace}/{name} has been deleted")]
    AccountDeleted { namespace: String, name: String },
    #[error("ServiceAccount UID ({uid}) does not match claim ({claimed})")]
    LegacyAccountUid { uid: String, claimed: String },
    #[error(
        "the token in secret {namespace}/{secret} for service account {namespace}/{account} has been marked invalid. Use \
         tokens from the TokenRequest API or manually created secret-based tokens, or remove the '{label}' label \
         from the secret to temporarily allow use of this token"
    )]
    MarkedInvalid { namespace: String, secret: String, account: String, label: &'static str },
}
