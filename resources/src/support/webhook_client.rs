//! Validates how the server reaches a webhook. (`apiserver/pkg/util/webhook`.)

use registry_core::api::validation::{ErrorList, FieldError, FieldPath, names};

/// Maximum number of errors about one path: each one shows the whole path.
const MAX_PATH_ERRORS: usize = 32;

/// Checks a URL: `https://host[/path]`, and nothing else.
pub(crate) fn check_url(path: &FieldPath, url: &str, errors: &mut ErrorList) {
    const FORM: &str = "; desired format: https://host[/path]";
    let (rest, fragment) = url.split_once('#').unwrap_or((url, ""));
    let (rest, query) = rest.split_once('?').unwrap_or((rest, ""));
    let (scheme, rest) = rest.split_once(':').unwrap_or(("", rest));
    let authority = rest.strip_prefix("//").and_then(|rest| rest.split('/').next()).unwrap_or_default();
    let (user, host) =
        authority.rsplit_once('@').map_or((None, authority), |(user, host)| (Some(user), host));
    let mut complain =
        |value: &str, detail: String| errors.push(FieldError::invalid(path.clone(), value, detail));
    if scheme != "https" {
        complain(scheme, format!("'https' is the only allowed URL scheme{FORM}"));
    }
    if host.is_empty() {
        complain(host, format!("host must be specified{FORM}"));
    }
    if let Some(user) = user {
        complain(user, "user information is not permitted in the URL".to_owned());
    }
    if !fragment.is_empty() {
        complain(fragment, "fragments are not permitted in the URL".to_owned());
    }
    if !query.is_empty() {
        complain(query, "query parameters are not permitted in the URL".to_owned());
    }
}

/// Checks that every segment of the path at a service is a name.
pub(crate) fn check_service_path(path: &FieldPath, text: &str, errors: &mut ErrorList) {
    if matches!(text, "" | "/") {
        return;
    }
    let error = |detail: String| FieldError::invalid(path.clone(), text, detail);
    let known = errors.0.len();
    if !text.starts_with('/') {
        errors.push(error("must start with a '/'".to_owned()));
    }
    if text == "//" {
        errors.push(error("segment[0] may not be empty".to_owned()));
        return;
    }
    let steps = text.get(1..).unwrap_or_default();
    for (at, step) in steps.strip_suffix('/').unwrap_or(steps).split('/').enumerate() {
        if errors.0.len() >= known + MAX_PATH_ERRORS {
            return;
        }
        if step.is_empty() {
            errors.push(error(format!("segment[{at}] may not be empty")));
            continue;
        }
        for complaint in names::dns_subdomain(step) {
            errors.push(error(format!("segment[{at}]: {complaint}")));
        }
    }
}
