// Written by `cargo xtask codegen` from the facts about upstream's types. Do not edit.

//! Types of `authorization/v1beta1`.

use crate::declare::prelude::*;

kinds! {
    SubjectAccessReview SubjectAccessReviewMut {
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
        group = "group": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        non_resource_attributes = "nonResourceAttributes": NonResourceAttributes<'v, 'p>, NonResourceAttributesMut<'m>;
        resource_attributes = "resourceAttributes": ResourceAttributes<'v, 'p>, ResourceAttributesMut<'m>;
        uid = "uid": Text<'v, 'p>, Text<'static, 'static>;
        user = "user": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    ResourceAttributes ResourceAttributesMut {
        field_selector = "fieldSelector": crate::authorization::v1::FieldSelectorAttributes<'v, 'p>, crate::authorization::v1::FieldSelectorAttributesMut<'m>;
        group = "group": Text<'v, 'p>, Text<'static, 'static>;
        label_selector = "labelSelector": crate::authorization::v1::LabelSelectorAttributes<'v, 'p>, crate::authorization::v1::LabelSelectorAttributesMut<'m>;
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

