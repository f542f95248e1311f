// Written by `cargo xtask codegen` from the facts about upstream's types. Do not edit.

//! Types of `apidiscovery/v2`.

use crate::declare::prelude::*;

structs! {
    APIGroupDiscovery APIGroupDiscoveryMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        versions = "versions": List<APIVersionDiscovery<'v, 'p>>, List<APIVersionDiscoveryMut<'m>>;
    }
}

structs! {
    APIVersionDiscovery APIVersionDiscoveryMut {
        freshness = "freshness": Text<'v, 'p>, Text<'static, 'static>;
        resources = "resources": List<APIResourceDiscovery<'v, 'p>>, List<APIResourceDiscoveryMut<'m>>;
        version = "version": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    APIResourceDiscovery APIResourceDiscoveryMut {
        categories = "categories": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        resource = "resource": Text<'v, 'p>, Text<'static, 'static>;
        response_kind = "responseKind": crate::meta::v1::GroupVersionKind<'v, 'p>, crate::meta::v1::GroupVersionKindMut<'m>;
        scope = "scope": Text<'v, 'p>, Text<'static, 'static>;
        short_names = "shortNames": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        singular_resource = "singularResource": Text<'v, 'p>, Text<'static, 'static>;
        subresources = "subresources": List<APISubresourceDiscovery<'v, 'p>>, List<APISubresourceDiscoveryMut<'m>>;
        verbs = "verbs": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
    }
}

structs! {
    APISubresourceDiscovery APISubresourceDiscoveryMut {
        accepted_types = "acceptedTypes": List<crate::meta::v1::GroupVersionKind<'v, 'p>>, List<crate::meta::v1::GroupVersionKindMut<'m>>;
        response_kind = "responseKind": crate::meta::v1::GroupVersionKind<'v, 'p>, crate::meta::v1::GroupVersionKindMut<'m>;
        subresource = "subresource": Text<'v, 'p>, Text<'static, 'static>;
        verbs = "verbs": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
    }
}

