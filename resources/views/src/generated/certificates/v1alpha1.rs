// Written by `cargo xtask codegen` from the facts about upstream's types. Do not edit.

//! Types of `certificates/v1alpha1`.

use crate::declare::prelude::*;

kinds! {
    ClusterTrustBundle ClusterTrustBundleMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": ClusterTrustBundleSpec<'v, 'p>, ClusterTrustBundleSpecMut<'m>;
    }
}

structs! {
    ClusterTrustBundleSpec ClusterTrustBundleSpecMut {
        signer_name = "signerName": Text<'v, 'p>, Text<'static, 'static>;
        trust_bundle = "trustBundle": Text<'v, 'p>, Text<'static, 'static>;
    }
}

