// Written by `cargo xtask codegen` from the facts about upstream's types. Do not edit.

//! Types of `discovery/v1beta1`.

use crate::declare::prelude::*;

kinds! {
    EndpointSlice EndpointSliceMut {
        endpoints = "endpoints": List<Endpoint<'v, 'p>>, List<EndpointMut<'m>>;
    }
}

structs! {
    Endpoint EndpointMut {
        topology = "topology": Map<Text<'v, 'p>>, Map<Text<'static, 'static>>;
    }
}

