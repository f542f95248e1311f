//! The messages of konnectivity's `ProxyService`, with those parts that a client needs.
//!
//! Kubernetes concept: `konnectivity-client/proto/client/client.proto`.

use bytes::Bytes;

/// A message in either direction.
#[derive(Clone, PartialEq, prost::Message)]
pub(super) struct Packet {
    #[prost(enumeration = "PacketType", tag = "1")]
    pub(super) kind: i32,
    #[prost(oneof = "Payload", tags = "2, 3, 4, 5, 6, 7")]
    pub(super) payload: Option<Payload>,
}

/// The type of a packet, by which servers of konnectivity decide.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Hash, PartialOrd, Ord, prost::Enumeration)]
#[repr(i32)]
enum PacketType {
    DialRequest = 0,
    DialResponse = 1,
    CloseRequest = 2,
    CloseResponse = 3,
    Data = 4,
    CloseDial = 5,
    Drain = 6,
}

/// The content of a packet.
#[derive(Clone, PartialEq, prost::Oneof)]
pub(super) enum Payload {
    /// Asks for a connection.
    #[prost(message, tag = "2")]
    DialRequest(DialRequest),
    /// The connection, or why there is none.
    #[prost(message, tag = "3")]
    DialResponse(DialResponse),
    /// Bytes of a connection.
    #[prost(message, tag = "4")]
    Data(Data),
    /// Asks for the end of a connection.
    #[prost(message, tag = "5")]
    CloseRequest(CloseRequest),
    /// A connection has ended.
    #[prost(message, tag = "6")]
    CloseResponse(CloseResponse),
    /// A connection is not wanted any more, or cannot be made.
    #[prost(message, tag = "7")]
    CloseDial(CloseDial),
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct DialRequest {
    /// `tcp`.
    #[prost(string, tag = "1")]
    pub(super) protocol: String,
    /// A host and a port.
    #[prost(string, tag = "2")]
    pub(super) address: String,
    /// The number that the answer repeats.
    #[prost(int64, tag = "3")]
    pub(super) random: i64,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct DialResponse {
    /// Empty: the connection is made.
    #[prost(string, tag = "1")]
    pub(super) error: String,
    /// The number of the connection.
    #[prost(int64, tag = "2")]
    pub(super) number: i64,
    #[prost(int64, tag = "3")]
    pub(super) random: i64,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct Data {
    #[prost(int64, tag = "1")]
    pub(super) number: i64,
    #[prost(bytes = "bytes", tag = "3")]
    pub(super) data: Bytes,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct CloseRequest {
    #[prost(int64, tag = "1")]
    pub(super) number: i64,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct CloseResponse {
    #[prost(string, tag = "1")]
    pub(super) error: String,
    #[prost(int64, tag = "2")]
    pub(super) number: i64,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct CloseDial {
    #[prost(int64, tag = "1")]
    pub(super) random: i64,
}

// === impl Packet ===

impl Packet {
    pub(super) fn dial(random: i64, address: String) -> Self {
        let request = DialRequest { protocol: "tcp".to_owned(), address, random };
        Self::with_payload(PacketType::DialRequest, Payload::DialRequest(request))
    }

    pub(super) fn close_dial(random: i64) -> Self {
        Self::with_payload(PacketType::CloseDial, Payload::CloseDial(CloseDial { random }))
    }

    pub(super) fn data(number: i64, data: Bytes) -> Self {
        Self::with_payload(PacketType::Data, Payload::Data(Data { number, data }))
    }

    pub(super) fn close(number: i64) -> Self {
        Self::with_payload(PacketType::CloseRequest, Payload::CloseRequest(CloseRequest { number }))
    }

    fn with_payload(kind: PacketType, payload: Payload) -> Self {
        Self { kind: kind.into(), payload: Some(payload) }
    }
}
