// Written by `cargo xtask codegen` from the facts about upstream's types. Do not edit.

//! Types of `storage/v1beta1`.

use crate::declare::prelude::*;

kinds! {
    VolumeAttributesClass VolumeAttributesClassMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        driver_name = "driverName": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        parameters = "parameters": Map<Text<'v, 'p>>, Map<Text<'static, 'static>>;
    }
}

