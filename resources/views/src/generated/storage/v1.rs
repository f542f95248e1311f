// Written by `cargo xtask codegen` from the facts about upstream's types. Do not edit.

//! Types of `storage/v1`.

use crate::declare::prelude::*;

kinds! {
    CSIDriver CSIDriverMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": CSIDriverSpec<'v, 'p>, CSIDriverSpecMut<'m>;
    }
}

structs! {
    CSIDriverSpec CSIDriverSpecMut {
        attach_required = "attachRequired": Boolean<'v, 'p>, Boolean<'static, 'static>;
        fs_group_policy = "fsGroupPolicy": Text<'v, 'p>, Text<'static, 'static>;
        node_allocatable_update_period_seconds = "nodeAllocatableUpdatePeriodSeconds": Integer<'v, 'p>, Integer<'static, 'static>;
        pod_info_on_mount = "podInfoOnMount": Boolean<'v, 'p>, Boolean<'static, 'static>;
        prevent_pod_scheduling_if_missing = "preventPodSchedulingIfMissing": Boolean<'v, 'p>, Boolean<'static, 'static>;
        requires_republish = "requiresRepublish": Boolean<'v, 'p>, Boolean<'static, 'static>;
        se_linux_mount = "seLinuxMount": Boolean<'v, 'p>, Boolean<'static, 'static>;
        service_account_token_in_secrets = "serviceAccountTokenInSecrets": Boolean<'v, 'p>, Boolean<'static, 'static>;
        storage_capacity = "storageCapacity": Boolean<'v, 'p>, Boolean<'static, 'static>;
        token_requests = "tokenRequests": List<TokenRequest<'v, 'p>>, List<TokenRequestMut<'m>>;
        volume_lifecycle_modes = "volumeLifecycleModes": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
    }
}

structs! {
    TokenRequest TokenRequestMut {
        audience = "audience": Text<'v, 'p>, Text<'static, 'static>;
        expiration_seconds = "expirationSeconds": Integer<'v, 'p>, Integer<'static, 'static>;
    }
}

kinds! {
    CSINode CSINodeMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": CSINodeSpec<'v, 'p>, CSINodeSpecMut<'m>;
    }
}

structs! {
    CSINodeSpec CSINodeSpecMut {
        drivers = "drivers": List<CSINodeDriver<'v, 'p>>, List<CSINodeDriverMut<'m>>;
    }
}

structs! {
    CSINodeDriver CSINodeDriverMut {
        allocatable = "allocatable": VolumeNodeResources<'v, 'p>, VolumeNodeResourcesMut<'m>;
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        node_id = "nodeID": Text<'v, 'p>, Text<'static, 'static>;
        topology_keys = "topologyKeys": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
    }
}

structs! {
    VolumeNodeResources VolumeNodeResourcesMut {
        count = "count": Integer<'v, 'p>, Integer<'static, 'static>;
    }
}

kinds! {
    CSIStorageCapacity CSIStorageCapacityMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        capacity = "capacity": Quantity<'v, 'p>, Quantity<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        maximum_volume_size = "maximumVolumeSize": Quantity<'v, 'p>, Quantity<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        node_topology = "nodeTopology": crate::meta::v1::LabelSelector<'v, 'p>, crate::meta::v1::LabelSelectorMut<'m>;
        storage_class_name = "storageClassName": Text<'v, 'p>, Text<'static, 'static>;
    }
}

kinds! {
    StorageClass StorageClassMut {
        allow_volume_expansion = "allowVolumeExpansion": Boolean<'v, 'p>, Boolean<'static, 'static>;
        allowed_topologies = "allowedTopologies": List<crate::core::v1::TopologySelectorTerm<'v, 'p>>, List<crate::core::v1::TopologySelectorTermMut<'m>>;
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        mount_options = "mountOptions": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        parameters = "parameters": Map<Text<'v, 'p>>, Map<Text<'static, 'static>>;
        provisioner = "provisioner": Text<'v, 'p>, Text<'static, 'static>;
        reclaim_policy = "reclaimPolicy": Text<'v, 'p>, Text<'static, 'static>;
        volume_binding_mode = "volumeBindingMode": Text<'v, 'p>, Text<'static, 'static>;
    }
}

kinds! {
    VolumeAttachment VolumeAttachmentMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": VolumeAttachmentSpec<'v, 'p>, VolumeAttachmentSpecMut<'m>;
        status = "status": VolumeAttachmentStatus<'v, 'p>, VolumeAttachmentStatusMut<'m>;
    }
}

structs! {
    VolumeAttachmentSpec VolumeAttachmentSpecMut {
        attacher = "attacher": Text<'v, 'p>, Text<'static, 'static>;
        node_name = "nodeName": Text<'v, 'p>, Text<'static, 'static>;
        source = "source": VolumeAttachmentSource<'v, 'p>, VolumeAttachmentSourceMut<'m>;
    }
}

structs! {
    VolumeAttachmentSource VolumeAttachmentSourceMut {
        inline_volume_spec = "inlineVolumeSpec": crate::core::v1::PersistentVolumeSpec<'v, 'p>, crate::core::v1::PersistentVolumeSpecMut<'m>;
        persistent_volume_name = "persistentVolumeName": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    VolumeAttachmentStatus VolumeAttachmentStatusMut {
        attach_error = "attachError": VolumeError<'v, 'p>, VolumeErrorMut<'m>;
        attached = "attached": Boolean<'v, 'p>, Boolean<'static, 'static>;
        attachment_metadata = "attachmentMetadata": Map<Text<'v, 'p>>, Map<Text<'static, 'static>>;
        detach_error = "detachError": VolumeError<'v, 'p>, VolumeErrorMut<'m>;
    }
}

structs! {
    VolumeError VolumeErrorMut {
        error_code = "errorCode": Integer<'v, 'p>, Integer<'static, 'static>;
        message = "message": Text<'v, 'p>, Text<'static, 'static>;
        time = "time": Time<'v, 'p>, Time<'static, 'static>;
    }
}

kinds! {
    VolumeAttributesClass VolumeAttributesClassMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        driver_name = "driverName": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        parameters = "parameters": Map<Text<'v, 'p>>, Map<Text<'static, 'static>>;
    }
}

