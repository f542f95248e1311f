//! Lists inside the attribute: of strings and of field paths.

use darling::FromMeta;
use syn::punctuated::Punctuated;
use syn::{LitStr, Meta, Token};

use super::path::FieldPath;

/// `short = "enc"`, `short("enc", "pen")`.
#[derive(Clone, Debug, Default)]
pub(crate) struct TextList(pub(crate) Vec<LitStr>);

/// `selectable(spec.keeper, status.phase)`.
#[derive(Clone, Debug, Default)]
pub(crate) struct PathList(pub(crate) Vec<FieldPath>);

// === impl TextList ===

impl FromMeta for TextList {
    fn from_meta(item: &Meta) -> darling::Result<Self> {
        match item {
            Meta::List(list) => {
                let texts = list.parse_args_with(Punctuated::<LitStr, Token![,]>::parse_terminated)?;
                Ok(Self(texts.into_iter().collect()))
            }
            Meta::NameValue(pair) => match &pair.value {
                syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => Ok(Self(vec![text.clone()])),
                other => Err(darling::Error::custom("expected a string literal").with_span(other)),
            },
            Meta::Path(path) => {
                Err(darling::Error::custom("expected one or more string literals").with_span(path))
            }
        }
    }
}

// === impl PathList ===

impl FromMeta for PathList {
    fn from_meta(item: &Meta) -> darling::Result<Self> {
        let Meta::List(list) = item else {
            return Err(darling::Error::custom("expected field paths: `(spec.field, status.field)`")
                .with_span(item.path()));
        };
        let paths = list.parse_args_with(Punctuated::<FieldPath, Token![,]>::parse_terminated)?;
        Ok(Self(paths.into_iter().collect()))
    }
}
