//! A number of seconds.

use darling::FromMeta;

/// A whole number of seconds.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) struct Seconds(pub(crate) u64);

// === impl Seconds ===

impl FromMeta for Seconds {
    fn from_expr(expr: &syn::Expr) -> darling::Result<Self> {
        let number = match expr {
            syn::Expr::Lit(literal) => match &literal.lit {
                syn::Lit::Int(number) => number.base10_parse().ok(),
                _ => None,
            },
            _ => None,
        };
        let message = "expected a whole number of seconds without quotes, for example `ttl_seconds = 3600`";
        number.map(Self).ok_or_else(|| darling::Error::custom(message).with_span(expr))
    }
}
