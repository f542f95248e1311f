// Written by `cargo xtask codegen` from the facts about upstream's types. Do not edit.

//! Types of `discovery/v1beta1`.

use crate::declare::prelude::*;

kinds! {
    EndpointSlice EndpointSliceMut {
        address_type = "addressType": Text<'v, 'p>, Text<'static, 'static>;
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        endpoints = "endpoints": List<Endpoint<'v, 'p>>, List<EndpointMut<'m>>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        ports = "ports": List<EndpointPort<'v, 'p>>, List<EndpointPortMut<'m>>;
    }
}

structs! {
    Endpoint EndpointMut {
        addresses = "addresses": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        conditions = "conditions": EndpointConditions<'v, 'p>, EndpointConditionsMut<'m>;
        hints = "hints": EndpointHints<'v, 'p>, EndpointHintsMut<'m>;
        hostname = "hostname": Text<'v, 'p>, Text<'static, 'static>;
        node_name = "nodeName": Text<'v, 'p>, Text<'static, 'static>;
        target_ref = "targetRef": crate::core::v1::ObjectReference<'v, 'p>, crate::core::v1::ObjectReferenceMut<'m>;
        topology = "topology": Map<Text<'v, 'p>>, Map<Text<'static, 'static>>;
    }
}

structs! {
    EndpointConditions EndpointConditionsMut {
        ready = "ready": Boolean<'v, 'p>, Boolean<'static, 'static>;
        serving = "serving": Boolean<'v, 'p>, Boolean<'static, 'static>;
        terminating = "terminating": Boolean<'v, 'p>, Boolean<'static, 'static>;
    }
}

structs! {
    EndpointHints EndpointHintsMut {
        for_nodes = "forNodes": List<ForNode<'v, 'p>>, List<ForNodeMut<'m>>;
        for_zones = "forZones": List<ForZone<'v, 'p>>, List<ForZoneMut<'m>>;
    }
}

structs! {
    ForZone ForZoneMut {
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    ForNode ForNodeMut {
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    EndpointPort EndpointPortMut {
        app_protocol = "appProtocol": Text<'v, 'p>, Text<'static, 'static>;
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        port = "port": Integer<'v, 'p>, Integer<'static, 'static>;
        protocol = "protocol": Text<'v, 'p>, Text<'static, 'static>;
    }
}

