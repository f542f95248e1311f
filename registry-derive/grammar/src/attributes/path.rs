//! Field paths. They are tokens, so that they become field accesses that the compiler checks at the author's position;
//! their JSON names are derived from the identifiers or given explicitly.

use proc_macro2::Span;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::{Ident, LitStr, Token};

syn::custom_keyword!(or);

/// A path to a field of the object: `spec.keeper`, `status.pod_ip = "status.podIP"`, `source.component or
/// reporting_component as "source"`, and for a spoke `regarding.kind => involved_object.kind`.
#[derive(Clone, Debug)]
pub struct FieldPath {
    steps: Vec<Ident>,
    json: Vec<String>,
    other: Option<Box<FieldPath>>,
    name: Option<LitStr>,
    hub: Option<Box<FieldPath>>,
}

// === impl FieldPath ===

impl FieldPath {
    /// Returns the Rust fields, outermost first; never empty.
    pub fn steps(&self) -> &[Ident] {
        &self.steps
    }

    /// Returns the JSON fields, outermost first.
    pub fn json(&self) -> &[String] {
        &self.json
    }

    /// Returns the name in selectors: the JSON path with dots, unless `as "…"` specifies another.
    pub fn name(&self) -> String {
        self.name.as_ref().map_or_else(|| self.json.join("."), LitStr::value)
    }

    /// Returns the fallback path if the field is empty.
    pub fn other(&self) -> Option<&Self> {
        self.other.as_deref()
    }

    /// Returns the path of the field in the hub, if it differs.
    pub fn hub(&self) -> Option<&Self> {
        self.hub.as_deref()
    }

    /// Returns the path as written, `spec.keeper`.
    pub fn rust_name(&self) -> String {
        self.steps.iter().map(ToString::to_string).collect::<Vec<_>>().join(".")
    }

    /// Returns the position in the source.
    pub fn span(&self) -> Span {
        let first = self.steps.first().map_or_else(Span::call_site, Ident::span);
        let last = self.steps.last().map_or_else(Span::call_site, Ident::span);
        first.join(last).unwrap_or(first)
    }
}

impl Parse for FieldPath {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let path = Self::parse_place(input)?;
        let other = if input.peek(or) {
            input.parse::<or>()?;
            Some(Box::new(Self::parse_place(input)?))
        } else {
            None
        };
        let name = if input.peek(Token![as]) {
            input.parse::<Token![as]>()?;
            Some(input.parse()?)
        } else {
            None
        };
        let hub = if input.peek(Token![=>]) {
            input.parse::<Token![=>]>()?;
            Some(Box::new(input.parse()?))
        } else {
            None
        };
        Ok(Self { other, name, hub, ..path })
    }
}

impl FieldPath {
    /// Parses the path of a field without its name.
    fn parse_place(input: ParseStream<'_>) -> syn::Result<Self> {
        let mut steps = vec![parse_step(input)?];
        while input.peek(Token![.]) {
            input.parse::<Token![.]>()?;
            steps.push(parse_step(input)?);
        }
        let json = if input.peek(Token![=]) && !input.peek(Token![=>]) {
            input.parse::<Token![=]>()?;
            parse_json_path(&input.parse()?)?
        } else {
            steps.iter().map(json_name).collect()
        };
        Ok(Self { steps, json, other: None, name: None, hub: None })
    }
}

/// Parses a field name. Keywords need `r#`, as in any Rust expression; only the message is improved.
fn parse_step(input: ParseStream<'_>) -> syn::Result<Ident> {
    if input.peek(syn::Lit) {
        return Err(input.error("field paths are tokens, not strings: write `spec.field`"));
    }
    input.parse::<Ident>().map_err(|error| {
        syn::Error::new(error.span(), "expected a field path such as `spec.field` (keywords as `r#type`)")
    })
}

fn parse_json_path(text: &LitStr) -> syn::Result<Vec<String>> {
    let steps: Vec<String> = text.value().split('.').map(str::to_owned).collect();
    if steps.iter().any(String::is_empty) {
        return Err(syn::Error::new(text.span(), "expected JSON field names with dots between them"));
    }
    Ok(steps)
}

/// Derives the JSON name: `nodeName` for `node_name`, `type` for `r#type` and `type_`, as in serde's `camelCase` and
/// k8s-openapi.
fn json_name(field: &Ident) -> String {
    let rust = field.unraw().to_string();
    let mut name = String::with_capacity(rust.len());
    for word in rust.split('_').filter(|word| !word.is_empty()) {
        let mut letters = word.chars();
        match letters.next() {
            Some(first) if !name.is_empty() => name.extend(first.to_uppercase()),
            Some(first) => name.push(first),
            None => {}
        }
        name.push_str(letters.as_str());
    }
    name
}
