// Written by `cargo xtask codegen` from the facts about upstream's types. Do not edit.

//! Types of `autoscaling/v1`.

use crate::declare::prelude::*;

structs! {
    CrossVersionObjectReference CrossVersionObjectReferenceMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
    }
}

kinds! {
    HorizontalPodAutoscaler HorizontalPodAutoscalerMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": HorizontalPodAutoscalerSpec<'v, 'p>, HorizontalPodAutoscalerSpecMut<'m>;
        status = "status": HorizontalPodAutoscalerStatus<'v, 'p>, HorizontalPodAutoscalerStatusMut<'m>;
    }
}

structs! {
    HorizontalPodAutoscalerSpec HorizontalPodAutoscalerSpecMut {
        max_replicas = "maxReplicas": Integer<'v, 'p>, Integer<'static, 'static>;
        min_replicas = "minReplicas": Integer<'v, 'p>, Integer<'static, 'static>;
        scale_target_ref = "scaleTargetRef": CrossVersionObjectReference<'v, 'p>, CrossVersionObjectReferenceMut<'m>;
        target_cpu_utilization_percentage = "targetCPUUtilizationPercentage": Integer<'v, 'p>, Integer<'static, 'static>;
    }
}

structs! {
    HorizontalPodAutoscalerStatus HorizontalPodAutoscalerStatusMut {
        current_cpu_utilization_percentage = "currentCPUUtilizationPercentage": Integer<'v, 'p>, Integer<'static, 'static>;
        current_replicas = "currentReplicas": Integer<'v, 'p>, Integer<'static, 'static>;
        desired_replicas = "desiredReplicas": Integer<'v, 'p>, Integer<'static, 'static>;
        last_scale_time = "lastScaleTime": Time<'v, 'p>, Time<'static, 'static>;
        observed_generation = "observedGeneration": Integer<'v, 'p>, Integer<'static, 'static>;
    }
}

kinds! {
    Scale ScaleMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": ScaleSpec<'v, 'p>, ScaleSpecMut<'m>;
        status = "status": ScaleStatus<'v, 'p>, ScaleStatusMut<'m>;
    }
}

structs! {
    ScaleSpec ScaleSpecMut {
        replicas = "replicas": Integer<'v, 'p>, Integer<'static, 'static>;
    }
}

structs! {
    ScaleStatus ScaleStatusMut {
        replicas = "replicas": Integer<'v, 'p>, Integer<'static, 'static>;
        selector = "selector": Text<'v, 'p>, Text<'static, 'static>;
    }
}

