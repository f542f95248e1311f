// Written by `cargo xtask codegen` from the facts about upstream's types. Do not edit.

//! Types of `autoscaling/v2`.

use crate::declare::prelude::*;

structs! {
    ContainerResourceMetricSource ContainerResourceMetricSourceMut {
        container = "container": Text<'v, 'p>, Text<'static, 'static>;
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        target = "target": MetricTarget<'v, 'p>, MetricTargetMut<'m>;
    }
}

structs! {
    MetricTarget MetricTargetMut {
        average_utilization = "averageUtilization": Integer<'v, 'p>, Integer<'static, 'static>;
        average_value = "averageValue": Quantity<'v, 'p>, Quantity<'static, 'static>;
        r#type = "type": Text<'v, 'p>, Text<'static, 'static>;
        value = "value": Quantity<'v, 'p>, Quantity<'static, 'static>;
    }
}

structs! {
    ContainerResourceMetricStatus ContainerResourceMetricStatusMut {
        container = "container": Text<'v, 'p>, Text<'static, 'static>;
        current = "current": MetricValueStatus<'v, 'p>, MetricValueStatusMut<'m>;
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    MetricValueStatus MetricValueStatusMut {
        average_utilization = "averageUtilization": Integer<'v, 'p>, Integer<'static, 'static>;
        average_value = "averageValue": Quantity<'v, 'p>, Quantity<'static, 'static>;
        value = "value": Quantity<'v, 'p>, Quantity<'static, 'static>;
    }
}

structs! {
    CrossVersionObjectReference CrossVersionObjectReferenceMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    ExternalMetricSource ExternalMetricSourceMut {
        metric = "metric": MetricIdentifier<'v, 'p>, MetricIdentifierMut<'m>;
        target = "target": MetricTarget<'v, 'p>, MetricTargetMut<'m>;
    }
}

structs! {
    MetricIdentifier MetricIdentifierMut {
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        selector = "selector": crate::meta::v1::LabelSelector<'v, 'p>, crate::meta::v1::LabelSelectorMut<'m>;
    }
}

structs! {
    ExternalMetricStatus ExternalMetricStatusMut {
        current = "current": MetricValueStatus<'v, 'p>, MetricValueStatusMut<'m>;
        metric = "metric": MetricIdentifier<'v, 'p>, MetricIdentifierMut<'m>;
    }
}

structs! {
    HPAScalingPolicy HPAScalingPolicyMut {
        period_seconds = "periodSeconds": Integer<'v, 'p>, Integer<'static, 'static>;
        r#type = "type": Text<'v, 'p>, Text<'static, 'static>;
        value = "value": Integer<'v, 'p>, Integer<'static, 'static>;
    }
}

structs! {
    HPAScalingRules HPAScalingRulesMut {
        policies = "policies": List<HPAScalingPolicy<'v, 'p>>, List<HPAScalingPolicyMut<'m>>;
        select_policy = "selectPolicy": Text<'v, 'p>, Text<'static, 'static>;
        stabilization_window_seconds = "stabilizationWindowSeconds": Integer<'v, 'p>, Integer<'static, 'static>;
        tolerance = "tolerance": Quantity<'v, 'p>, Quantity<'static, 'static>;
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
        behavior = "behavior": HorizontalPodAutoscalerBehavior<'v, 'p>, HorizontalPodAutoscalerBehaviorMut<'m>;
        max_replicas = "maxReplicas": Integer<'v, 'p>, Integer<'static, 'static>;
        metrics = "metrics": List<MetricSpec<'v, 'p>>, List<MetricSpecMut<'m>>;
        min_replicas = "minReplicas": Integer<'v, 'p>, Integer<'static, 'static>;
        scale_target_ref = "scaleTargetRef": CrossVersionObjectReference<'v, 'p>, CrossVersionObjectReferenceMut<'m>;
    }
}

structs! {
    MetricSpec MetricSpecMut {
        container_resource = "containerResource": ContainerResourceMetricSource<'v, 'p>, ContainerResourceMetricSourceMut<'m>;
        external = "external": ExternalMetricSource<'v, 'p>, ExternalMetricSourceMut<'m>;
        object = "object": ObjectMetricSource<'v, 'p>, ObjectMetricSourceMut<'m>;
        pods = "pods": PodsMetricSource<'v, 'p>, PodsMetricSourceMut<'m>;
        resource = "resource": ResourceMetricSource<'v, 'p>, ResourceMetricSourceMut<'m>;
        r#type = "type": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    ObjectMetricSource ObjectMetricSourceMut {
        described_object = "describedObject": CrossVersionObjectReference<'v, 'p>, CrossVersionObjectReferenceMut<'m>;
        metric = "metric": MetricIdentifier<'v, 'p>, MetricIdentifierMut<'m>;
        target = "target": MetricTarget<'v, 'p>, MetricTargetMut<'m>;
    }
}

structs! {
    PodsMetricSource PodsMetricSourceMut {
        metric = "metric": MetricIdentifier<'v, 'p>, MetricIdentifierMut<'m>;
        target = "target": MetricTarget<'v, 'p>, MetricTargetMut<'m>;
    }
}

structs! {
    ResourceMetricSource ResourceMetricSourceMut {
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        target = "target": MetricTarget<'v, 'p>, MetricTargetMut<'m>;
    }
}

structs! {
    HorizontalPodAutoscalerBehavior HorizontalPodAutoscalerBehaviorMut {
        scale_down = "scaleDown": HPAScalingRules<'v, 'p>, HPAScalingRulesMut<'m>;
        scale_up = "scaleUp": HPAScalingRules<'v, 'p>, HPAScalingRulesMut<'m>;
    }
}

structs! {
    HorizontalPodAutoscalerStatus HorizontalPodAutoscalerStatusMut {
        conditions = "conditions": List<HorizontalPodAutoscalerCondition<'v, 'p>>, List<HorizontalPodAutoscalerConditionMut<'m>>;
        current_metrics = "currentMetrics": List<MetricStatus<'v, 'p>>, List<MetricStatusMut<'m>>;
        current_replicas = "currentReplicas": Integer<'v, 'p>, Integer<'static, 'static>;
        desired_replicas = "desiredReplicas": Integer<'v, 'p>, Integer<'static, 'static>;
        last_scale_time = "lastScaleTime": Time<'v, 'p>, Time<'static, 'static>;
        observed_generation = "observedGeneration": Integer<'v, 'p>, Integer<'static, 'static>;
    }
}

structs! {
    MetricStatus MetricStatusMut {
        container_resource = "containerResource": ContainerResourceMetricStatus<'v, 'p>, ContainerResourceMetricStatusMut<'m>;
        external = "external": ExternalMetricStatus<'v, 'p>, ExternalMetricStatusMut<'m>;
        object = "object": ObjectMetricStatus<'v, 'p>, ObjectMetricStatusMut<'m>;
        pods = "pods": PodsMetricStatus<'v, 'p>, PodsMetricStatusMut<'m>;
        resource = "resource": ResourceMetricStatus<'v, 'p>, ResourceMetricStatusMut<'m>;
        r#type = "type": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    ObjectMetricStatus ObjectMetricStatusMut {
        current = "current": MetricValueStatus<'v, 'p>, MetricValueStatusMut<'m>;
        described_object = "describedObject": CrossVersionObjectReference<'v, 'p>, CrossVersionObjectReferenceMut<'m>;
        metric = "metric": MetricIdentifier<'v, 'p>, MetricIdentifierMut<'m>;
    }
}

structs! {
    PodsMetricStatus PodsMetricStatusMut {
        current = "current": MetricValueStatus<'v, 'p>, MetricValueStatusMut<'m>;
        metric = "metric": MetricIdentifier<'v, 'p>, MetricIdentifierMut<'m>;
    }
}

structs! {
    ResourceMetricStatus ResourceMetricStatusMut {
        current = "current": MetricValueStatus<'v, 'p>, MetricValueStatusMut<'m>;
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    HorizontalPodAutoscalerCondition HorizontalPodAutoscalerConditionMut {
        last_transition_time = "lastTransitionTime": Time<'v, 'p>, Time<'static, 'static>;
        message = "message": Text<'v, 'p>, Text<'static, 'static>;
        reason = "reason": Text<'v, 'p>, Text<'static, 'static>;
        status = "status": Text<'v, 'p>, Text<'static, 'static>;
        r#type = "type": Text<'v, 'p>, Text<'static, 'static>;
    }
}

