//! Paths to fields. They are tokens, so that they become field accesses the compiler checks under the author's
//! cursor; their JSON names follow from the identifiers or are given.

use proc_macro2::Span;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::{Ident, LitStr, Token};

syn::custom_keyword!(or);

/// A path to a field of the object: `spec.keeper`, `status.pod_ip = "status.podIP"`,
/// `source.component or reporting_component as "source"`, and of a spoke `regarding.kind => involved_object.kind`.
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
    /// The Rust fields, outermost first; never empty.
    pub fn steps(&self) -> &[Ident] {
        &self.steps
    }

    /// The JSON fields, outermost first.
    pub fn json(&self) -> &[String] {
        &self.json
    }

    /// The name selectors use: the JSON path with dots, unless `as "…"` gives another.
    pub fn name(&self) -> String {
        self.name.as_ref().map_or_else(|| self.json.join("."), LitStr::value)
    }

    /// Where the field is looked for when nothing is here.
    pub fn other(&self) -> Option<&Self> {
        self.other.as_deref()
    }

    /// The same field in the hub, when it is elsewhere there.
    pub fn hub(&self) -> Option<&Self> {
        self.hub.as_deref()
    }

    /// The path as written, `spec.keeper`.
    pub fn rust_name(&self) -> String {
        self.steps.iter().map(ToString::to_string).collect::<Vec<_>>().join(".")
    }

    /// Where the author wrote it.
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
    /// Where a field is, without what it is called.
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

/// One field name. Keywords need their `r#`, as in any Rust expression; only the message is friendlier.
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

/// `node_name` is `nodeName`, `r#type` and `type_` are `type`: serde's `camelCase`, and what k8s-openapi does.
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
