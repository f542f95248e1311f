//! Structs as protobuf has them: fields by number, inlined structs as the messages they are on the wire.

use super::{Field, Scalar, SchemaOr, Struct, TypeRef, TypeShape, TypeTable, walk::FieldRef};

/// A numbered place in a message.
#[derive(Clone, Debug)]
pub(in crate::schema) struct Wire {
    number: u32,
    node: Node,
}

/// What is at a numbered place.
#[derive(Clone, Debug)]
enum Node {
    /// A field, by its place in the struct.
    Field(u16),
    /// A message of fields that JSON has one level up: a struct Go inlines.
    Inlined(Box<[Wire]>),
}

/// The places of one message, in the order of their numbers.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Message<'a> {
    table: &'a TypeTable,
    fields: &'a [Field],
    wires: &'a [Wire],
}

/// What is at a numbered place.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Slot<'a> {
    /// A field.
    Field(FieldRef<'a>),
    /// A message whose fields JSON has one level up.
    Inlined(Message<'a>),
}

/// What a type looks like, for codecs.
#[derive(Clone, Copy, Debug)]
pub(crate) enum Form<'a> {
    /// A single value.
    Scalar(Scalar),
    /// A struct.
    Struct(Message<'a>),
    /// A list of these.
    List(TypeRef<'a>),
    /// A list of strings that protobuf wraps in a message, with the strings as field 1: Go gives it a name.
    Boxed,
    /// A map to these.
    Map(TypeRef<'a>),
    /// A JSON schema, or something in its place.
    SchemaOr(TypeRef<'a>, SchemaOr),
}

/// Puts fields in the order of their numbers, those of inlined structs together.
pub(super) fn layout(fields: &[Field]) -> Box<[Wire]> {
    let numbered: Vec<(&[u32], u16)> =
        fields.iter().map(|field| &*field.proto).zip(0_u16..).filter(|(path, _)| !path.is_empty()).collect();
    level(numbered)
}

fn level(mut numbered: Vec<(&[u32], u16)>) -> Box<[Wire]> {
    numbered.sort_unstable();
    let groups = numbered.chunk_by(|(one, _), (other, _)| one.first() == other.first());
    groups.filter_map(wire).collect()
}

/// One place: a field, when its path ends here, else the message that its path leads through.
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
    /// All places, in the order of their numbers.
    pub(crate) fn slots(self) -> impl Iterator<Item = (u32, Slot<'a>)> {
        self.wires.iter().filter_map(move |wire| Some((wire.number, self.slot(wire)?)))
    }

    /// The place with a number. `hint` is where it is looked for first: senders write in order.
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
    /// The names of a struct's fields in the order of their numbers; those of inlined structs where these are.
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

    /// What the type looks like.
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

    /// The fields JSON always has; none when this is no struct.
    pub(crate) fn always_fields(&self) -> impl Iterator<Item = FieldRef<'a>> + use<'a> {
        let table = self.table;
        let shape: Option<&'a Struct> = match &self.ty.shape {
            TypeShape::Struct(shape) => Some(shape),
            _ => None,
        };
        let fields = shape.into_iter().flat_map(Struct::always_fields);
        fields.map(move |field| FieldRef { table, field })
    }

    /// What Go gives a variable of this type that nothing was assigned to, as JSON shows it.
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
