// Written by `cargo xtask codegen` from the facts about upstream's types. Do not edit.

//! Types of `resource/v1alpha3`.

use crate::declare::prelude::*;

kinds! {
    DeviceTaintRule DeviceTaintRuleMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": DeviceTaintRuleSpec<'v, 'p>, DeviceTaintRuleSpecMut<'m>;
        status = "status": DeviceTaintRuleStatus<'v, 'p>, DeviceTaintRuleStatusMut<'m>;
    }
}

structs! {
    DeviceTaintRuleSpec DeviceTaintRuleSpecMut {
        device_selector = "deviceSelector": DeviceTaintSelector<'v, 'p>, DeviceTaintSelectorMut<'m>;
        taint = "taint": crate::resource::v1::DeviceTaint<'v, 'p>, crate::resource::v1::DeviceTaintMut<'m>;
    }
}

structs! {
    DeviceTaintSelector DeviceTaintSelectorMut {
        device = "device": Text<'v, 'p>, Text<'static, 'static>;
        driver = "driver": Text<'v, 'p>, Text<'static, 'static>;
        pool = "pool": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    DeviceTaintRuleStatus DeviceTaintRuleStatusMut {
        conditions = "conditions": List<crate::meta::v1::Condition<'v, 'p>>, List<crate::meta::v1::ConditionMut<'m>>;
    }
}

structs! {
    PoolStatus PoolStatusMut {
        allocated_devices = "allocatedDevices": Integer<'v, 'p>, Integer<'static, 'static>;
        available_devices = "availableDevices": Integer<'v, 'p>, Integer<'static, 'static>;
        driver = "driver": Text<'v, 'p>, Text<'static, 'static>;
        generation = "generation": Integer<'v, 'p>, Integer<'static, 'static>;
        node_name = "nodeName": Text<'v, 'p>, Text<'static, 'static>;
        pool_name = "poolName": Text<'v, 'p>, Text<'static, 'static>;
        resource_slice_count = "resourceSliceCount": Integer<'v, 'p>, Integer<'static, 'static>;
        total_devices = "totalDevices": Integer<'v, 'p>, Integer<'static, 'static>;
        unavailable_devices = "unavailableDevices": Integer<'v, 'p>, Integer<'static, 'static>;
        validation_error = "validationError": Text<'v, 'p>, Text<'static, 'static>;
    }
}

kinds! {
    ResourcePoolStatusRequest ResourcePoolStatusRequestMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": ResourcePoolStatusRequestSpec<'v, 'p>, ResourcePoolStatusRequestSpecMut<'m>;
        status = "status": ResourcePoolStatusRequestStatus<'v, 'p>, ResourcePoolStatusRequestStatusMut<'m>;
    }
}

structs! {
    ResourcePoolStatusRequestSpec ResourcePoolStatusRequestSpecMut {
        driver = "driver": Text<'v, 'p>, Text<'static, 'static>;
        limit = "limit": Integer<'v, 'p>, Integer<'static, 'static>;
        pool_name = "poolName": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    ResourcePoolStatusRequestStatus ResourcePoolStatusRequestStatusMut {
        conditions = "conditions": List<crate::meta::v1::Condition<'v, 'p>>, List<crate::meta::v1::ConditionMut<'m>>;
        pool_count = "poolCount": Integer<'v, 'p>, Integer<'static, 'static>;
        pools = "pools": List<PoolStatus<'v, 'p>>, List<PoolStatusMut<'m>>;
    }
}

