// Written by `cargo xtask codegen` from the facts about upstream's types. Do not edit.

//! Types of `node/v1alpha1`.

use crate::declare::prelude::*;

kinds! {
    RuntimeClass RuntimeClassMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": RuntimeClassSpec<'v, 'p>, RuntimeClassSpecMut<'m>;
    }
}

structs! {
    RuntimeClassSpec RuntimeClassSpecMut {
        overhead = "overhead": Overhead<'v, 'p>, OverheadMut<'m>;
        runtime_handler = "runtimeHandler": Text<'v, 'p>, Text<'static, 'static>;
        scheduling = "scheduling": Scheduling<'v, 'p>, SchedulingMut<'m>;
    }
}

structs! {
    Overhead OverheadMut {
        pod_fixed = "podFixed": Map<Quantity<'v, 'p>>, Map<Quantity<'static, 'static>>;
    }
}

structs! {
    Scheduling SchedulingMut {
        node_selector = "nodeSelector": Map<Text<'v, 'p>>, Map<Text<'static, 'static>>;
        tolerations = "tolerations": List<crate::core::v1::Toleration<'v, 'p>>, List<crate::core::v1::TolerationMut<'m>>;
    }
}

