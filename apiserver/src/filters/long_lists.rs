//! Lists that take so long that they are handled on threads of their own.

use http::Request;

use super::in_flight::Place;
use crate::request_info::{RequestInfo, Verb};

/// Number of seats from which a list counts as long: half a megabyte, which takes about 0.2 ms.
const LONG_LIST_SEATS: usize = 5;

/// Marks the request of a list that flow control expects to be long.
#[derive(Clone, Copy, Debug)]
pub(crate) struct LongList;

/// Marks a list that flow control expects to be long.
pub(super) fn mark<B>(info: &RequestInfo, place: &Place, request: &mut Request<B>) {
    if info.verb == Verb::List && place.seats() >= LONG_LIST_SEATS {
        request.extensions_mut().insert(LongList);
    }
}
