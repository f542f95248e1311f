//! Descriptions of types and fields, and the values of enumerated fields. They are large and only used by OpenAPI, so they
//! are stored compressed and separately from the facts.

use std::collections::BTreeMap;
use std::io::Read;

use flate2::read::ZlibDecoder;
use serde_json::Value;

/// Descriptions by the types' OpenAPI names.
#[derive(Clone, Debug, Default)]
pub struct Descriptions(BTreeMap<Box<str>, TypeText>);

/// The descriptions of a type.
#[derive(Clone, Debug, Default)]
pub(super) struct TypeText {
    about: Option<Box<str>>,
    fields: BTreeMap<Box<str>, Box<str>>,
    /// The values of enumerated fields; if a field is a list or a map, those of its elements.
    enums: BTreeMap<Box<str>, Vec<Value>>,
    /// `x-kubernetes-unions`, which is documentation only: the fields of each discriminator.
    unions: Option<Value>,
}

/// Error of reading descriptions. Not retryable: another version of codegen wrote them.
#[derive(Debug, thiserror::Error)]
pub enum DescriptionsError {
    /// The compressed data is damaged.
    #[error("the descriptions cannot be unpacked: {0}")]
    Damaged(#[from] std::io::Error),
    /// A line is malformed.
    #[error("descriptions, line {line}: not a description")]
    Malformed {
        /// The line number, starting at 1.
        line: usize,
    },
}

/// Maximum size of the uncompressed descriptions, in bytes; several times the size of Kubernetes'.
const MAX_BYTES: u64 = 16 << 20;

// === impl Descriptions ===

impl Descriptions {
    /// Decompresses and parses the output of codegen.
    ///
    /// # Errors
    /// Fails if the data was not written by this version of codegen.
    pub fn unpack(packed: &[u8]) -> Result<Self, DescriptionsError> {
        Self::parse(&unpacked(packed)?)
    }

    /// Adds the values of enumerated fields from the output of codegen: lines of the form
    /// `<type> <field> [<values>,<text>]`, whose text is the end of the field's description.
    ///
    /// # Errors
    /// Fails if the data was not written by this version of codegen, or names a type that has no description.
    pub fn add_enums(&mut self, packed: &[u8]) -> Result<(), DescriptionsError> {
        for (line, content) in (1..).zip(unpacked(packed)?.lines()) {
            self.add_enum(content).ok_or(DescriptionsError::Malformed { line })?;
        }
        Ok(())
    }

    fn add_enum(&mut self, line: &str) -> Option<()> {
        let (name, rest) = line.split_once(' ')?;
        let (field, enumeration) = rest.split_once(' ')?;
        let (values, about): (Vec<Value>, String) = serde_json::from_str(enumeration).ok()?;
        let text = self.0.get_mut(name)?;
        if !about.is_empty() {
            let description = [text.field(field).unwrap_or_default(), &about].concat();
            text.add_field(field, Some(description.trim_start()));
        }
        text.enums.insert(field.into(), values);
        Some(())
    }

    /// Returns the description of a field of the type with this OpenAPI name.
    pub fn field(&self, type_name: &str, field: &str) -> Option<&str> {
        self.0.get(type_name)?.field(field)
    }

    /// Parses lines of the form `t <type> <text>`, each followed by its fields as ` <field> <text>`, and optionally by
    /// `u <unions>`. Texts are JSON strings.
    fn parse(text: &str) -> Result<Self, DescriptionsError> {
        let mut descriptions = Self::default();
        let mut current: Option<(&str, TypeText)> = None;
        for (number, line) in (1..).zip(text.lines()) {
            let malformed = || DescriptionsError::Malformed { line: number };
            let (tag, rest) = line.split_once(' ').ok_or_else(malformed)?;
            let json = |text: &str| serde_json::from_str::<Value>(text).map_err(|_| malformed());
            match (tag, &mut current) {
                ("t", _) => {
                    let (name, about) = rest.split_once(' ').ok_or_else(malformed)?;
                    let about = json(about)?;
                    let next = Some((name, TypeText::new(about.as_str())));
                    descriptions.extend(std::mem::replace(&mut current, next));
                }
                ("u", Some((_, text))) => text.unions = Some(json(rest)?),
                ("", Some((_, text))) => {
                    let (field, about) = rest.split_once(' ').ok_or_else(malformed)?;
                    text.add_field(field, json(about)?.as_str());
                }
                _ => return Err(malformed()),
            }
        }
        descriptions.extend(current);
        Ok(descriptions)
    }

    fn extend(&mut self, entry: Option<(&str, TypeText)>) {
        if let Some((name, text)) = entry {
            self.insert(name, text);
        }
    }

    pub(super) fn insert(&mut self, name: &str, text: TypeText) {
        self.0.insert(name.into(), text);
    }

    pub(super) fn get(&self, name: &str) -> Option<&TypeText> {
        self.0.get(name)
    }
}

// === impl TypeText ===

impl TypeText {
    pub(super) fn new(about: Option<&str>) -> Self {
        Self { about: about.map(Into::into), ..Self::default() }
    }

    pub(super) fn add_field(&mut self, field: &str, about: Option<&str>) {
        if let Some(about) = about {
            self.fields.insert(field.into(), about.into());
        }
    }

    pub(super) fn about(&self) -> Option<&str> {
        self.about.as_deref()
    }

    pub(super) fn field(&self, name: &str) -> Option<&str> {
        self.fields.get(name).map(|text| &**text)
    }

    /// Returns the values of a field; `None` if it is not enumerated.
    pub(super) fn values(&self, field: &str) -> Option<&[Value]> {
        self.enums.get(field).map(Vec::as_slice)
    }

    pub(super) fn unions(&self) -> Option<&Value> {
        self.unions.as_ref()
    }
}

fn unpacked(packed: &[u8]) -> std::io::Result<String> {
    let mut text = String::new();
    ZlibDecoder::new(packed).take(MAX_BYTES).read_to_string(&mut text)?;
    Ok(text)
}
