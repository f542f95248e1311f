// Written by `cargo xtask codegen` from the facts about upstream's types. Do not edit.

//! Types of `resource/v1`.

use crate::declare::prelude::*;

structs! {
    AllocatedDeviceStatus AllocatedDeviceStatusMut {
        conditions = "conditions": List<crate::meta::v1::Condition<'v, 'p>>, List<crate::meta::v1::ConditionMut<'m>>;
        data = "data": Raw<'v, 'p>, Raw<'static, 'static>;
        device = "device": Text<'v, 'p>, Text<'static, 'static>;
        driver = "driver": Text<'v, 'p>, Text<'static, 'static>;
        network_data = "networkData": NetworkDeviceData<'v, 'p>, NetworkDeviceDataMut<'m>;
        pool = "pool": Text<'v, 'p>, Text<'static, 'static>;
        share_id = "shareID": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    NetworkDeviceData NetworkDeviceDataMut {
        hardware_address = "hardwareAddress": Text<'v, 'p>, Text<'static, 'static>;
        interface_name = "interfaceName": Text<'v, 'p>, Text<'static, 'static>;
        ips = "ips": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
    }
}

structs! {
    AllocationResult AllocationResultMut {
        allocation_timestamp = "allocationTimestamp": Time<'v, 'p>, Time<'static, 'static>;
        devices = "devices": DeviceAllocationResult<'v, 'p>, DeviceAllocationResultMut<'m>;
        node_selector = "nodeSelector": crate::core::v1::NodeSelector<'v, 'p>, crate::core::v1::NodeSelectorMut<'m>;
    }
}

structs! {
    DeviceAllocationResult DeviceAllocationResultMut {
        config = "config": List<DeviceAllocationConfiguration<'v, 'p>>, List<DeviceAllocationConfigurationMut<'m>>;
        results = "results": List<DeviceRequestAllocationResult<'v, 'p>>, List<DeviceRequestAllocationResultMut<'m>>;
    }
}

structs! {
    DeviceRequestAllocationResult DeviceRequestAllocationResultMut {
        admin_access = "adminAccess": Boolean<'v, 'p>, Boolean<'static, 'static>;
        binding_conditions = "bindingConditions": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        binding_failure_conditions = "bindingFailureConditions": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        consumed_capacity = "consumedCapacity": Map<Quantity<'v, 'p>>, Map<Quantity<'static, 'static>>;
        device = "device": Text<'v, 'p>, Text<'static, 'static>;
        driver = "driver": Text<'v, 'p>, Text<'static, 'static>;
        pool = "pool": Text<'v, 'p>, Text<'static, 'static>;
        request = "request": Text<'v, 'p>, Text<'static, 'static>;
        share_id = "shareID": Text<'v, 'p>, Text<'static, 'static>;
        tolerations = "tolerations": List<DeviceToleration<'v, 'p>>, List<DeviceTolerationMut<'m>>;
    }
}

structs! {
    DeviceToleration DeviceTolerationMut {
        effect = "effect": Text<'v, 'p>, Text<'static, 'static>;
        key = "key": Text<'v, 'p>, Text<'static, 'static>;
        operator = "operator": Text<'v, 'p>, Text<'static, 'static>;
        toleration_seconds = "tolerationSeconds": Integer<'v, 'p>, Integer<'static, 'static>;
        value = "value": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    DeviceAllocationConfiguration DeviceAllocationConfigurationMut {
        opaque = "opaque": OpaqueDeviceConfiguration<'v, 'p>, OpaqueDeviceConfigurationMut<'m>;
        requests = "requests": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        source = "source": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    OpaqueDeviceConfiguration OpaqueDeviceConfigurationMut {
        driver = "driver": Text<'v, 'p>, Text<'static, 'static>;
        parameters = "parameters": Raw<'v, 'p>, Raw<'static, 'static>;
    }
}

structs! {
    CELDeviceSelector CELDeviceSelectorMut {
        expression = "expression": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    CapacityRequestPolicy CapacityRequestPolicyMut {
        default = "default": Quantity<'v, 'p>, Quantity<'static, 'static>;
        valid_range = "validRange": CapacityRequestPolicyRange<'v, 'p>, CapacityRequestPolicyRangeMut<'m>;
        valid_values = "validValues": List<Quantity<'v, 'p>>, List<Quantity<'static, 'static>>;
    }
}

structs! {
    CapacityRequestPolicyRange CapacityRequestPolicyRangeMut {
        max = "max": Quantity<'v, 'p>, Quantity<'static, 'static>;
        min = "min": Quantity<'v, 'p>, Quantity<'static, 'static>;
        step = "step": Quantity<'v, 'p>, Quantity<'static, 'static>;
    }
}

structs! {
    CapacityRequirements CapacityRequirementsMut {
        requests = "requests": Map<Quantity<'v, 'p>>, Map<Quantity<'static, 'static>>;
    }
}

structs! {
    Counter CounterMut {
        value = "value": Quantity<'v, 'p>, Quantity<'static, 'static>;
    }
}

structs! {
    CounterSet CounterSetMut {
        counters = "counters": Map<Counter<'v, 'p>>, Map<CounterMut<'m>>;
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    Device DeviceMut {
        all_nodes = "allNodes": Boolean<'v, 'p>, Boolean<'static, 'static>;
        allow_multiple_allocations = "allowMultipleAllocations": Boolean<'v, 'p>, Boolean<'static, 'static>;
        attributes = "attributes": Map<DeviceAttribute<'v, 'p>>, Map<DeviceAttributeMut<'m>>;
        binding_conditions = "bindingConditions": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        binding_failure_conditions = "bindingFailureConditions": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        binds_to_node = "bindsToNode": Boolean<'v, 'p>, Boolean<'static, 'static>;
        capacity = "capacity": Map<DeviceCapacity<'v, 'p>>, Map<DeviceCapacityMut<'m>>;
        consumes_counters = "consumesCounters": List<DeviceCounterConsumption<'v, 'p>>, List<DeviceCounterConsumptionMut<'m>>;
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        node_allocatable_resource_mappings = "nodeAllocatableResourceMappings": Map<NodeAllocatableResourceMapping<'v, 'p>>, Map<NodeAllocatableResourceMappingMut<'m>>;
        node_name = "nodeName": Text<'v, 'p>, Text<'static, 'static>;
        node_selector = "nodeSelector": crate::core::v1::NodeSelector<'v, 'p>, crate::core::v1::NodeSelectorMut<'m>;
        taints = "taints": List<DeviceTaint<'v, 'p>>, List<DeviceTaintMut<'m>>;
    }
}

structs! {
    DeviceAttribute DeviceAttributeMut {
        bool = "bool": Boolean<'v, 'p>, Boolean<'static, 'static>;
        bools = "bools": List<Boolean<'v, 'p>>, List<Boolean<'static, 'static>>;
        int = "int": Integer<'v, 'p>, Integer<'static, 'static>;
        ints = "ints": List<Integer<'v, 'p>>, List<Integer<'static, 'static>>;
        string = "string": Text<'v, 'p>, Text<'static, 'static>;
        strings = "strings": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        version = "version": Text<'v, 'p>, Text<'static, 'static>;
        versions = "versions": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
    }
}

structs! {
    DeviceCapacity DeviceCapacityMut {
        request_policy = "requestPolicy": CapacityRequestPolicy<'v, 'p>, CapacityRequestPolicyMut<'m>;
        value = "value": Quantity<'v, 'p>, Quantity<'static, 'static>;
    }
}

structs! {
    DeviceCounterConsumption DeviceCounterConsumptionMut {
        counter_set = "counterSet": Text<'v, 'p>, Text<'static, 'static>;
        counters = "counters": Map<Counter<'v, 'p>>, Map<CounterMut<'m>>;
    }
}

structs! {
    DeviceTaint DeviceTaintMut {
        effect = "effect": Text<'v, 'p>, Text<'static, 'static>;
        key = "key": Text<'v, 'p>, Text<'static, 'static>;
        time_added = "timeAdded": Time<'v, 'p>, Time<'static, 'static>;
        value = "value": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    NodeAllocatableResourceMapping NodeAllocatableResourceMappingMut {
        allocation_multiplier = "allocationMultiplier": Quantity<'v, 'p>, Quantity<'static, 'static>;
        capacity_key = "capacityKey": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    DeviceClaim DeviceClaimMut {
        config = "config": List<DeviceClaimConfiguration<'v, 'p>>, List<DeviceClaimConfigurationMut<'m>>;
        constraints = "constraints": List<DeviceConstraint<'v, 'p>>, List<DeviceConstraintMut<'m>>;
        requests = "requests": List<DeviceRequest<'v, 'p>>, List<DeviceRequestMut<'m>>;
    }
}

structs! {
    DeviceRequest DeviceRequestMut {
        exactly = "exactly": ExactDeviceRequest<'v, 'p>, ExactDeviceRequestMut<'m>;
        first_available = "firstAvailable": List<DeviceSubRequest<'v, 'p>>, List<DeviceSubRequestMut<'m>>;
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    ExactDeviceRequest ExactDeviceRequestMut {
        admin_access = "adminAccess": Boolean<'v, 'p>, Boolean<'static, 'static>;
        allocation_mode = "allocationMode": Text<'v, 'p>, Text<'static, 'static>;
        capacity = "capacity": CapacityRequirements<'v, 'p>, CapacityRequirementsMut<'m>;
        count = "count": Integer<'v, 'p>, Integer<'static, 'static>;
        device_class_name = "deviceClassName": Text<'v, 'p>, Text<'static, 'static>;
        selectors = "selectors": List<DeviceSelector<'v, 'p>>, List<DeviceSelectorMut<'m>>;
        tolerations = "tolerations": List<DeviceToleration<'v, 'p>>, List<DeviceTolerationMut<'m>>;
    }
}

structs! {
    DeviceSelector DeviceSelectorMut {
        cel = "cel": CELDeviceSelector<'v, 'p>, CELDeviceSelectorMut<'m>;
    }
}

structs! {
    DeviceSubRequest DeviceSubRequestMut {
        allocation_mode = "allocationMode": Text<'v, 'p>, Text<'static, 'static>;
        capacity = "capacity": CapacityRequirements<'v, 'p>, CapacityRequirementsMut<'m>;
        count = "count": Integer<'v, 'p>, Integer<'static, 'static>;
        device_class_name = "deviceClassName": Text<'v, 'p>, Text<'static, 'static>;
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        selectors = "selectors": List<DeviceSelector<'v, 'p>>, List<DeviceSelectorMut<'m>>;
        tolerations = "tolerations": List<DeviceToleration<'v, 'p>>, List<DeviceTolerationMut<'m>>;
    }
}

structs! {
    DeviceConstraint DeviceConstraintMut {
        distinct_attribute = "distinctAttribute": Text<'v, 'p>, Text<'static, 'static>;
        match_attribute = "matchAttribute": Text<'v, 'p>, Text<'static, 'static>;
        requests = "requests": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
    }
}

structs! {
    DeviceClaimConfiguration DeviceClaimConfigurationMut {
        opaque = "opaque": OpaqueDeviceConfiguration<'v, 'p>, OpaqueDeviceConfigurationMut<'m>;
        requests = "requests": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
    }
}

kinds! {
    DeviceClass DeviceClassMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": DeviceClassSpec<'v, 'p>, DeviceClassSpecMut<'m>;
    }
}

structs! {
    DeviceClassSpec DeviceClassSpecMut {
        config = "config": List<DeviceClassConfiguration<'v, 'p>>, List<DeviceClassConfigurationMut<'m>>;
        extended_resource_name = "extendedResourceName": Text<'v, 'p>, Text<'static, 'static>;
        selectors = "selectors": List<DeviceSelector<'v, 'p>>, List<DeviceSelectorMut<'m>>;
    }
}

structs! {
    DeviceClassConfiguration DeviceClassConfigurationMut {
        opaque = "opaque": OpaqueDeviceConfiguration<'v, 'p>, OpaqueDeviceConfigurationMut<'m>;
    }
}

kinds! {
    ResourceClaim ResourceClaimMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": ResourceClaimSpec<'v, 'p>, ResourceClaimSpecMut<'m>;
        status = "status": ResourceClaimStatus<'v, 'p>, ResourceClaimStatusMut<'m>;
    }
}

structs! {
    ResourceClaimSpec ResourceClaimSpecMut {
        devices = "devices": DeviceClaim<'v, 'p>, DeviceClaimMut<'m>;
    }
}

structs! {
    ResourceClaimStatus ResourceClaimStatusMut {
        allocation = "allocation": AllocationResult<'v, 'p>, AllocationResultMut<'m>;
        devices = "devices": List<AllocatedDeviceStatus<'v, 'p>>, List<AllocatedDeviceStatusMut<'m>>;
        reserved_for = "reservedFor": List<ResourceClaimConsumerReference<'v, 'p>>, List<ResourceClaimConsumerReferenceMut<'m>>;
    }
}

structs! {
    ResourceClaimConsumerReference ResourceClaimConsumerReferenceMut {
        api_group = "apiGroup": Text<'v, 'p>, Text<'static, 'static>;
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        resource = "resource": Text<'v, 'p>, Text<'static, 'static>;
        uid = "uid": Text<'v, 'p>, Text<'static, 'static>;
    }
}

kinds! {
    ResourceClaimTemplate ResourceClaimTemplateMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": ResourceClaimTemplateSpec<'v, 'p>, ResourceClaimTemplateSpecMut<'m>;
    }
}

structs! {
    ResourceClaimTemplateSpec ResourceClaimTemplateSpecMut {
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": ResourceClaimSpec<'v, 'p>, ResourceClaimSpecMut<'m>;
    }
}

structs! {
    ResourcePool ResourcePoolMut {
        generation = "generation": Integer<'v, 'p>, Integer<'static, 'static>;
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        resource_slice_count = "resourceSliceCount": Integer<'v, 'p>, Integer<'static, 'static>;
    }
}

kinds! {
    ResourceSlice ResourceSliceMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": ResourceSliceSpec<'v, 'p>, ResourceSliceSpecMut<'m>;
    }
}

structs! {
    ResourceSliceSpec ResourceSliceSpecMut {
        all_nodes = "allNodes": Boolean<'v, 'p>, Boolean<'static, 'static>;
        devices = "devices": List<Device<'v, 'p>>, List<DeviceMut<'m>>;
        driver = "driver": Text<'v, 'p>, Text<'static, 'static>;
        node_name = "nodeName": Text<'v, 'p>, Text<'static, 'static>;
        node_selector = "nodeSelector": crate::core::v1::NodeSelector<'v, 'p>, crate::core::v1::NodeSelectorMut<'m>;
        per_device_node_selection = "perDeviceNodeSelection": Boolean<'v, 'p>, Boolean<'static, 'static>;
        pool = "pool": ResourcePool<'v, 'p>, ResourcePoolMut<'m>;
        shared_counters = "sharedCounters": List<CounterSet<'v, 'p>>, List<CounterSetMut<'m>>;
    }
}

