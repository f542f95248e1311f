//! `column("Name", path, priority = 1, type = integer, format = name, description = "…")`.

use darling::FromMeta;
use syn::ext::IdentExt;
use syn::parse::{Parse, ParseStream};
use syn::{Ident, LitInt, LitStr, Meta, Token};

use super::path::FieldPath;

/// A column of the resource's table.
#[derive(Clone, Debug)]
pub struct ColumnAttribute {
    /// The column header.
    pub heading: LitStr,
    /// The field that it shows.
    pub path: FieldPath,
    /// The type of the cells.
    pub kind: ColumnKind,
    /// The format hint for clients.
    pub format: ColumnFormat,
    /// 0: always shown; greater: only in wide output.
    pub priority: i32,
    /// The description.
    pub description: Option<String>,
}

/// The type of a column's cells.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColumnKind {
    /// A string.
    #[default]
    String,
    /// An integer.
    Integer,
    /// A number.
    Number,
    /// `true` or `false`.
    Boolean,
    /// A time, shown as an age.
    Date,
}

/// The format hint of a column.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
pub enum ColumnFormat {
    /// No special format.
    #[default]
    Plain,
    /// The object's name.
    Name,
}

// === impl ColumnAttribute ===

impl FromMeta for ColumnAttribute {
    fn from_meta(item: &Meta) -> darling::Result<Self> {
        let Meta::List(list) = item else {
            return Err(
                darling::Error::custom("expected `column(\"Heading\", spec.field)`").with_span(item.path())
            );
        };
        Ok(list.parse_args()?)
    }
}

impl Parse for ColumnAttribute {
    fn parse(input: ParseStream<'_>) -> syn::Result<Self> {
        let heading = input.parse()?;
        input.parse::<Token![,]>()?;
        let path = input.parse()?;
        let mut column = Self {
            heading,
            path,
            kind: ColumnKind::default(),
            format: ColumnFormat::default(),
            priority: 0,
            description: None,
        };
        while !input.is_empty() {
            input.parse::<Token![,]>()?;
            if !input.is_empty() {
                column.parse_option(input)?;
            }
        }
        Ok(column)
    }
}

impl ColumnAttribute {
    fn parse_option(&mut self, input: ParseStream<'_>) -> syn::Result<()> {
        let option = input.call(Ident::parse_any)?;
        input.parse::<Token![=]>()?;
        match option.to_string().as_str() {
            "priority" => self.priority = input.parse::<LitInt>()?.base10_parse()?,
            "type" => self.kind = ColumnKind::from_word(&input.call(Ident::parse_any)?)?,
            "format" => self.format = ColumnFormat::from_word(&input.call(Ident::parse_any)?)?,
            "description" => self.description = Some(input.parse::<LitStr>()?.value()),
            other => {
                return Err(syn::Error::new(
                    option.span(),
                    format!(
                        "a column has no `{other}`: expected `type`, `format`, `priority` or `description`"
                    ),
                ));
            }
        }
        Ok(())
    }
}

// === impl ColumnKind ===

impl ColumnKind {
    fn from_word(word: &Ident) -> syn::Result<Self> {
        match word.to_string().as_str() {
            "string" => Ok(Self::String),
            "integer" => Ok(Self::Integer),
            "number" => Ok(Self::Number),
            "boolean" => Ok(Self::Boolean),
            "date" => Ok(Self::Date),
            other => Err(syn::Error::new(
                word.span(),
                format!(
                    "no column type `{other}`: expected `string`, `integer`, `number`, `boolean` or `date`"
                ),
            )),
        }
    }
}

// === impl ColumnFormat ===

impl ColumnFormat {
    fn from_word(word: &Ident) -> syn::Result<Self> {
        match word.to_string().as_str() {
            "plain" => Ok(Self::Plain),
            "name" => Ok(Self::Name),
            other => Err(syn::Error::new(
                word.span(),
                format!("no column format `{other}`: expected `plain` or `name`"),
            )),
        }
    }
}
