// Written by `cargo xtask codegen` from the facts about upstream's types. Do not edit.

//! Types of `node/v1alpha1`.

use crate::declare::prelude::*;

kinds! {
    RuntimeClass RuntimeClassMut {
        spec = "spec": RuntimeClassSpec<'v, 'p>, RuntimeClassSpecMut<'m>;
    }
}

structs! {
    RuntimeClassSpec RuntimeClassSpecMut {
        overhead = "overhead": crate::node::v1::Overhead<'v, 'p>, crate::node::v1::OverheadMut<'m>;
        runtime_handler = "runtimeHandler": Text<'v, 'p>, Text<'static, 'static>;
        scheduling = "scheduling": crate::node::v1::Scheduling<'v, 'p>, crate::node::v1::SchedulingMut<'m>;
    }
}

