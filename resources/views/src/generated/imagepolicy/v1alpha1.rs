// Written by `cargo xtask codegen` from the facts about upstream's types. Do not edit.

//! Types of `imagepolicy/v1alpha1`.

use crate::declare::prelude::*;

kinds! {
    ImageReview ImageReviewMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": ImageReviewSpec<'v, 'p>, ImageReviewSpecMut<'m>;
        status = "status": ImageReviewStatus<'v, 'p>, ImageReviewStatusMut<'m>;
    }
}

structs! {
    ImageReviewSpec ImageReviewSpecMut {
        annotations = "annotations": Map<Text<'v, 'p>>, Map<Text<'static, 'static>>;
        containers = "containers": List<ImageReviewContainerSpec<'v, 'p>>, List<ImageReviewContainerSpecMut<'m>>;
        namespace = "namespace": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    ImageReviewContainerSpec ImageReviewContainerSpecMut {
        image = "image": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    ImageReviewStatus ImageReviewStatusMut {
        allowed = "allowed": Boolean<'v, 'p>, Boolean<'static, 'static>;
        audit_annotations = "auditAnnotations": Map<Text<'v, 'p>>, Map<Text<'static, 'static>>;
        reason = "reason": Text<'v, 'p>, Text<'static, 'static>;
    }
}

