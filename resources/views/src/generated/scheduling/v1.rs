// Written by `cargo xtask codegen` from the facts about upstream's types. Do not edit.

//! Types of `scheduling/v1`.

use crate::declare::prelude::*;

kinds! {
    PriorityClass PriorityClassMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        description = "description": Text<'v, 'p>, Text<'static, 'static>;
        global_default = "globalDefault": Boolean<'v, 'p>, Boolean<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        preemption_policy = "preemptionPolicy": Text<'v, 'p>, Text<'static, 'static>;
        value = "value": Integer<'v, 'p>, Integer<'static, 'static>;
    }
}

