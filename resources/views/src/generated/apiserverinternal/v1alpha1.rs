// Written by `cargo xtask codegen` from the facts about upstream's types. Do not edit.

//! Types of `apiserverinternal/v1alpha1`.

use crate::declare::prelude::*;

structs! {
    ServerStorageVersion ServerStorageVersionMut {
        api_server_id = "apiServerID": Text<'v, 'p>, Text<'static, 'static>;
        decodable_versions = "decodableVersions": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        encoding_version = "encodingVersion": Text<'v, 'p>, Text<'static, 'static>;
        served_versions = "servedVersions": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
    }
}

kinds! {
    StorageVersion StorageVersionMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": StorageVersionSpec<'v, 'p>, StorageVersionSpecMut<'m>;
        status = "status": StorageVersionStatus<'v, 'p>, StorageVersionStatusMut<'m>;
    }
}

structs! {
    StorageVersionSpec StorageVersionSpecMut {
    }
}

structs! {
    StorageVersionStatus StorageVersionStatusMut {
        common_encoding_version = "commonEncodingVersion": Text<'v, 'p>, Text<'static, 'static>;
        conditions = "conditions": List<StorageVersionCondition<'v, 'p>>, List<StorageVersionConditionMut<'m>>;
        storage_versions = "storageVersions": List<ServerStorageVersion<'v, 'p>>, List<ServerStorageVersionMut<'m>>;
    }
}

structs! {
    StorageVersionCondition StorageVersionConditionMut {
        last_transition_time = "lastTransitionTime": Time<'v, 'p>, Time<'static, 'static>;
        message = "message": Text<'v, 'p>, Text<'static, 'static>;
        observed_generation = "observedGeneration": Integer<'v, 'p>, Integer<'static, 'static>;
        reason = "reason": Text<'v, 'p>, Text<'static, 'static>;
        status = "status": Text<'v, 'p>, Text<'static, 'static>;
        r#type = "type": Text<'v, 'p>, Text<'static, 'static>;
    }
}

