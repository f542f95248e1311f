// Written by `cargo xtask codegen` from the facts about upstream's types. Do not edit.

//! Types of `extensions/v1beta1`.

use crate::declare::prelude::*;

kinds! {
    DaemonSet DaemonSetMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": DaemonSetSpec<'v, 'p>, DaemonSetSpecMut<'m>;
        status = "status": DaemonSetStatus<'v, 'p>, DaemonSetStatusMut<'m>;
    }
}

structs! {
    DaemonSetSpec DaemonSetSpecMut {
        min_ready_seconds = "minReadySeconds": Integer<'v, 'p>, Integer<'static, 'static>;
        revision_history_limit = "revisionHistoryLimit": Integer<'v, 'p>, Integer<'static, 'static>;
        selector = "selector": crate::meta::v1::LabelSelector<'v, 'p>, crate::meta::v1::LabelSelectorMut<'m>;
        template = "template": crate::core::v1::PodTemplateSpec<'v, 'p>, crate::core::v1::PodTemplateSpecMut<'m>;
        template_generation = "templateGeneration": Integer<'v, 'p>, Integer<'static, 'static>;
        update_strategy = "updateStrategy": DaemonSetUpdateStrategy<'v, 'p>, DaemonSetUpdateStrategyMut<'m>;
    }
}

structs! {
    DaemonSetUpdateStrategy DaemonSetUpdateStrategyMut {
        rolling_update = "rollingUpdate": RollingUpdateDaemonSet<'v, 'p>, RollingUpdateDaemonSetMut<'m>;
        r#type = "type": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    RollingUpdateDaemonSet RollingUpdateDaemonSetMut {
        max_surge = "maxSurge": IntOrString<'v, 'p>, IntOrString<'static, 'static>;
        max_unavailable = "maxUnavailable": IntOrString<'v, 'p>, IntOrString<'static, 'static>;
    }
}

structs! {
    DaemonSetStatus DaemonSetStatusMut {
        collision_count = "collisionCount": Integer<'v, 'p>, Integer<'static, 'static>;
        conditions = "conditions": List<DaemonSetCondition<'v, 'p>>, List<DaemonSetConditionMut<'m>>;
        current_number_scheduled = "currentNumberScheduled": Integer<'v, 'p>, Integer<'static, 'static>;
        desired_number_scheduled = "desiredNumberScheduled": Integer<'v, 'p>, Integer<'static, 'static>;
        number_available = "numberAvailable": Integer<'v, 'p>, Integer<'static, 'static>;
        number_misscheduled = "numberMisscheduled": Integer<'v, 'p>, Integer<'static, 'static>;
        number_ready = "numberReady": Integer<'v, 'p>, Integer<'static, 'static>;
        number_unavailable = "numberUnavailable": Integer<'v, 'p>, Integer<'static, 'static>;
        observed_generation = "observedGeneration": Integer<'v, 'p>, Integer<'static, 'static>;
        updated_number_scheduled = "updatedNumberScheduled": Integer<'v, 'p>, Integer<'static, 'static>;
    }
}

structs! {
    DaemonSetCondition DaemonSetConditionMut {
        last_transition_time = "lastTransitionTime": Time<'v, 'p>, Time<'static, 'static>;
        message = "message": Text<'v, 'p>, Text<'static, 'static>;
        reason = "reason": Text<'v, 'p>, Text<'static, 'static>;
        status = "status": Text<'v, 'p>, Text<'static, 'static>;
        r#type = "type": Text<'v, 'p>, Text<'static, 'static>;
    }
}

kinds! {
    Deployment DeploymentMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": DeploymentSpec<'v, 'p>, DeploymentSpecMut<'m>;
        status = "status": DeploymentStatus<'v, 'p>, DeploymentStatusMut<'m>;
    }
}

structs! {
    DeploymentSpec DeploymentSpecMut {
        min_ready_seconds = "minReadySeconds": Integer<'v, 'p>, Integer<'static, 'static>;
        paused = "paused": Boolean<'v, 'p>, Boolean<'static, 'static>;
        progress_deadline_seconds = "progressDeadlineSeconds": Integer<'v, 'p>, Integer<'static, 'static>;
        replicas = "replicas": Integer<'v, 'p>, Integer<'static, 'static>;
        revision_history_limit = "revisionHistoryLimit": Integer<'v, 'p>, Integer<'static, 'static>;
        rollback_to = "rollbackTo": RollbackConfig<'v, 'p>, RollbackConfigMut<'m>;
        selector = "selector": crate::meta::v1::LabelSelector<'v, 'p>, crate::meta::v1::LabelSelectorMut<'m>;
        strategy = "strategy": DeploymentStrategy<'v, 'p>, DeploymentStrategyMut<'m>;
        template = "template": crate::core::v1::PodTemplateSpec<'v, 'p>, crate::core::v1::PodTemplateSpecMut<'m>;
    }
}

