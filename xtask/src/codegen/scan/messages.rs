//! Structs as protobuf messages: their fields in declared order, by their JSON names.

use syn::ext::IdentExt;

/// A struct with a JSON schema.
#[derive(Clone, Debug, PartialEq, Eq)]
pub(crate) struct Message {
    /// The name in the JSON schema.
    pub(crate) name: String,
    /// Its fields in declared order.
    pub(crate) fields: Vec<String>,
}

/// The serde or schemars attributes of a struct or a field that change names.
#[derive(Default)]
struct Naming {
    rename: Option<String>,
    rename_all: Option<String>,
    /// The field is skipped or flattened.
    left_out: bool,
}

// === impl Message ===

impl Message {
    /// Returns the message of a struct that derives `JsonSchema` and has named fields.
    ///
    /// # Errors
    /// A rename rule is unknown.
    pub(crate) fn from_struct(item: &syn::ItemStruct) -> syn::Result<Option<Self>> {
        let syn::Fields::Named(fields) = &item.fields else { return Ok(None) };
        if !derives_json_schema(&item.attrs) {
            return Ok(None);
        }
        let naming = Naming::from_attributes(&item.attrs)?;
        let mut names = Vec::new();
        for field in &fields.named {
            let own = Naming::from_attributes(&field.attrs)?;
            let Some(ident) = field.ident.as_ref().filter(|_| !own.left_out) else { continue };
            names.push(match own.rename {
                Some(name) => name,
                None => renamed(&ident.unraw().to_string(), naming.rename_all.as_deref(), ident)?,
            });
        }
        let name = naming.rename.unwrap_or_else(|| item.ident.unraw().to_string());
        Ok(Some(Self { name, fields: names }))
    }
}

/// Whether a struct derives `JsonSchema` (by any path that ends in it).
fn derives_json_schema(attributes: &[syn::Attribute]) -> bool {
    let mut derives = false;
    for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident("derive")) {
        // The compiler reports what cannot be parsed here.
        let _ = attribute.parse_nested_meta(|meta| {
            derives |= meta.path.segments.last().is_some_and(|last| last.ident == "JsonSchema");
            Ok(())
        });
    }
    derives
}

// === impl Naming ===

impl Naming {
    fn from_attributes(attributes: &[syn::Attribute]) -> syn::Result<Self> {
        let mut naming = Self::default();
        // schemars attributes take precedence over serde attributes.
        for tool in ["serde", "schemars"] {
            for attribute in attributes.iter().filter(|attribute| attribute.path().is_ident(tool)) {
                naming.read(attribute)?;
            }
        }
        Ok(naming)
    }

    fn read(&mut self, attribute: &syn::Attribute) -> syn::Result<()> {
        let syn::Meta::List(list) = &attribute.meta else { return Ok(()) };
        let entries =
            list.parse_args_with(syn::punctuated::Punctuated::<syn::Meta, syn::Token![,]>::parse_terminated);
        // Attributes with a grammar of their own do not change names.
        for entry in entries.into_iter().flatten() {
            match &entry {
                syn::Meta::Path(word) => self.left_out |= word.is_ident("skip") || word.is_ident("flatten"),
                syn::Meta::NameValue(pair) => {
                    let text = text_of(&pair.value);
                    if pair.path.is_ident("rename") {
                        self.rename = text;
                    } else if pair.path.is_ident("rename_all") {
                        self.rename_all = text;
                    }
                }
                syn::Meta::List(list) if list.path.is_ident("rename") || list.path.is_ident("rename_all") => {
                    return Err(syn::Error::new_spanned(
                        list,
                        "fields of the API have one name for both ways",
                    ));
                }
                syn::Meta::List(_) => {}
            }
        }
        Ok(())
    }
}

fn text_of(value: &syn::Expr) -> Option<String> {
    match value {
        syn::Expr::Lit(syn::ExprLit { lit: syn::Lit::Str(text), .. }) => Some(text.value()),
        _ => None,
    }
}

/// Returns a field's name by serde's rule.
fn renamed(field: &str, rule: Option<&str>, at: &syn::Ident) -> syn::Result<String> {
    let capitalized = |word: &str| {
        let mut letters = word.chars();
        let first = letters.next().map(|first| first.to_ascii_uppercase());
        first.into_iter().chain(letters).collect::<String>()
    };
    let pascal = || field.split('_').map(capitalized).collect::<String>();
    Ok(match rule {
        None | Some("snake_case" | "lowercase") => field.to_owned(),
        Some("UPPERCASE" | "SCREAMING_SNAKE_CASE") => field.to_ascii_uppercase(),
        Some("PascalCase") => pascal(),
        Some("camelCase") => {
            let pascal = pascal();
            let mut letters = pascal.chars();
            letters.next().map(|first| first.to_ascii_lowercase()).into_iter().chain(letters).collect()
        }
        Some("kebab-case") => field.replace('_', "-"),
        Some("SCREAMING-KEBAB-CASE") => field.to_ascii_uppercase().replace('_', "-"),
        Some(_) => return Err(syn::Error::new_spanned(at, "no rule of serde's for names")),
    })
}

#[cfg(test)]
mod tests {
    use syn::parse_quote;

    use super::*;

    #[test]
    fn fields_are_named_as_json_has_them() {
        let message = Message::from_struct(&parse_quote! {
            #[derive(Serialize, schemars::JsonSchema)]
            #[serde(rename_all = "camelCase")]
            struct Pen {
                pod_ip: String,
                #[serde(default, rename = "type", skip_serializing_if = "Option::is_none")]
                kind: Option<String>,
                r#where: i32,
                #[serde(skip)]
                cache: u8,
                #[schemars(length(min = 2))]
                url: String,
            }
        });
        let fields = ["podIp", "type", "where", "url"].map(str::to_owned).to_vec();
        assert_eq!(message.unwrap(), Some(Message { name: "Pen".to_owned(), fields }));
        assert_eq!(
            Message::from_struct(&parse_quote!(
                #[derive(Debug)]
                struct Plain {
                    a: u8,
                }
            ))
            .unwrap(),
            None
        );
    }
}
