//! The error of decoding a body.

use minicbor::data::Type;
use registry_meta::budget::Exhausted;
use registry_meta::go_text::{quote, quote_byte};

use crate::quantity::QuantityError;

/// Error of decoding a body, with the position: a 400 response. The texts are those of Go's decoders.
#[derive(Debug, thiserror::Error)]
pub enum DecodeError {
    /// The budget of the request is exhausted.
    #[error(transparent)]
    Exhausted(#[from] Exhausted),
    /// The values are nested too deep.
    #[error("exceeded max depth")]
    TooDeep,
    /// A stored value is something else than an object.
    #[error("the stored value is not a JSON object")]
    NotAnObject,
    /// A stored object has no revision.
    #[error("metadata.resourceVersion is missing")]
    NoResourceVersion,
    /// The metadata of a stored object are malformed.
    #[error(transparent)]
    Metadata(serde_json::Error),

    /// JSON ends too early.
    #[error("unexpected end of JSON input")]
    EndOfJson,
    /// JSON has an unexpected byte at a place.
    #[error("invalid character {byte} {place}", byte = quote_byte(*.0), place = .1)]
    JsonByte(u8, &'static str),
    /// JSON is malformed in another way.
    #[error("{0}")]
    Json(String),

    /// A text is not YAML.
    #[error("yaml: {0}")]
    Yaml(&'static str),
    /// A line has a problem.
    #[error("yaml: line {0}: {1}")]
    YamlLine(usize, String),

    /// CBOR ends too early.
    #[error("cbor: unexpected EOF")]
    EndOfCbor,
    /// CBOR is malformed.
    #[error("cbor: {0}")]
    Cbor(#[from] minicbor::decode::Error),
    /// A value of CBOR is followed by a number of bytes, from a position on.
    #[error("cbor: {0} bytes of extraneous data starting at index {1}")]
    CborRest(usize, usize),
    /// A number of CBOR is too long.
    #[error("cbor: a number of more than 64 bits")]
    CborNumber,
    /// JSON does not have such a number.
    #[error("cbor: a number JSON does not have")]
    CborFloat,
    /// An object cannot have such a value.
    #[error("cbor: {0} has no place in an object")]
    CborType(Type),
    /// A key is not a string.
    #[error("cbor: {0} where a string is expected")]
    CborKey(Type),
    /// A map has a key twice.
    #[error("cbor: found duplicate map key {}", quote(.0))]
    CborDuplicate(String),

    /// There is nothing to decode: `empty data` or `empty body`.
    #[error("{0}")]
    Empty(&'static str),
    /// The bytes do not begin as an object in protobuf.
    #[error("provided data does not appear to be a protobuf message, expected prefix [107 56 115 0]")]
    NoProtobuf,
    /// A kind is unknown in a version.
    #[error("no kind {} is registered for version {}", quote(.0), quote(.1))]
    UnknownKind(String, String),
    /// The name of a type is not UTF-8.
    #[error("a type's name is not UTF-8")]
    TypeName,
    /// A message ends too early.
    #[error("unexpected EOF")]
    EndOfMessage,
    /// A message leaves out more than may be filled in.
    #[error("too much of the message is left out")]
    TooMuchLeftOut,
    /// The tag of a field is wrong.
    #[error("proto: {0}")]
    Tag(TagError),
    /// A number cannot be written in JSON.
    #[error("json: unsupported value: {0}")]
    Float(f64),
    /// A quantity is malformed.
    #[error(transparent)]
    Quantity(#[from] QuantityError),
    /// A value is neither an integer nor a string.
    #[error("impossible IntOrString.Type")]
    IntOrString,
}

/// Error of a tag or an integer in protobuf.
#[derive(Debug, thiserror::Error)]
pub enum TagError {
    /// The wire type is another than that of a field.
    #[error("wrong wireType = {0} for field {1}")]
    WrongWireType(u8, String),
    /// There is no such wire type.
    #[error("illegal wireType {0}")]
    WireType(u64),
    /// There is no such field number, with a wire type.
    #[error("illegal tag {0} (wire type {1})")]
    Number(u64, u64),
    /// An integer has more than 64 bits.
    #[error("integer overflow")]
    Overflow,
    /// A group ends that has not begun.
    #[error("unexpected end of group")]
    EndOfGroup,
}
