//! `retired("zoo.example.dev/v1alpha2", "zoo.example.dev/v1alpha1" => renew)`; `try renew` if the function takes memory from
//! a budget.

use darling::FromMeta;
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{LitStr, Meta, Path, Token};

/// A version in which objects may be stored although it is not served any more.
#[derive(Clone, Debug)]
pub struct RetiredVersion {
    /// The `apiVersion` of the stored objects.
    pub api_version: LitStr,
    /// The function that changes an object; `None` if the version has the same fields.
    pub renew: Option<Renew>,
}

/// A function that changes an object of a retired version.
#[derive(Clone, Debug)]
pub struct Renew {
    /// Whether it takes memory from a budget, and so can fail.
    pub is_budgeted: bool,
    /// The function.
    pub function: Path,
}

/// The retired versions of a resource.
#[derive(Clone, Debug, Default)]
pub(crate) struct RetiredList(pub(crate) Vec<RetiredVersion>);

// === impl RetiredVersion ===

impl Parse for RetiredVersion {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let api_version = input.parse()?;
        let arrow = input.parse::<Option<Token![=>]>>()?;
        let renew = arrow.map(|_| input.parse()).transpose()?;
        Ok(Self { api_version, renew })
    }
}

// === impl Renew ===

impl Parse for Renew {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let is_budgeted = input.parse::<Option<Token![try]>>()?.is_some();
        Ok(Self { is_budgeted, function: input.parse()? })
    }
}

// === impl RetiredList ===

impl FromMeta for RetiredList {
    fn from_meta(item: &Meta) -> darling::Result<Self> {
        let Meta::List(list) = item else {
            return Err(darling::Error::custom(
                "retired versions are written `retired(\"example.dev/v1alpha1\")`",
            )
            .with_span(item.path()));
        };
        let versions = list.parse_args_with(Punctuated::<RetiredVersion, Token![,]>::parse_terminated)?;
        Ok(Self(versions.into_iter().collect()))
    }
}
