// Written by `cargo xtask codegen` from the facts about upstream's types. Do not edit.

//! Types of `coordination/v1beta1`.

use crate::declare::prelude::*;

kinds! {
    LeaseCandidate LeaseCandidateMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": LeaseCandidateSpec<'v, 'p>, LeaseCandidateSpecMut<'m>;
    }
}

structs! {
    LeaseCandidateSpec LeaseCandidateSpecMut {
        binary_version = "binaryVersion": Text<'v, 'p>, Text<'static, 'static>;
        emulation_version = "emulationVersion": Text<'v, 'p>, Text<'static, 'static>;
        lease_name = "leaseName": Text<'v, 'p>, Text<'static, 'static>;
        ping_time = "pingTime": Time<'v, 'p>, Time<'static, 'static>;
        renew_time = "renewTime": Time<'v, 'p>, Time<'static, 'static>;
        strategy = "strategy": Text<'v, 'p>, Text<'static, 'static>;
    }
}

