//! `subresource(BindingStore, verbs(create))`.

use darling::FromMeta;
use proc_macro2::Span;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Ident, Meta, Path, Token, parenthesized};

/// A custom subresource: a type that implements `Subresource`, and the verbs it serves.
#[derive(Clone, Debug)]
pub struct SubresourceAttribute {
    /// The type, as named in the scope of the struct.
    pub storage: Path,
    /// The verbs with their positions in the source.
    pub verbs: Vec<(Verb, Span)>,
}

/// A verb on a subresource of a named object.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord)]
pub enum Verb {
    /// All methods that the connection accepts.
    Connect,
    /// POST.
    Create,
    /// DELETE.
    Delete,
    /// GET.
    Get,
    /// PATCH.
    Patch,
    /// PUT.
    Update,
}

// === impl SubresourceAttribute ===

impl FromMeta for SubresourceAttribute {
    fn from_meta(item: &Meta) -> darling::Result<Self> {
        let Meta::List(list) = item else {
            return Err(
                darling::Error::custom("expected `subresource(Type, verbs(create))`").with_span(item.path())
            );
        };
        Ok(list.parse_args()?)
    }
}

impl Parse for SubresourceAttribute {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let storage: Path = input.parse()?;
        input.parse::<Token![,]>()?;
        let word: Ident = input.parse()?;
        if word != "verbs" {
            return Err(syn::Error::new(word.span(), "expected `verbs(…)`"));
        }
        let content;
        parenthesized!(content in input);
        let words = Punctuated::<Ident, Token![,]>::parse_terminated(&content)?;
        if words.is_empty() {
            return Err(syn::Error::new(word.span(), "a subresource serves at least one verb"));
        }
        input.parse::<Option<Token![,]>>()?;
        let verbs =
            words.iter().map(|word| Ok((Verb::from_word(word)?, word.span()))).collect::<syn::Result<_>>()?;
        Ok(Self { storage, verbs })
    }
}

// === impl Verb ===

impl Verb {
    /// Returns the name in discovery.
    pub const fn name(self) -> &'static str {
        match self {
            Self::Connect => "connect",
            Self::Create => "create",
            Self::Delete => "delete",
            Self::Get => "get",
            Self::Patch => "patch",
            Self::Update => "update",
        }
    }

    fn from_word(word: &Ident) -> syn::Result<Self> {
        let all = [Self::Connect, Self::Create, Self::Delete, Self::Get, Self::Patch, Self::Update];
        all.into_iter().find(|verb| word == verb.name()).ok_or_else(|| {
            let message = format!(
                "no verb `{word}`: expected `connect`, `create`, `delete`, `get`, `patch` or `update`"
            );
            syn::Error::new(word.span(), message)
        })
    }
}
