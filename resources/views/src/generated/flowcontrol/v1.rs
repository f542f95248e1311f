// Written by `cargo xtask codegen` from the facts about upstream's types. Do not edit.

//! Types of `flowcontrol/v1`.

use crate::declare::prelude::*;

structs! {
    ExemptPriorityLevelConfiguration ExemptPriorityLevelConfigurationMut {
        lendable_percent = "lendablePercent": Integer<'v, 'p>, Integer<'static, 'static>;
        nominal_concurrency_shares = "nominalConcurrencyShares": Integer<'v, 'p>, Integer<'static, 'static>;
    }
}

structs! {
    FlowDistinguisherMethod FlowDistinguisherMethodMut {
        r#type = "type": Text<'v, 'p>, Text<'static, 'static>;
    }
}

kinds! {
    FlowSchema FlowSchemaMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": FlowSchemaSpec<'v, 'p>, FlowSchemaSpecMut<'m>;
        status = "status": FlowSchemaStatus<'v, 'p>, FlowSchemaStatusMut<'m>;
    }
}

structs! {
    FlowSchemaSpec FlowSchemaSpecMut {
        distinguisher_method = "distinguisherMethod": FlowDistinguisherMethod<'v, 'p>, FlowDistinguisherMethodMut<'m>;
        matching_precedence = "matchingPrecedence": Integer<'v, 'p>, Integer<'static, 'static>;
        priority_level_configuration = "priorityLevelConfiguration": PriorityLevelConfigurationReference<'v, 'p>, PriorityLevelConfigurationReferenceMut<'m>;
        rules = "rules": List<PolicyRulesWithSubjects<'v, 'p>>, List<PolicyRulesWithSubjectsMut<'m>>;
    }
}

structs! {
    PriorityLevelConfigurationReference PriorityLevelConfigurationReferenceMut {
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    PolicyRulesWithSubjects PolicyRulesWithSubjectsMut {
        non_resource_rules = "nonResourceRules": List<NonResourcePolicyRule<'v, 'p>>, List<NonResourcePolicyRuleMut<'m>>;
        resource_rules = "resourceRules": List<ResourcePolicyRule<'v, 'p>>, List<ResourcePolicyRuleMut<'m>>;
        subjects = "subjects": List<Subject<'v, 'p>>, List<SubjectMut<'m>>;
    }
}

structs! {
    Subject SubjectMut {
        group = "group": GroupSubject<'v, 'p>, GroupSubjectMut<'m>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        service_account = "serviceAccount": ServiceAccountSubject<'v, 'p>, ServiceAccountSubjectMut<'m>;
        user = "user": UserSubject<'v, 'p>, UserSubjectMut<'m>;
    }
}

structs! {
    UserSubject UserSubjectMut {
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    GroupSubject GroupSubjectMut {
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    ServiceAccountSubject ServiceAccountSubjectMut {
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        namespace = "namespace": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    ResourcePolicyRule ResourcePolicyRuleMut {
        api_groups = "apiGroups": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        cluster_scope = "clusterScope": Boolean<'v, 'p>, Boolean<'static, 'static>;
        namespaces = "namespaces": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        resources = "resources": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        verbs = "verbs": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
    }
}

structs! {
    NonResourcePolicyRule NonResourcePolicyRuleMut {
        non_resource_urls = "nonResourceURLs": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        verbs = "verbs": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
    }
}

structs! {
    FlowSchemaStatus FlowSchemaStatusMut {
        conditions = "conditions": List<FlowSchemaCondition<'v, 'p>>, List<FlowSchemaConditionMut<'m>>;
    }
}

structs! {
    FlowSchemaCondition FlowSchemaConditionMut {
        last_transition_time = "lastTransitionTime": Time<'v, 'p>, Time<'static, 'static>;
        message = "message": Text<'v, 'p>, Text<'static, 'static>;
        reason = "reason": Text<'v, 'p>, Text<'static, 'static>;
        status = "status": Text<'v, 'p>, Text<'static, 'static>;
        r#type = "type": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    LimitResponse LimitResponseMut {
        queuing = "queuing": QueuingConfiguration<'v, 'p>, QueuingConfigurationMut<'m>;
        r#type = "type": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    QueuingConfiguration QueuingConfigurationMut {
        hand_size = "handSize": Integer<'v, 'p>, Integer<'static, 'static>;
        queue_length_limit = "queueLengthLimit": Integer<'v, 'p>, Integer<'static, 'static>;
        queues = "queues": Integer<'v, 'p>, Integer<'static, 'static>;
    }
}

structs! {
    LimitedPriorityLevelConfiguration LimitedPriorityLevelConfigurationMut {
        borrowing_limit_percent = "borrowingLimitPercent": Integer<'v, 'p>, Integer<'static, 'static>;
        lendable_percent = "lendablePercent": Integer<'v, 'p>, Integer<'static, 'static>;
        limit_response = "limitResponse": LimitResponse<'v, 'p>, LimitResponseMut<'m>;
        nominal_concurrency_shares = "nominalConcurrencyShares": Integer<'v, 'p>, Integer<'static, 'static>;
    }
}

kinds! {
    PriorityLevelConfiguration PriorityLevelConfigurationMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": PriorityLevelConfigurationSpec<'v, 'p>, PriorityLevelConfigurationSpecMut<'m>;
        status = "status": PriorityLevelConfigurationStatus<'v, 'p>, PriorityLevelConfigurationStatusMut<'m>;
    }
}

structs! {
    PriorityLevelConfigurationSpec PriorityLevelConfigurationSpecMut {
        exempt = "exempt": ExemptPriorityLevelConfiguration<'v, 'p>, ExemptPriorityLevelConfigurationMut<'m>;
        limited = "limited": LimitedPriorityLevelConfiguration<'v, 'p>, LimitedPriorityLevelConfigurationMut<'m>;
        r#type = "type": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    PriorityLevelConfigurationStatus PriorityLevelConfigurationStatusMut {
        conditions = "conditions": List<PriorityLevelConfigurationCondition<'v, 'p>>, List<PriorityLevelConfigurationConditionMut<'m>>;
    }
}

structs! {
    PriorityLevelConfigurationCondition PriorityLevelConfigurationConditionMut {
        last_transition_time = "lastTransitionTime": Time<'v, 'p>, Time<'static, 'static>;
        message = "message": Text<'v, 'p>, Text<'static, 'static>;
        reason = "reason": Text<'v, 'p>, Text<'static, 'static>;
        status = "status": Text<'v, 'p>, Text<'static, 'static>;
        r#type = "type": Text<'v, 'p>, Text<'static, 'static>;
    }
}

