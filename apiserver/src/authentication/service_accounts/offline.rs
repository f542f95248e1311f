//! Tokens that are signed without a server, for `apiserver token`.

use registry_core::rest::tokens::TokenClaims;

use super::claims::Claims;
use super::keys::SigningKey;
use crate::options::Options;
use crate::pki::PkiError;

/// Returns a token with these claims, signed with the key of a server with these options. Without audiences it is for that
/// server.
///
/// # Errors
/// Fails if there is no key yet, or if it cannot be used.
pub(crate) fn sign(options: &Options, mut claims: TokenClaims) -> Result<String, PkiError> {
    let own = &options.service_accounts;
    if let Some(endpoint) = &own.service_account_signing_endpoint {
        let reason =
            "the program that listens there signs the tokens: request one from the server".to_owned();
        return Err(PkiError::Unusable { path: endpoint.into(), reason });
    }
    let generated = || options.certificate_directory().join("sa.key");
    let path = own.service_account_signing_key_file.clone().unwrap_or_else(generated);
    let unusable = |reason: &str| PkiError::Unusable { path: path.clone(), reason: reason.to_owned() };
    if !path.exists() {
        return Err(unusable("it does not exist: start the server with this data directory once"));
    }
    let key = SigningKey::read(&path)?;
    let issuer = own.service_account_issuer.first().map(String::as_str).unwrap_or_default();
    if claims.audiences.is_empty() {
        claims.audiences =
            if own.api_audiences.is_empty() { vec![issuer.to_owned()] } else { own.api_audiences.clone() };
    }
    let payload = serde_json::to_vec(&Claims::to_issue(&claims, issuer));
    let payload = payload.map_err(|error| unusable(&error.to_string()))?;
    key.sign(&payload).map_err(|_| unusable("it cannot sign"))
}
