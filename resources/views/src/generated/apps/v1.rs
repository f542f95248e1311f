// Written by `cargo xtask codegen` from the facts about upstream's types. Do not edit.

//! Types of `apps/v1`.

use crate::declare::prelude::*;

kinds! {
    ControllerRevision ControllerRevisionMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        data = "data": Raw<'v, 'p>, Raw<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        revision = "revision": Integer<'v, 'p>, Integer<'static, 'static>;
    }
}

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
    ReplicaSet ReplicaSetMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": ReplicaSetSpec<'v, 'p>, ReplicaSetSpecMut<'m>;
        status = "status": ReplicaSetStatus<'v, 'p>, ReplicaSetStatusMut<'m>;
    }
}

structs! {
    ReplicaSetSpec ReplicaSetSpecMut {
        min_ready_seconds = "minReadySeconds": Integer<'v, 'p>, Integer<'static, 'static>;
        replicas = "replicas": Integer<'v, 'p>, Integer<'static, 'static>;
        selector = "selector": crate::meta::v1::LabelSelector<'v, 'p>, crate::meta::v1::LabelSelectorMut<'m>;
        template = "template": crate::core::v1::PodTemplateSpec<'v, 'p>, crate::core::v1::PodTemplateSpecMut<'m>;
    }
}

structs! {
    ReplicaSetStatus ReplicaSetStatusMut {
        available_replicas = "availableReplicas": Integer<'v, 'p>, Integer<'static, 'static>;
        conditions = "conditions": List<ReplicaSetCondition<'v, 'p>>, List<ReplicaSetConditionMut<'m>>;
        fully_labeled_replicas = "fullyLabeledReplicas": Integer<'v, 'p>, Integer<'static, 'static>;
        observed_generation = "observedGeneration": Integer<'v, 'p>, Integer<'static, 'static>;
        ready_replicas = "readyReplicas": Integer<'v, 'p>, Integer<'static, 'static>;
        replicas = "replicas": Integer<'v, 'p>, Integer<'static, 'static>;
        terminating_replicas = "terminatingReplicas": Integer<'v, 'p>, Integer<'static, 'static>;
    }
}

structs! {
    ReplicaSetCondition ReplicaSetConditionMut {
        last_transition_time = "lastTransitionTime": Time<'v, 'p>, Time<'static, 'static>;
        message = "message": Text<'v, 'p>, Text<'static, 'static>;
        reason = "reason": Text<'v, 'p>, Text<'static, 'static>;
        status = "status": Text<'v, 'p>, Text<'static, 'static>;
        r#type = "type": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    RollingUpdateStatefulSetStrategy RollingUpdateStatefulSetStrategyMut {
        max_unavailable = "maxUnavailable": IntOrString<'v, 'p>, IntOrString<'static, 'static>;
        partition = "partition": Integer<'v, 'p>, Integer<'static, 'static>;
    }
}

kinds! {
    StatefulSet StatefulSetMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": StatefulSetSpec<'v, 'p>, StatefulSetSpecMut<'m>;
        status = "status": StatefulSetStatus<'v, 'p>, StatefulSetStatusMut<'m>;
    }
}

structs! {
    StatefulSetSpec StatefulSetSpecMut {
        min_ready_seconds = "minReadySeconds": Integer<'v, 'p>, Integer<'static, 'static>;
        ordinals = "ordinals": StatefulSetOrdinals<'v, 'p>, StatefulSetOrdinalsMut<'m>;
        persistent_volume_claim_retention_policy = "persistentVolumeClaimRetentionPolicy": StatefulSetPersistentVolumeClaimRetentionPolicy<'v, 'p>, StatefulSetPersistentVolumeClaimRetentionPolicyMut<'m>;
        pod_management_policy = "podManagementPolicy": Text<'v, 'p>, Text<'static, 'static>;
        replicas = "replicas": Integer<'v, 'p>, Integer<'static, 'static>;
        revision_history_limit = "revisionHistoryLimit": Integer<'v, 'p>, Integer<'static, 'static>;
        selector = "selector": crate::meta::v1::LabelSelector<'v, 'p>, crate::meta::v1::LabelSelectorMut<'m>;
        service_name = "serviceName": Text<'v, 'p>, Text<'static, 'static>;
        template = "template": crate::core::v1::PodTemplateSpec<'v, 'p>, crate::core::v1::PodTemplateSpecMut<'m>;
        update_strategy = "updateStrategy": StatefulSetUpdateStrategy<'v, 'p>, StatefulSetUpdateStrategyMut<'m>;
        volume_claim_templates = "volumeClaimTemplates": List<crate::core::v1::PersistentVolumeClaimPart<'v, 'p>>, List<crate::core::v1::PersistentVolumeClaimPartMut<'m>>;
    }
}

structs! {
    StatefulSetUpdateStrategy StatefulSetUpdateStrategyMut {
        rolling_update = "rollingUpdate": RollingUpdateStatefulSetStrategy<'v, 'p>, RollingUpdateStatefulSetStrategyMut<'m>;
        r#type = "type": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    StatefulSetPersistentVolumeClaimRetentionPolicy StatefulSetPersistentVolumeClaimRetentionPolicyMut {
        when_deleted = "whenDeleted": Text<'v, 'p>, Text<'static, 'static>;
        when_scaled = "whenScaled": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    StatefulSetOrdinals StatefulSetOrdinalsMut {
        start = "start": Integer<'v, 'p>, Integer<'static, 'static>;
    }
}

structs! {
    StatefulSetStatus StatefulSetStatusMut {
        available_replicas = "availableReplicas": Integer<'v, 'p>, Integer<'static, 'static>;
        collision_count = "collisionCount": Integer<'v, 'p>, Integer<'static, 'static>;
        conditions = "conditions": List<StatefulSetCondition<'v, 'p>>, List<StatefulSetConditionMut<'m>>;
        current_replicas = "currentReplicas": Integer<'v, 'p>, Integer<'static, 'static>;
        current_revision = "currentRevision": Text<'v, 'p>, Text<'static, 'static>;
        observed_generation = "observedGeneration": Integer<'v, 'p>, Integer<'static, 'static>;
        ready_replicas = "readyReplicas": Integer<'v, 'p>, Integer<'static, 'static>;
        replicas = "replicas": Integer<'v, 'p>, Integer<'static, 'static>;
        update_revision = "updateRevision": Text<'v, 'p>, Text<'static, 'static>;
        updated_replicas = "updatedReplicas": Integer<'v, 'p>, Integer<'static, 'static>;
    }
}

structs! {
    StatefulSetCondition StatefulSetConditionMut {
        last_transition_time = "lastTransitionTime": Time<'v, 'p>, Time<'static, 'static>;
        message = "message": Text<'v, 'p>, Text<'static, 'static>;
        reason = "reason": Text<'v, 'p>, Text<'static, 'static>;
        status = "status": Text<'v, 'p>, Text<'static, 'static>;
        r#type = "type": Text<'v, 'p>, Text<'static, 'static>;
    }
}

