// Written by `cargo xtask codegen` from the facts about upstream's types. Do not edit.

//! Types of `storagemigration/v1beta1`.

use crate::declare::prelude::*;

kinds! {
    StorageVersionMigration StorageVersionMigrationMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": StorageVersionMigrationSpec<'v, 'p>, StorageVersionMigrationSpecMut<'m>;
        status = "status": StorageVersionMigrationStatus<'v, 'p>, StorageVersionMigrationStatusMut<'m>;
    }
}

structs! {
    StorageVersionMigrationSpec StorageVersionMigrationSpecMut {
        resource = "resource": crate::meta::v1::GroupResource<'v, 'p>, crate::meta::v1::GroupResourceMut<'m>;
    }
}

structs! {
    StorageVersionMigrationStatus StorageVersionMigrationStatusMut {
        conditions = "conditions": List<crate::meta::v1::Condition<'v, 'p>>, List<crate::meta::v1::ConditionMut<'m>>;
        resource_version = "resourceVersion": Text<'v, 'p>, Text<'static, 'static>;
    }
}

