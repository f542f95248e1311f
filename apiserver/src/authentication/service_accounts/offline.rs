//! Tokens that are signed without a server, for `apiserver token`.

use registry_core::rest::tokens::TokenClaims;

use super::claims::Claims;
use super::keys::SigningKey;
use crate::options::Options;
use crate::pki::{FileFault, PkiError};

/// Returns a token with these claims, signed with the key of a server with these options. Without audiences it is for that
/// server.
///
/// # Errors
/// Fails if there is no key yet, or if it cannot be used.
pub(crate) fn sign(options: &Options, mut claims: TokenClaims) -> Result<String, PkiError> {
    let own = &options.service_accounts;
    if let Some(endpoint) = &own.service_account_signing_endpoint {
        return Err(FileFault::SignedElsewhere.in_file(endpoint.as_ref()));
    }
    let generated = || options.certificate_directory().join("sa.key");
    let path = own.service_account_signing_key_file.clone().unwrap_or_else(generated);
    if !path.exists() {
        return Err(FileFault::NoSigningKey.in_file(&path));
    }
    let key = SigningKey::read(&path)?;
    let issuer = own.service_account_issuer.first().map(String::as_str).unwrap_or_default();
    if claims.audiences.is_empty() {
        claims.audiences =
            if own.api_audiences.is_empty() { vec![issuer.to_owned()] } else { own.api_audiences.clone() };
    }
    let payload = serde_json::to_vec(&Claims::to_issue(&claims, issuer));
    let payload = payload.map_err(|error| FileFault::Claims(error).in_file(&path))?;
    key.sign(&payload).map_err(|_| FileFault::CannotSign.in_file(&path))
}
