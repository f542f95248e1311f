//! Protobuf layout of structs: fields by number, inlined structs as messages.

use super::{Field, Scalar, SchemaOr, Struct, TypeRef, TypeShape, TypeTable, walk::FieldRef};

/// A numbered field of a message.
#[derive(Clone, Debug)]
pub(crate) struct Wire {
    number: u32,
    node: Node,
}

/// The content of a numbered field.
#[derive(Clone, Debug)]
enum Node {
    /// A field, by its index in the struct.
    Field(u16),
    /// A struct that Go inlines: a message whose fields are one level higher in JSON.
    Inlined(Box<[Wire]>),
}

/// The fields of a message, sorted by number.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message<'a> {
    table: &'a TypeTable,
    fields: &'a [Field],
    wires: &'a [Wire],
}

/// The content of a numbered field.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Slot<'a> {
    /// A field.
    Field(FieldRef<'a>),
    /// A message whose fields are one level higher in JSON.
    Inlined(Message<'a>),
}

/// The structure of a type, for codecs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Form<'a> {
    /// A scalar.
    Scalar(Scalar),
    /// A struct.
    Struct(Message<'a>),
    /// A list with this element type.
    List(TypeRef<'a>),
    /// A named Go list of strings, which protobuf wraps in a message with the strings as field 1.
    Boxed,
    /// A map with this value type.
    Map(TypeRef<'a>),
    /// A JSON schema, or an alternative to it.
    SchemaOr(TypeRef<'a>, SchemaOr),
}

/// Sorts fields by number, and groups the fields of inlined structs.
pub(super) fn layout(fields: &[Field]) -> Box<[Wire]> {
    let numbered: Vec<(&[u32], u16)> =
        fields.iter().map(|field| &*field.proto).zip(0_u16..).filter(|(path, _)| !path.is_empty()).collect();
    level(numbered)
}

fn level(mut numbered: Vec<(&[u32], u16)>) -> Box<[Wire]> {
    numbered.sort_unstable();
    let groups = numbered.chunk_by(|(left, _), (right, _)| left.first() == right.first());
    groups.filter_map(wire).collect()
}

/// Builds one entry: a field if its path ends here, otherwise the message that its path leads through.
fn wire(group: &[(&[u32], u16)]) -> Option<Wire> {
    let ((path, place), rest) = (group.first()?, group.get(1..).unwrap_or_default());
    let number = *path.first()?;
    let node = if path.len() == 1 && rest.is_empty() {
        Node::Field(*place)
    } else {
        let inner = group.iter().filter_map(|(path, place)| Some((path.get(1..)?, *place)));
        Node::Inlined(level(inner.filter(|(path, _)| !path.is_empty()).collect()))
    };
    Some(Wire { number, node })
}

// === impl Message ===

impl<'a> Message<'a> {
    /// Returns all entries, sorted by number.
    pub(crate) fn slots(self) -> impl Iterator<Item = (u32, Slot<'a>)> {
        self.wires.iter().filter_map(move |wire| Some((wire.number, self.slot(wire)?)))
    }

    /// Returns the entry with a number. Starts searching at `hint`, because senders write in order.
    pub(crate) fn find(self, number: u32, hint: &mut usize) -> Option<Slot<'a>> {
        let is_wanted = |at: usize| self.wires.get(at).is_some_and(|wire| wire.number == number);
        if !is_wanted(*hint) {
            *hint = if is_wanted(*hint + 1) {
                *hint + 1
            } else {
                self.wires.binary_search_by_key(&number, |wire| wire.number).ok()?
            };
        }
        self.slot(self.wires.get(*hint)?)
    }

    fn slot(self, wire: &'a Wire) -> Option<Slot<'a>> {
        Some(match &wire.node {
            Node::Field(place) => {
                Slot::Field(FieldRef { table: self.table, field: self.fields.get(usize::from(*place))? })
            }
            Node::Inlined(wires) => Slot::Inlined(Self { wires, ..self }),
        })
    }

    /// Whether protobuf has none of the struct's fields.
    pub(crate) fn is_empty(self) -> bool {
        self.wires.is_empty()
    }
}

// === impl TypeRef ===

impl<'a> TypeRef<'a> {
    /// Returns the names of a struct's fields sorted by number, those of inlined structs at the position of the struct.
    pub(crate) fn fields_by_number(&self) -> Vec<&'a str> {
        fn collect<'a>(message: Message<'a>, names: &mut Vec<&'a str>) {
            for (_, slot) in message.slots() {
                match slot {
                    Slot::Field(field) => names.push(field.name()),
                    Slot::Inlined(inner) => collect(inner, names),
                }
            }
        }
        let mut names = Vec::new();
        if let Form::Struct(message) = self.form() {
            collect(message, &mut names);
        }
        names
    }

    /// Returns the structure of the type.
    pub(crate) fn form(&self) -> Form<'a> {
        let table = self.table;
        match &self.ty.shape {
            TypeShape::Scalar(scalar) => Form::Scalar(*scalar),
            TypeShape::Struct(shape) => {
                Form::Struct(Message { table, fields: &shape.fields, wires: &shape.wires })
            }
            TypeShape::List { element, .. } => {
                let element = table.type_ref(*element);
                let has_own_name = !self.ty.go_name.starts_with("[]");
                if has_own_name && element.scalar() == Some(Scalar::String) {
                    Form::Boxed
                } else {
                    Form::List(element)
                }
            }
            TypeShape::Map { value, .. } => Form::Map(table.type_ref(*value)),
            TypeShape::SchemaOr { schema, or } => Form::SchemaOr(table.type_ref(*schema), *or),
        }
    }

    /// Returns the fields that are always present in JSON; none if this is not a struct.
    pub(crate) fn always_fields(&self) -> impl Iterator<Item = FieldRef<'a>> + use<'a> {
        let table = self.table;
        let shape: Option<&'a Struct> = match &self.ty.shape {
            TypeShape::Struct(shape) => Some(shape),
            _ => None,
        };
        let fields = shape.into_iter().flat_map(Struct::always_fields);
        fields.map(move |field| FieldRef { table, field })
    }

    /// Returns Go's zero value of the type in JSON.
    pub(crate) fn zero(&self) -> serde_json::Value {
        self.table.zero_of(self.ty)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    fn field(path: &[u32]) -> Field {
        let table = "orlop facts 1\ns string - string\nt - a.b.C\n f 0 e 1\n";
        let table = TypeTable::parse(table).unwrap();
        let TypeShape::Struct(shape) = &table.types[1].shape else { panic!("no struct") };
        Field { proto: path.into(), ..shape.fields[0].clone() }
    }

    #[test]
    fn inlined_structs_are_messages_in_their_place() {
        let fields = [field(&[3]), field(&[]), field(&[2, 4, 1]), field(&[1]), field(&[2, 1])];
        let wires = layout(&fields);
        let text = format!("{wires:?}").replace("Wire { number: ", "").replace(", node: ", "=");
        let expected =
            "[1=Field(3) }, 2=Inlined([1=Field(4) }, 4=Inlined([1=Field(2) }]) }]) }, 3=Field(0) }]";
        assert_eq!(text, expected);
    }
}
