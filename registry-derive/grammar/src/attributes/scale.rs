//! `scale(replicas = spec.replicas, current = status.replicas, selector = status.selector)`.

use darling::FromMeta;
use syn::parse::{Parse, ParseStream};
use syn::{Ident, Meta, Token};

use super::path::FieldPath;

/// The field paths of the `scale` subresource.
#[derive(Clone, Debug)]
pub struct ScaleAttribute {
    /// The desired number of replicas.
    pub replicas: FieldPath,
    /// The current number of replicas.
    pub current: FieldPath,
    /// The label selector.
    pub selector: Option<FieldPath>,
}

// === impl ScaleAttribute ===

impl FromMeta for ScaleAttribute {
    fn from_meta(item: &Meta) -> darling::Result<Self> {
        let Meta::List(list) = item else {
            return Err(darling::Error::custom(
                "expected `scale(replicas = spec.replicas, current = status.replicas)`",
            )
            .with_span(item.path()));
        };
        Ok(list.parse_args()?)
    }
}

impl Parse for ScaleAttribute {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut replicas = None;
        let mut current = None;
        let mut selector = None;
        while !input.is_empty() {
            let option: Ident = input.parse()?;
            input.parse::<Token![=]>()?;
            let slot = match option.to_string().as_str() {
                "replicas" => &mut replicas,
                "current" => &mut current,
                "selector" => &mut selector,
                other => {
                    let message =
                        format!("a scale has no `{other}`: expected `replicas`, `current` or `selector`");
                    return Err(syn::Error::new(option.span(), message));
                }
            };
            if slot.replace(input.parse::<FieldPath>()?).is_some() {
                return Err(syn::Error::new(option.span(), format!("`{option}` is given twice")));
            }
            if !input.is_empty() {
                input.parse::<Token![,]>()?;
            }
        }
        let missing = |what: &str| input.error(format!("a scale needs `{what} = path.to.field`"));
        let replicas = replicas.ok_or_else(|| missing("replicas"))?;
        let current = current.ok_or_else(|| missing("current"))?;
        Ok(Self { replicas, current, selector })
    }
}
