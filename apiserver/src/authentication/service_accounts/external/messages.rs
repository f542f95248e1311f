//! The messages of `ExternalJWTSigner`.
//!
//! Kubernetes concept: `k8s.io/externaljwt/apis/v1`.

pub(super) const SIGN: &str = "/v1.ExternalJWTSigner/Sign";
pub(super) const FETCH_KEYS: &str = "/v1.ExternalJWTSigner/FetchKeys";
pub(super) const METADATA: &str = "/v1.ExternalJWTSigner/Metadata";

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct SignRequest {
    /// The claims, in base64url.
    #[prost(string, tag = "1")]
    pub(super) claims: String,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct SignResponse {
    /// The header, in base64url.
    #[prost(string, tag = "1")]
    pub(super) header: String,
    /// The signature, in base64url.
    #[prost(string, tag = "2")]
    pub(super) signature: String,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct FetchKeysRequest {}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct FetchKeysResponse {
    #[prost(message, repeated, tag = "1")]
    pub(super) keys: Vec<Key>,
    /// The time of the data.
    #[prost(message, optional, tag = "2")]
    pub(super) data_timestamp: Option<Timestamp>,
    /// The time after which they are to be fetched again.
    #[prost(int64, tag = "3")]
    pub(super) refresh_hint_seconds: i64,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct Key {
    #[prost(string, tag = "1")]
    pub(super) id: String,
    /// The `SubjectPublicKeyInfo`.
    #[prost(bytes = "vec", tag = "2")]
    pub(super) public: Vec<u8>,
    #[prost(bool, tag = "3")]
    pub(super) exclude_from_oidc_discovery: bool,
}

/// `google.protobuf.Timestamp`.
#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub(super) struct Timestamp {
    #[prost(int64, tag = "1")]
    pub(super) seconds: i64,
    #[prost(int32, tag = "2")]
    pub(super) nanos: i32,
}

#[derive(Clone, PartialEq, Eq, prost::Message)]
pub(super) struct MetadataRequest {}

#[derive(Clone, Copy, PartialEq, Eq, prost::Message)]
pub(super) struct MetadataResponse {
    #[prost(int64, tag = "1")]
    pub(super) max_token_expiration_seconds: i64,
}
