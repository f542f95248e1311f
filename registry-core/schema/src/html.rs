//! Escaping of JSON for HTML, which Go does wherever it prints JSON.

/// Escapes JSON for embedding in HTML, as Go does.
pub fn escape_for_pages(json: String) -> String {
    if !json.contains(['<', '>', '&']) {
        return json;
    }
    json.replace('<', "\\u003c").replace('>', "\\u003e").replace('&', "\\u0026")
}
