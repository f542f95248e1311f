// Written by `cargo xtask codegen` from the facts about upstream's types. Do not edit.

//! Types of `authentication/v1`.

use crate::declare::prelude::*;

structs! {
    BoundObjectReference BoundObjectReferenceMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        uid = "uid": Text<'v, 'p>, Text<'static, 'static>;
    }
}

kinds! {
    SelfSubjectReview SelfSubjectReviewMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        status = "status": SelfSubjectReviewStatus<'v, 'p>, SelfSubjectReviewStatusMut<'m>;
    }
}

structs! {
    SelfSubjectReviewStatus SelfSubjectReviewStatusMut {
        user_info = "userInfo": UserInfo<'v, 'p>, UserInfoMut<'m>;
    }
}

structs! {
    UserInfo UserInfoMut {
        extra = "extra": Map<List<Text<'v, 'p>>>, Map<List<Text<'static, 'static>>>;
        groups = "groups": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        uid = "uid": Text<'v, 'p>, Text<'static, 'static>;
        username = "username": Text<'v, 'p>, Text<'static, 'static>;
    }
}

kinds! {
    TokenRequest TokenRequestMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": TokenRequestSpec<'v, 'p>, TokenRequestSpecMut<'m>;
        status = "status": TokenRequestStatus<'v, 'p>, TokenRequestStatusMut<'m>;
    }
}

structs! {
    TokenRequestSpec TokenRequestSpecMut {
        audiences = "audiences": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        bound_object_ref = "boundObjectRef": BoundObjectReference<'v, 'p>, BoundObjectReferenceMut<'m>;
        expiration_seconds = "expirationSeconds": Integer<'v, 'p>, Integer<'static, 'static>;
    }
}

structs! {
    TokenRequestStatus TokenRequestStatusMut {
        expiration_timestamp = "expirationTimestamp": Time<'v, 'p>, Time<'static, 'static>;
        token = "token": Text<'v, 'p>, Text<'static, 'static>;
    }
}

kinds! {
    TokenReview TokenReviewMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": TokenReviewSpec<'v, 'p>, TokenReviewSpecMut<'m>;
        status = "status": TokenReviewStatus<'v, 'p>, TokenReviewStatusMut<'m>;
    }
}

structs! {
    TokenReviewSpec TokenReviewSpecMut {
        audiences = "audiences": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        token = "token": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    TokenReviewStatus TokenReviewStatusMut {
        audiences = "audiences": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        authenticated = "authenticated": Boolean<'v, 'p>, Boolean<'static, 'static>;
        error = "error": Text<'v, 'p>, Text<'static, 'static>;
        user = "user": UserInfo<'v, 'p>, UserInfoMut<'m>;
    }
}

