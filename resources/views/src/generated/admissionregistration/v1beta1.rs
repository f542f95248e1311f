// Written by `cargo xtask codegen` from the facts about upstream's types. Do not edit.

//! Types of `admissionregistration/v1beta1`.

use crate::declare::prelude::*;

structs! {
    ApplyConfiguration ApplyConfigurationMut {
        expression = "expression": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    JSONPatch JSONPatchMut {
        expression = "expression": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    MatchCondition MatchConditionMut {
        expression = "expression": Text<'v, 'p>, Text<'static, 'static>;
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    MatchResources MatchResourcesMut {
        exclude_resource_rules = "excludeResourceRules": List<NamedRuleWithOperations<'v, 'p>>, List<NamedRuleWithOperationsMut<'m>>;
        match_policy = "matchPolicy": Text<'v, 'p>, Text<'static, 'static>;
        namespace_selector = "namespaceSelector": crate::meta::v1::LabelSelector<'v, 'p>, crate::meta::v1::LabelSelectorMut<'m>;
        object_selector = "objectSelector": crate::meta::v1::LabelSelector<'v, 'p>, crate::meta::v1::LabelSelectorMut<'m>;
        resource_rules = "resourceRules": List<NamedRuleWithOperations<'v, 'p>>, List<NamedRuleWithOperationsMut<'m>>;
    }
}

structs! {
    NamedRuleWithOperations NamedRuleWithOperationsMut {
        api_groups = "apiGroups": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        api_versions = "apiVersions": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        operations = "operations": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        resource_names = "resourceNames": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        resources = "resources": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        scope = "scope": Text<'v, 'p>, Text<'static, 'static>;
    }
}

kinds! {
    MutatingAdmissionPolicy MutatingAdmissionPolicyMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": MutatingAdmissionPolicySpec<'v, 'p>, MutatingAdmissionPolicySpecMut<'m>;
    }
}

structs! {
    MutatingAdmissionPolicySpec MutatingAdmissionPolicySpecMut {
        failure_policy = "failurePolicy": Text<'v, 'p>, Text<'static, 'static>;
        match_conditions = "matchConditions": List<MatchCondition<'v, 'p>>, List<MatchConditionMut<'m>>;
        match_constraints = "matchConstraints": MatchResources<'v, 'p>, MatchResourcesMut<'m>;
        mutations = "mutations": List<Mutation<'v, 'p>>, List<MutationMut<'m>>;
        param_kind = "paramKind": ParamKind<'v, 'p>, ParamKindMut<'m>;
        reinvocation_policy = "reinvocationPolicy": Text<'v, 'p>, Text<'static, 'static>;
        variables = "variables": List<Variable<'v, 'p>>, List<VariableMut<'m>>;
    }
}

structs! {
    ParamKind ParamKindMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    Variable VariableMut {
        expression = "expression": Text<'v, 'p>, Text<'static, 'static>;
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    Mutation MutationMut {
        apply_configuration = "applyConfiguration": ApplyConfiguration<'v, 'p>, ApplyConfigurationMut<'m>;
        json_patch = "jsonPatch": JSONPatch<'v, 'p>, JSONPatchMut<'m>;
        patch_type = "patchType": Text<'v, 'p>, Text<'static, 'static>;
    }
}

kinds! {
    MutatingAdmissionPolicyBinding MutatingAdmissionPolicyBindingMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": MutatingAdmissionPolicyBindingSpec<'v, 'p>, MutatingAdmissionPolicyBindingSpecMut<'m>;
    }
}

structs! {
    MutatingAdmissionPolicyBindingSpec MutatingAdmissionPolicyBindingSpecMut {
        match_resources = "matchResources": MatchResources<'v, 'p>, MatchResourcesMut<'m>;
        param_ref = "paramRef": ParamRef<'v, 'p>, ParamRefMut<'m>;
        policy_name = "policyName": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    ParamRef ParamRefMut {
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        namespace = "namespace": Text<'v, 'p>, Text<'static, 'static>;
        parameter_not_found_action = "parameterNotFoundAction": Text<'v, 'p>, Text<'static, 'static>;
        selector = "selector": crate::meta::v1::LabelSelector<'v, 'p>, crate::meta::v1::LabelSelectorMut<'m>;
    }
}

kinds! {
    ValidatingAdmissionPolicy ValidatingAdmissionPolicyMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": ValidatingAdmissionPolicySpec<'v, 'p>, ValidatingAdmissionPolicySpecMut<'m>;
        status = "status": ValidatingAdmissionPolicyStatus<'v, 'p>, ValidatingAdmissionPolicyStatusMut<'m>;
    }
}

structs! {
    ValidatingAdmissionPolicySpec ValidatingAdmissionPolicySpecMut {
        audit_annotations = "auditAnnotations": List<AuditAnnotation<'v, 'p>>, List<AuditAnnotationMut<'m>>;
        failure_policy = "failurePolicy": Text<'v, 'p>, Text<'static, 'static>;
        match_conditions = "matchConditions": List<MatchCondition<'v, 'p>>, List<MatchConditionMut<'m>>;
        match_constraints = "matchConstraints": MatchResources<'v, 'p>, MatchResourcesMut<'m>;
        param_kind = "paramKind": ParamKind<'v, 'p>, ParamKindMut<'m>;
        validations = "validations": List<Validation<'v, 'p>>, List<ValidationMut<'m>>;
        variables = "variables": List<Variable<'v, 'p>>, List<VariableMut<'m>>;
    }
}

structs! {
    Validation ValidationMut {
        expression = "expression": Text<'v, 'p>, Text<'static, 'static>;
        message = "message": Text<'v, 'p>, Text<'static, 'static>;
        message_expression = "messageExpression": Text<'v, 'p>, Text<'static, 'static>;
        reason = "reason": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    AuditAnnotation AuditAnnotationMut {
        key = "key": Text<'v, 'p>, Text<'static, 'static>;
        value_expression = "valueExpression": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    ValidatingAdmissionPolicyStatus ValidatingAdmissionPolicyStatusMut {
        conditions = "conditions": List<crate::meta::v1::Condition<'v, 'p>>, List<crate::meta::v1::ConditionMut<'m>>;
        observed_generation = "observedGeneration": Integer<'v, 'p>, Integer<'static, 'static>;
        type_checking = "typeChecking": TypeChecking<'v, 'p>, TypeCheckingMut<'m>;
    }
}

structs! {
    TypeChecking TypeCheckingMut {
        expression_warnings = "expressionWarnings": List<ExpressionWarning<'v, 'p>>, List<ExpressionWarningMut<'m>>;
    }
}

structs! {
    ExpressionWarning ExpressionWarningMut {
        field_ref = "fieldRef": Text<'v, 'p>, Text<'static, 'static>;
        warning = "warning": Text<'v, 'p>, Text<'static, 'static>;
    }
}

kinds! {
    ValidatingAdmissionPolicyBinding ValidatingAdmissionPolicyBindingMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": ValidatingAdmissionPolicyBindingSpec<'v, 'p>, ValidatingAdmissionPolicyBindingSpecMut<'m>;
    }
}

structs! {
    ValidatingAdmissionPolicyBindingSpec ValidatingAdmissionPolicyBindingSpecMut {
        match_resources = "matchResources": MatchResources<'v, 'p>, MatchResourcesMut<'m>;
        param_ref = "paramRef": ParamRef<'v, 'p>, ParamRefMut<'m>;
        policy_name = "policyName": Text<'v, 'p>, Text<'static, 'static>;
        validation_actions = "validationActions": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
    }
}