structs! {
    DeploymentStrategy DeploymentStrategyMut {
        rolling_update = "rollingUpdate": RollingUpdateDeployment<'v, 'p>, RollingUpdateDeploymentMut<'m>;
        r#type = "type": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    RollingUpdateDeployment RollingUpdateDeploymentMut {
        max_surge = "maxSurge": IntOrString<'v, 'p>, IntOrString<'static, 'static>;
        max_unavailable = "maxUnavailable": IntOrString<'v, 'p>, IntOrString<'static, 'static>;
    }
}

structs! {
    RollbackConfig RollbackConfigMut {
        revision = "revision": Integer<'v, 'p>, Integer<'static, 'static>;
    }
}

structs! {
    DeploymentStatus DeploymentStatusMut {
        available_replicas = "availableReplicas": Integer<'v, 'p>, Integer<'static, 'static>;
        collision_count = "collisionCount": Integer<'v, 'p>, Integer<'static, 'static>;
        conditions = "conditions": List<DeploymentCondition<'v, 'p>>, List<DeploymentConditionMut<'m>>;
        observed_generation = "observedGeneration": Integer<'v, 'p>, Integer<'static, 'static>;
        ready_replicas = "readyReplicas": Integer<'v, 'p>, Integer<'static, 'static>;
        replicas = "replicas": Integer<'v, 'p>, Integer<'static, 'static>;
        terminating_replicas = "terminatingReplicas": Integer<'v, 'p>, Integer<'static, 'static>;
        unavailable_replicas = "unavailableReplicas": Integer<'v, 'p>, Integer<'static, 'static>;
        updated_replicas = "updatedReplicas": Integer<'v, 'p>, Integer<'static, 'static>;
    }
}

structs! {
    DeploymentCondition DeploymentConditionMut {
        last_transition_time = "lastTransitionTime": Time<'v, 'p>, Time<'static, 'static>;
        last_update_time = "lastUpdateTime": Time<'v, 'p>, Time<'static, 'static>;
        message = "message": Text<'v, 'p>, Text<'static, 'static>;
        reason = "reason": Text<'v, 'p>, Text<'static, 'static>;
        status = "status": Text<'v, 'p>, Text<'static, 'static>;
        r#type = "type": Text<'v, 'p>, Text<'static, 'static>;
    }
}

kinds! {
    Ingress IngressMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": IngressSpec<'v, 'p>, IngressSpecMut<'m>;
        status = "status": IngressStatus<'v, 'p>, IngressStatusMut<'m>;
    }
}

structs! {
    IngressSpec IngressSpecMut {
        backend = "backend": IngressBackend<'v, 'p>, IngressBackendMut<'m>;
        ingress_class_name = "ingressClassName": Text<'v, 'p>, Text<'static, 'static>;
        rules = "rules": List<IngressRule<'v, 'p>>, List<IngressRuleMut<'m>>;
        tls = "tls": List<IngressTLS<'v, 'p>>, List<IngressTLSMut<'m>>;
    }
}

structs! {
    IngressBackend IngressBackendMut {
        resource = "resource": crate::core::v1::TypedLocalObjectReference<'v, 'p>, crate::core::v1::TypedLocalObjectReferenceMut<'m>;
        service_name = "serviceName": Text<'v, 'p>, Text<'static, 'static>;
        service_port = "servicePort": IntOrString<'v, 'p>, IntOrString<'static, 'static>;
    }
}

structs! {
    IngressTLS IngressTLSMut {
        hosts = "hosts": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        secret_name = "secretName": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    IngressRule IngressRuleMut {
        host = "host": Text<'v, 'p>, Text<'static, 'static>;
        http = "http": HTTPIngressRuleValue<'v, 'p>, HTTPIngressRuleValueMut<'m>;
    }
}

structs! {
    HTTPIngressRuleValue HTTPIngressRuleValueMut {
        paths = "paths": List<HTTPIngressPath<'v, 'p>>, List<HTTPIngressPathMut<'m>>;
    }
}

structs! {
    HTTPIngressPath HTTPIngressPathMut {
        backend = "backend": IngressBackend<'v, 'p>, IngressBackendMut<'m>;
        path = "path": Text<'v, 'p>, Text<'static, 'static>;
        path_type = "pathType": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    IngressStatus IngressStatusMut {
        load_balancer = "loadBalancer": IngressLoadBalancerStatus<'v, 'p>, IngressLoadBalancerStatusMut<'m>;
    }
}

structs! {
    IngressLoadBalancerStatus IngressLoadBalancerStatusMut {
        ingress = "ingress": List<IngressLoadBalancerIngress<'v, 'p>>, List<IngressLoadBalancerIngressMut<'m>>;
    }
}

structs! {
    IngressLoadBalancerIngress IngressLoadBalancerIngressMut {
        hostname = "hostname": Text<'v, 'p>, Text<'static, 'static>;
        ip = "ip": Text<'v, 'p>, Text<'static, 'static>;
        ports = "ports": List<IngressPortStatus<'v, 'p>>, List<IngressPortStatusMut<'m>>;
    }
}

structs! {
    IngressPortStatus IngressPortStatusMut {
        error = "error": Text<'v, 'p>, Text<'static, 'static>;
        port = "port": Integer<'v, 'p>, Integer<'static, 'static>;
        protocol = "protocol": Text<'v, 'p>, Text<'static, 'static>;
    }
}

