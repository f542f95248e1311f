// Written by `cargo xtask codegen` from the facts about upstream's types. Do not edit.

//! Types of `networking/v1beta1`.

use crate::declare::prelude::*;

kinds! {
    IPAddress IPAddressMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": IPAddressSpec<'v, 'p>, IPAddressSpecMut<'m>;
    }
}

structs! {
    IPAddressSpec IPAddressSpecMut {
        parent_ref = "parentRef": ParentReference<'v, 'p>, ParentReferenceMut<'m>;
    }
}

structs! {
    ParentReference ParentReferenceMut {
        group = "group": Text<'v, 'p>, Text<'static, 'static>;
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        namespace = "namespace": Text<'v, 'p>, Text<'static, 'static>;
        resource = "resource": Text<'v, 'p>, Text<'static, 'static>;
    }
}

kinds! {
    ServiceCIDR ServiceCIDRMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": ServiceCIDRSpec<'v, 'p>, ServiceCIDRSpecMut<'m>;
        status = "status": ServiceCIDRStatus<'v, 'p>, ServiceCIDRStatusMut<'m>;
    }
}

structs! {
    ServiceCIDRSpec ServiceCIDRSpecMut {
        cidrs = "cidrs": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
    }
}

structs! {
    ServiceCIDRStatus ServiceCIDRStatusMut {
        conditions = "conditions": List<crate::meta::v1::Condition<'v, 'p>>, List<crate::meta::v1::ConditionMut<'m>>;
    }
}

