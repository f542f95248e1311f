// Written by `cargo xtask codegen` from the facts about upstream's types. Do not edit.

//! Types of `authentication/v1beta1`.

use crate::declare::prelude::*;

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

structs! {
    UserInfo UserInfoMut {
        extra = "extra": Map<List<Text<'v, 'p>>>, Map<List<Text<'static, 'static>>>;
        groups = "groups": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        uid = "uid": Text<'v, 'p>, Text<'static, 'static>;
        username = "username": Text<'v, 'p>, Text<'static, 'static>;
    }
}

