//! `Warning` headers.

use http::HeaderValue;
use http::header::WARNING;

use super::Response;

/// Adds a `Warning` header for each text. The request's context bounds their number and length.
pub fn add_warnings(response: &mut Response, warnings: &[String]) {
    for text in warnings {
        // Code 299 is "miscellaneous persistent warning"; `-` is an unspecified agent.
        let mut header = String::from("299 - \"");
        for character in text.chars() {
            if matches!(character, '"' | '\\') {
                header.push('\\');
            }
            header.push(character);
        }
        header.push('"');
        if let Ok(header) = HeaderValue::from_bytes(header.as_bytes()) {
            response.headers_mut().append(WARNING, header);
        }
    }
}
