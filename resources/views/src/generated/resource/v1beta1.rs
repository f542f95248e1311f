// Written by `cargo xtask codegen` from the facts about upstream's types. Do not edit.

//! Types of `resource/v1beta1`.

use crate::declare::prelude::*;

structs! {
    BasicDevice BasicDeviceMut {
        all_nodes = "allNodes": Boolean<'v, 'p>, Boolean<'static, 'static>;
        allow_multiple_allocations = "allowMultipleAllocations": Boolean<'v, 'p>, Boolean<'static, 'static>;
        attributes = "attributes": Map<crate::resource::v1::DeviceAttribute<'v, 'p>>, Map<crate::resource::v1::DeviceAttributeMut<'m>>;
        binding_conditions = "bindingConditions": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        binding_failure_conditions = "bindingFailureConditions": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        binds_to_node = "bindsToNode": Boolean<'v, 'p>, Boolean<'static, 'static>;
        capacity = "capacity": Map<crate::resource::v1::DeviceCapacity<'v, 'p>>, Map<crate::resource::v1::DeviceCapacityMut<'m>>;
        consumes_counters = "consumesCounters": List<crate::resource::v1::DeviceCounterConsumption<'v, 'p>>, List<crate::resource::v1::DeviceCounterConsumptionMut<'m>>;
        node_allocatable_resource_mappings = "nodeAllocatableResourceMappings": Map<crate::resource::v1::NodeAllocatableResourceMapping<'v, 'p>>, Map<crate::resource::v1::NodeAllocatableResourceMappingMut<'m>>;
        node_name = "nodeName": Text<'v, 'p>, Text<'static, 'static>;
        node_selector = "nodeSelector": crate::core::v1::NodeSelector<'v, 'p>, crate::core::v1::NodeSelectorMut<'m>;
        taints = "taints": List<crate::resource::v1::DeviceTaint<'v, 'p>>, List<crate::resource::v1::DeviceTaintMut<'m>>;
    }
}

structs! {
    Device DeviceMut {
        basic = "basic": BasicDevice<'v, 'p>, BasicDeviceMut<'m>;
    }
}

structs! {
    DeviceClaim DeviceClaimMut {
        requests = "requests": List<DeviceRequest<'v, 'p>>, List<DeviceRequestMut<'m>>;
    }
}

structs! {
    DeviceRequest DeviceRequestMut {
        admin_access = "adminAccess": Boolean<'v, 'p>, Boolean<'static, 'static>;
        allocation_mode = "allocationMode": Text<'v, 'p>, Text<'static, 'static>;
        capacity = "capacity": crate::resource::v1::CapacityRequirements<'v, 'p>, crate::resource::v1::CapacityRequirementsMut<'m>;
        count = "count": Integer<'v, 'p>, Integer<'static, 'static>;
        device_class_name = "deviceClassName": Text<'v, 'p>, Text<'static, 'static>;
        selectors = "selectors": List<crate::resource::v1::DeviceSelector<'v, 'p>>, List<crate::resource::v1::DeviceSelectorMut<'m>>;
        tolerations = "tolerations": List<crate::resource::v1::DeviceToleration<'v, 'p>>, List<crate::resource::v1::DeviceTolerationMut<'m>>;
    }
}

kinds! {
    ResourceClaim ResourceClaimMut {
        spec = "spec": ResourceClaimSpec<'v, 'p>, ResourceClaimSpecMut<'m>;
    }
}

structs! {
    ResourceClaimSpec ResourceClaimSpecMut {
        devices = "devices": DeviceClaim<'v, 'p>, DeviceClaimMut<'m>;
    }
}

kinds! {
    ResourceClaimTemplate ResourceClaimTemplateMut {
        spec = "spec": ResourceClaimTemplateSpec<'v, 'p>, ResourceClaimTemplateSpecMut<'m>;
    }
}

structs! {
    ResourceClaimTemplateSpec ResourceClaimTemplateSpecMut {
        spec = "spec": ResourceClaimSpec<'v, 'p>, ResourceClaimSpecMut<'m>;
    }
}

kinds! {
    ResourceSlice ResourceSliceMut {
        spec = "spec": ResourceSliceSpec<'v, 'p>, ResourceSliceSpecMut<'m>;
    }
}

structs! {
    ResourceSliceSpec ResourceSliceSpecMut {
        devices = "devices": List<Device<'v, 'p>>, List<DeviceMut<'m>>;
    }
}

