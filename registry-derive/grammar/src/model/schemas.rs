//! Checks of `#[schemars(…)]` on the annotated struct and its fields, as far as the tokens say what is wrong. The rest is
//! checked by the server when it starts.

use proc_macro2::{Delimiter, TokenStream, TokenTree};
use syn::parse::{Parse, ParseStream};
use syn::punctuated::Punctuated;
use syn::{Attribute, DeriveInput, LitStr, Token};

use super::names::nearest;
use super::validate::Complaints;

/// The extensions of Kubernetes in schemas.
const EXTENSIONS: [&str; 10] = [
    "x-kubernetes-embedded-resource",
    "x-kubernetes-int-or-string",
    "x-kubernetes-list-map-keys",
    "x-kubernetes-list-type",
    "x-kubernetes-map-type",
    "x-kubernetes-patch-merge-key",
    "x-kubernetes-patch-strategy",
    "x-kubernetes-preserve-unknown-fields",
    "x-kubernetes-unions",
    "x-kubernetes-validations",
];

/// The fields of a rule.
const RULE_FIELDS: [&str; 6] =
    ["fieldPath", "message", "messageExpression", "optionalOldSelf", "reason", "rule"];

/// `"key" = value`, where the value is JSON.
struct Extension {
    key: LitStr,
    value: TokenStream,
}

impl Parse for Extension {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let key = input.parse()?;
        input.parse::<Token![=]>()?;
        let mut value = TokenStream::new();
        while !input.is_empty() && !input.peek(Token![,]) {
            value.extend([input.parse::<TokenTree>()?]);
        }
        Ok(Self { key, value })
    }
}

// === impl Complaints ===

impl Complaints {
    /// Checks the schema attributes of a struct and its fields.
    pub(super) fn check_schemas(&mut self, input: &DeriveInput) {
        self.check_extensions(&input.attrs);
        if let syn::Data::Struct(data) = &input.data {
            for field in &data.fields {
                self.check_extensions(&field.attrs);
            }
        }
    }

    fn check_extensions(&mut self, attributes: &[Attribute]) {
        for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("schemars")) {
            // Syntax errors are reported by schemars, whose other words end the loop too.
            let _ = attribute.parse_nested_meta(|meta| {
                if meta.path.is_ident("extend") {
                    let content;
                    syn::parenthesized!(content in meta.input);
                    for extension in Punctuated::<Extension, Token![,]>::parse_terminated(&content)? {
                        self.check_extension(&extension);
                    }
                } else {
                    // A value, or a list of words.
                    while !meta.input.is_empty() && !meta.input.peek(Token![,]) {
                        meta.input.parse::<TokenTree>()?;
                    }
                }
                Ok(())
            });
        }
    }

    fn check_extension(&mut self, Extension { key, value }: &Extension) {
        let name = key.value();
        if !name.starts_with("x-kubernetes-") {
            return;
        }
        if !EXTENSIONS.contains(&name.as_str()) {
            let hint = nearest(&name, EXTENSIONS).map(|near| format!(": did you mean `{near}`?"));
            let message = format!("Kubernetes has no `{name}`{}", hint.unwrap_or_default());
            self.add(key.span(), message);
        } else if name == "x-kubernetes-validations" {
            self.check_rules(value);
        }
    }

    /// Checks a list of rules.
    fn check_rules(&mut self, value: &TokenStream) {
        let groups = |tokens: TokenStream| {
            tokens.into_iter().filter_map(|token| match token {
                TokenTree::Group(group) => Some(group),
                _ => None,
            })
        };
        let lists = groups(value.clone()).filter(|group| group.delimiter() == Delimiter::Bracket);
        for rule in lists.flat_map(|list| groups(list.stream())) {
            let mut has_rule = false;
            let tokens: Vec<TokenTree> = rule.stream().into_iter().collect();
            for pair in tokens.windows(2) {
                let [TokenTree::Literal(key), TokenTree::Punct(colon)] = pair else { continue };
                let Ok(syn::Lit::Str(key)) = syn::parse_str::<syn::Lit>(&key.to_string()) else { continue };
                if colon.as_char() != ':' {
                    continue;
                }
                let name = key.value();
                has_rule |= name == "rule";
                if !RULE_FIELDS.contains(&name.as_str()) {
                    let hint = nearest(&name, RULE_FIELDS).map(|near| format!(": did you mean `{near}`?"));
                    let message = format!("a rule has no `{name}`{}", hint.unwrap_or_default());
                    self.add(pair.first().map_or_else(|| rule.span(), TokenTree::span), message);
                }
            }
            self.require(has_rule, rule.span(), "a rule needs its expression: `\"rule\": \"self.…\"`");
        }
    }
}
