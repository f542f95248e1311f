//! The amount of work that a request is expected to be.

use request_info::{RequestInfo, Verb};

use super::in_flight::Place;

/// Number of seats from which a list counts as long: half a megabyte, which takes about 0.2 ms.
const LONG_LIST_SEATS: usize = 5;

/// The amount of work that flow control expects of a request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum ExpectedWork {
    /// A request that is handled where it is received, unless its body is large.
    Usual,
    /// A list that takes so long that it is handled on threads of its own.
    LongList,
}

// === impl ExpectedWork ===

impl ExpectedWork {
    /// Returns the work of a request with this place.
    pub(super) fn for_request(info: &RequestInfo, place: &Place) -> Self {
        let is_long = info.verb == Verb::List && place.seats() >= LONG_LIST_SEATS;
        if is_long { Self::LongList } else { Self::Usual }
    }
}
