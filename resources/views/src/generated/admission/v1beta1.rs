// Written by `cargo xtask codegen` from the facts about upstream's types. Do not edit.

//! Types of `admission/v1beta1`.

use crate::declare::prelude::*;

kinds! {
    AdmissionReview AdmissionReviewMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        request = "request": AdmissionRequest<'v, 'p>, AdmissionRequestMut<'m>;
        response = "response": AdmissionResponse<'v, 'p>, AdmissionResponseMut<'m>;
    }
}

structs! {
    AdmissionRequest AdmissionRequestMut {
        dry_run = "dryRun": Boolean<'v, 'p>, Boolean<'static, 'static>;
        kind = "kind": crate::meta::v1::GroupVersionKind<'v, 'p>, crate::meta::v1::GroupVersionKindMut<'m>;
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        namespace = "namespace": Text<'v, 'p>, Text<'static, 'static>;
        object = "object": Raw<'v, 'p>, Raw<'static, 'static>;
        old_object = "oldObject": Raw<'v, 'p>, Raw<'static, 'static>;
        operation = "operation": Text<'v, 'p>, Text<'static, 'static>;
        options = "options": Raw<'v, 'p>, Raw<'static, 'static>;
        request_kind = "requestKind": crate::meta::v1::GroupVersionKind<'v, 'p>, crate::meta::v1::GroupVersionKindMut<'m>;
        request_resource = "requestResource": crate::meta::v1::GroupVersionResource<'v, 'p>, crate::meta::v1::GroupVersionResourceMut<'m>;
        request_sub_resource = "requestSubResource": Text<'v, 'p>, Text<'static, 'static>;
        resource = "resource": crate::meta::v1::GroupVersionResource<'v, 'p>, crate::meta::v1::GroupVersionResourceMut<'m>;
        sub_resource = "subResource": Text<'v, 'p>, Text<'static, 'static>;
        uid = "uid": Text<'v, 'p>, Text<'static, 'static>;
        user_info = "userInfo": crate::authentication::v1::UserInfo<'v, 'p>, crate::authentication::v1::UserInfoMut<'m>;
    }
}

structs! {
    AdmissionResponse AdmissionResponseMut {
        allowed = "allowed": Boolean<'v, 'p>, Boolean<'static, 'static>;
        audit_annotations = "auditAnnotations": Map<Text<'v, 'p>>, Map<Text<'static, 'static>>;
        patch = "patch": Bytes<'v, 'p>, Bytes<'static, 'static>;
        patch_type = "patchType": Text<'v, 'p>, Text<'static, 'static>;
        status = "status": crate::meta::v1::StatusPart<'v, 'p>, crate::meta::v1::StatusPartMut<'m>;
        uid = "uid": Text<'v, 'p>, Text<'static, 'static>;
        warnings = "warnings": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
    }
}

