// Written by `cargo xtask codegen` from the facts about upstream's types. Do not edit.

//! Types of `apps/v1beta1`.

use crate::declare::prelude::*;

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

