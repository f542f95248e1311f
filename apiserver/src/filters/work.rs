//! The amount of work that a request is expected to be.

use request_info::{RequestInfo, Verb};

use super::in_flight::Place;

/// Number of seats from which a list counts as long: half a megabyte, which takes about 0.2 ms.
const LONG_LIST_SEATS: usize = 5;

/// Minimum length of the query of a list whose selectors take long to match, in bytes.
const LONG_QUERY_BYTES: usize = 1024;

/// The amount of work that is expected of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpectedWork {
    /// A request that is handled where it is received, unless its body is large.
    Usual,
    /// A list that takes so long that it is handled on threads of its own, unless few others are.
    LongList,
    /// A request that matches many objects, or matches them with long selectors: it is handled on threads of its own.
    Matching,
}

// === impl ExpectedWork ===

impl ExpectedWork {
    /// Returns the work of a request with this query and place.
    pub(super) fn for_request(info: &RequestInfo, query: &str, place: &Place) -> Self {
        match info.verb {
            Verb::DeleteCollection => Self::Matching,
            Verb::List if query.len() >= LONG_QUERY_BYTES => Self::Matching,
            Verb::List if place.seats() >= LONG_LIST_SEATS => Self::LongList,
            _ => Self::Usual,
        }
    }
}
