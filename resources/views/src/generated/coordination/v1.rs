// Written by `cargo xtask codegen` from the facts about upstream's types. Do not edit.

//! Types of `coordination/v1`.

use crate::declare::prelude::*;

kinds! {
    Lease LeaseMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": LeaseSpec<'v, 'p>, LeaseSpecMut<'m>;
    }
}

structs! {
    LeaseSpec LeaseSpecMut {
        acquire_time = "acquireTime": Time<'v, 'p>, Time<'static, 'static>;
        holder_identity = "holderIdentity": Text<'v, 'p>, Text<'static, 'static>;
        lease_duration_seconds = "leaseDurationSeconds": Integer<'v, 'p>, Integer<'static, 'static>;
        lease_transitions = "leaseTransitions": Integer<'v, 'p>, Integer<'static, 'static>;
        preferred_holder = "preferredHolder": Text<'v, 'p>, Text<'static, 'static>;
        renew_time = "renewTime": Time<'v, 'p>, Time<'static, 'static>;
        strategy = "strategy": Text<'v, 'p>, Text<'static, 'static>;
    }
}

