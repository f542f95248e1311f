// Written by `cargo xtask codegen` from the facts about upstream's types. Do not edit.

//! Types of `resource/v1beta2`.

use crate::declare::prelude::*;

kinds! {
    DeviceTaintRule DeviceTaintRuleMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": DeviceTaintRuleSpec<'v, 'p>, DeviceTaintRuleSpecMut<'m>;
        status = "status": DeviceTaintRuleStatus<'v, 'p>, DeviceTaintRuleStatusMut<'m>;
    }
}

structs! {
    DeviceTaintRuleSpec DeviceTaintRuleSpecMut {
        device_selector = "deviceSelector": DeviceTaintSelector<'v, 'p>, DeviceTaintSelectorMut<'m>;
        taint = "taint": crate::resource::v1::DeviceTaint<'v, 'p>, crate::resource::v1::DeviceTaintMut<'m>;
    }
}

structs! {
    DeviceTaintSelector DeviceTaintSelectorMut {
        device = "device": Text<'v, 'p>, Text<'static, 'static>;
        driver = "driver": Text<'v, 'p>, Text<'static, 'static>;
        pool = "pool": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    DeviceTaintRuleStatus DeviceTaintRuleStatusMut {
        conditions = "conditions": List<crate::meta::v1::Condition<'v, 'p>>, List<crate::meta::v1::ConditionMut<'m>>;
    }
}

