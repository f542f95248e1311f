// Written by `cargo xtask codegen` from the facts about upstream's types. Do not edit.

//! Types of `authorization/v1`.

use crate::declare::prelude::*;

structs! {
    FieldSelectorAttributes FieldSelectorAttributesMut {
        raw_selector = "rawSelector": Text<'v, 'p>, Text<'static, 'static>;
        requirements = "requirements": List<crate::meta::v1::FieldSelectorRequirement<'v, 'p>>, List<crate::meta::v1::FieldSelectorRequirementMut<'m>>;
    }
}

structs! {
    LabelSelectorAttributes LabelSelectorAttributesMut {
        raw_selector = "rawSelector": Text<'v, 'p>, Text<'static, 'static>;
        requirements = "requirements": List<crate::meta::v1::LabelSelectorRequirement<'v, 'p>>, List<crate::meta::v1::LabelSelectorRequirementMut<'m>>;
    }
}

kinds! {
    LocalSubjectAccessReview LocalSubjectAccessReviewMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": SubjectAccessReviewSpec<'v, 'p>, SubjectAccessReviewSpecMut<'m>;
        status = "status": SubjectAccessReviewStatus<'v, 'p>, SubjectAccessReviewStatusMut<'m>;
    }
}

structs! {
    SubjectAccessReviewSpec SubjectAccessReviewSpecMut {
        extra = "extra": Map<List<Text<'v, 'p>>>, Map<List<Text<'static, 'static>>>;
        groups = "groups": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        non_resource_attributes = "nonResourceAttributes": NonResourceAttributes<'v, 'p>, NonResourceAttributesMut<'m>;
        resource_attributes = "resourceAttributes": ResourceAttributes<'v, 'p>, ResourceAttributesMut<'m>;
        uid = "uid": Text<'v, 'p>, Text<'static, 'static>;
        user = "user": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    ResourceAttributes ResourceAttributesMut {
        field_selector = "fieldSelector": FieldSelectorAttributes<'v, 'p>, FieldSelectorAttributesMut<'m>;
        group = "group": Text<'v, 'p>, Text<'static, 'static>;
        label_selector = "labelSelector": LabelSelectorAttributes<'v, 'p>, LabelSelectorAttributesMut<'m>;
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        namespace = "namespace": Text<'v, 'p>, Text<'static, 'static>;
        resource = "resource": Text<'v, 'p>, Text<'static, 'static>;
        subresource = "subresource": Text<'v, 'p>, Text<'static, 'static>;
        verb = "verb": Text<'v, 'p>, Text<'static, 'static>;
        version = "version": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    NonResourceAttributes NonResourceAttributesMut {
        path = "path": Text<'v, 'p>, Text<'static, 'static>;
        verb = "verb": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    SubjectAccessReviewStatus SubjectAccessReviewStatusMut {
        allowed = "allowed": Boolean<'v, 'p>, Boolean<'static, 'static>;
        denied = "denied": Boolean<'v, 'p>, Boolean<'static, 'static>;
        evaluation_error = "evaluationError": Text<'v, 'p>, Text<'static, 'static>;
        reason = "reason": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    NonResourceRule NonResourceRuleMut {
        non_resource_urls = "nonResourceURLs": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        verbs = "verbs": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
    }
}

structs! {
    ResourceRule ResourceRuleMut {
        api_groups = "apiGroups": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        resource_names = "resourceNames": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        resources = "resources": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        verbs = "verbs": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
    }
}

kinds! {
    SelfSubjectAccessReview SelfSubjectAccessReviewMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": SelfSubjectAccessReviewSpec<'v, 'p>, SelfSubjectAccessReviewSpecMut<'m>;
        status = "status": SubjectAccessReviewStatus<'v, 'p>, SubjectAccessReviewStatusMut<'m>;
    }
}

structs! {
    SelfSubjectAccessReviewSpec SelfSubjectAccessReviewSpecMut {
        non_resource_attributes = "nonResourceAttributes": NonResourceAttributes<'v, 'p>, NonResourceAttributesMut<'m>;
        resource_attributes = "resourceAttributes": ResourceAttributes<'v, 'p>, ResourceAttributesMut<'m>;
    }
}

kinds! {
    SelfSubjectRulesReview SelfSubjectRulesReviewMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": SelfSubjectRulesReviewSpec<'v, 'p>, SelfSubjectRulesReviewSpecMut<'m>;
        status = "status": SubjectRulesReviewStatus<'v, 'p>, SubjectRulesReviewStatusMut<'m>;
    }
}

structs! {
    SelfSubjectRulesReviewSpec SelfSubjectRulesReviewSpecMut {
        namespace = "namespace": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    SubjectRulesReviewStatus SubjectRulesReviewStatusMut {
        evaluation_error = "evaluationError": Text<'v, 'p>, Text<'static, 'static>;
        incomplete = "incomplete": Boolean<'v, 'p>, Boolean<'static, 'static>;
        non_resource_rules = "nonResourceRules": List<NonResourceRule<'v, 'p>>, List<NonResourceRuleMut<'m>>;
        resource_rules = "resourceRules": List<ResourceRule<'v, 'p>>, List<ResourceRuleMut<'m>>;
    }
}

kinds! {
    SubjectAccessReview SubjectAccessReviewMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": SubjectAccessReviewSpec<'v, 'p>, SubjectAccessReviewSpecMut<'m>;
        status = "status": SubjectAccessReviewStatus<'v, 'p>, SubjectAccessReviewStatusMut<'m>;
    }
}

