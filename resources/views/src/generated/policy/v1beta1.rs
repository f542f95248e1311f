// Written by `cargo xtask codegen` from the facts about upstream's types. Do not edit.

//! Types of `policy/v1beta1`.

use crate::declare::prelude::*;

kinds! {
    Eviction EvictionMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        delete_options = "deleteOptions": crate::meta::v1::DeleteOptionsPart<'v, 'p>, crate::meta::v1::DeleteOptionsPartMut<'m>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
    }
}

