// Written by `cargo xtask codegen` from the facts about upstream's types. Do not edit.

//! Types of `scheduling/v1alpha2`.

use crate::declare::prelude::*;

structs! {
    BasicSchedulingPolicy BasicSchedulingPolicyMut {
    }
}

structs! {
    GangSchedulingPolicy GangSchedulingPolicyMut {
        min_count = "minCount": Integer<'v, 'p>, Integer<'static, 'static>;
    }
}

kinds! {
    PodGroup PodGroupMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": PodGroupSpec<'v, 'p>, PodGroupSpecMut<'m>;
        status = "status": PodGroupStatus<'v, 'p>, PodGroupStatusMut<'m>;
    }
}

structs! {
    PodGroupSpec PodGroupSpecMut {
        disruption_mode = "disruptionMode": Text<'v, 'p>, Text<'static, 'static>;
        pod_group_template_ref = "podGroupTemplateRef": PodGroupTemplateReference<'v, 'p>, PodGroupTemplateReferenceMut<'m>;
        priority = "priority": Integer<'v, 'p>, Integer<'static, 'static>;
        priority_class_name = "priorityClassName": Text<'v, 'p>, Text<'static, 'static>;
        resource_claims = "resourceClaims": List<PodGroupResourceClaim<'v, 'p>>, List<PodGroupResourceClaimMut<'m>>;
        scheduling_constraints = "schedulingConstraints": PodGroupSchedulingConstraints<'v, 'p>, PodGroupSchedulingConstraintsMut<'m>;
        scheduling_policy = "schedulingPolicy": PodGroupSchedulingPolicy<'v, 'p>, PodGroupSchedulingPolicyMut<'m>;
    }
}

structs! {
    PodGroupTemplateReference PodGroupTemplateReferenceMut {
        workload = "workload": WorkloadPodGroupTemplateReference<'v, 'p>, WorkloadPodGroupTemplateReferenceMut<'m>;
    }
}

structs! {
    WorkloadPodGroupTemplateReference WorkloadPodGroupTemplateReferenceMut {
        pod_group_template_name = "podGroupTemplateName": Text<'v, 'p>, Text<'static, 'static>;
        workload_name = "workloadName": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    PodGroupSchedulingPolicy PodGroupSchedulingPolicyMut {
        basic = "basic": BasicSchedulingPolicy<'v, 'p>, BasicSchedulingPolicyMut<'m>;
        gang = "gang": GangSchedulingPolicy<'v, 'p>, GangSchedulingPolicyMut<'m>;
    }
}

structs! {
    PodGroupSchedulingConstraints PodGroupSchedulingConstraintsMut {
        topology = "topology": List<TopologyConstraint<'v, 'p>>, List<TopologyConstraintMut<'m>>;
    }
}

structs! {
    TopologyConstraint TopologyConstraintMut {
        key = "key": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    PodGroupResourceClaim PodGroupResourceClaimMut {
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        resource_claim_name = "resourceClaimName": Text<'v, 'p>, Text<'static, 'static>;
        resource_claim_template_name = "resourceClaimTemplateName": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    PodGroupStatus PodGroupStatusMut {
        conditions = "conditions": List<crate::meta::v1::Condition<'v, 'p>>, List<crate::meta::v1::ConditionMut<'m>>;
        resource_claim_statuses = "resourceClaimStatuses": List<PodGroupResourceClaimStatus<'v, 'p>>, List<PodGroupResourceClaimStatusMut<'m>>;
    }
}

structs! {
    PodGroupResourceClaimStatus PodGroupResourceClaimStatusMut {
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        resource_claim_name = "resourceClaimName": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    PodGroupTemplate PodGroupTemplateMut {
        disruption_mode = "disruptionMode": Text<'v, 'p>, Text<'static, 'static>;
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        priority = "priority": Integer<'v, 'p>, Integer<'static, 'static>;
        priority_class_name = "priorityClassName": Text<'v, 'p>, Text<'static, 'static>;
        resource_claims = "resourceClaims": List<PodGroupResourceClaim<'v, 'p>>, List<PodGroupResourceClaimMut<'m>>;
        scheduling_constraints = "schedulingConstraints": PodGroupSchedulingConstraints<'v, 'p>, PodGroupSchedulingConstraintsMut<'m>;
        scheduling_policy = "schedulingPolicy": PodGroupSchedulingPolicy<'v, 'p>, PodGroupSchedulingPolicyMut<'m>;
    }
}

structs! {
    TypedLocalObjectReference TypedLocalObjectReferenceMut {
        api_group = "apiGroup": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
    }
}

kinds! {
    Workload WorkloadMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": WorkloadSpec<'v, 'p>, WorkloadSpecMut<'m>;
    }
}

structs! {
    WorkloadSpec WorkloadSpecMut {
        controller_ref = "controllerRef": TypedLocalObjectReference<'v, 'p>, TypedLocalObjectReferenceMut<'m>;
        pod_group_templates = "podGroupTemplates": List<PodGroupTemplate<'v, 'p>>, List<PodGroupTemplateMut<'m>>;
    }
}

