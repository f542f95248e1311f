// Written by `cargo xtask codegen` from the facts about upstream's types. Do not edit.

//! Types of `apidiscovery/v2beta1`.

use crate::declare::prelude::*;

structs! {
    APIGroupDiscovery APIGroupDiscoveryMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        versions = "versions": List<'v, 'p, APIVersionDiscovery<'v, 'p>>, List<'static, 'static, APIVersionDiscoveryMut<'m>>;
    }
}

structs! {
    APIVersionDiscovery APIVersionDiscoveryMut {
        freshness = "freshness": Text<'v, 'p>, Text<'static, 'static>;
        resources = "resources": List<'v, 'p, APIResourceDiscovery<'v, 'p>>, List<'static, 'static, APIResourceDiscoveryMut<'m>>;
        version = "version": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    APIResourceDiscovery APIResourceDiscoveryMut {
        categories = "categories": List<'v, 'p, Text<'v, 'p>>, List<'static, 'static, Text<'static, 'static>>;
        resource = "resource": Text<'v, 'p>, Text<'static, 'static>;
        response_kind = "responseKind": crate::meta::v1::GroupVersionKind<'v, 'p>, crate::meta::v1::GroupVersionKindMut<'m>;
        scope = "scope": Text<'v, 'p>, Text<'static, 'static>;
        short_names = "shortNames": List<'v, 'p, Text<'v, 'p>>, List<'static, 'static, Text<'static, 'static>>;
        singular_resource = "singularResource": Text<'v, 'p>, Text<'static, 'static>;
        subresources = "subresources": List<'v, 'p, APISubresourceDiscovery<'v, 'p>>, List<'static, 'static, APISubresourceDiscoveryMut<'m>>;
        verbs = "verbs": List<'v, 'p, Text<'v, 'p>>, List<'static, 'static, Text<'static, 'static>>;
    }
}

structs! {
    APISubresourceDiscovery APISubresourceDiscoveryMut {
        accepted_types = "acceptedTypes": List<'v, 'p, crate::meta::v1::GroupVersionKind<'v, 'p>>, List<'static, 'static, crate::meta::v1::GroupVersionKindMut<'m>>;
        response_kind = "responseKind": crate::meta::v1::GroupVersionKind<'v, 'p>, crate::meta::v1::GroupVersionKindMut<'m>;
        subresource = "subresource": Text<'v, 'p>, Text<'static, 'static>;
        verbs = "verbs": List<'v, 'p, Text<'v, 'p>>, List<'static, 'static, Text<'static, 'static>>;
    }
}

