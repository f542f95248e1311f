// Written by `cargo xtask codegen` from the facts about upstream's types. Do not edit.

//! Types of `policy/v1`.

use crate::declare::prelude::*;

kinds! {
    Eviction EvictionMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        delete_options = "deleteOptions": crate::meta::v1::DeleteOptionsPart<'v, 'p>, crate::meta::v1::DeleteOptionsPartMut<'m>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
    }
}

kinds! {
    PodDisruptionBudget PodDisruptionBudgetMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": PodDisruptionBudgetSpec<'v, 'p>, PodDisruptionBudgetSpecMut<'m>;
        status = "status": PodDisruptionBudgetStatus<'v, 'p>, PodDisruptionBudgetStatusMut<'m>;
    }
}

structs! {
    PodDisruptionBudgetSpec PodDisruptionBudgetSpecMut {
        max_unavailable = "maxUnavailable": IntOrString<'v, 'p>, IntOrString<'static, 'static>;
        min_available = "minAvailable": IntOrString<'v, 'p>, IntOrString<'static, 'static>;
        selector = "selector": crate::meta::v1::LabelSelector<'v, 'p>, crate::meta::v1::LabelSelectorMut<'m>;
        unhealthy_pod_eviction_policy = "unhealthyPodEvictionPolicy": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    PodDisruptionBudgetStatus PodDisruptionBudgetStatusMut {
        conditions = "conditions": List<crate::meta::v1::Condition<'v, 'p>>, List<crate::meta::v1::ConditionMut<'m>>;
        current_healthy = "currentHealthy": Integer<'v, 'p>, Integer<'static, 'static>;
        desired_healthy = "desiredHealthy": Integer<'v, 'p>, Integer<'static, 'static>;
        disrupted_pods = "disruptedPods": Map<Time<'v, 'p>>, Map<Time<'static, 'static>>;
        disruptions_allowed = "disruptionsAllowed": Integer<'v, 'p>, Integer<'static, 'static>;
        expected_pods = "expectedPods": Integer<'v, 'p>, Integer<'static, 'static>;
        observed_generation = "observedGeneration": Integer<'v, 'p>, Integer<'static, 'static>;
    }
}

