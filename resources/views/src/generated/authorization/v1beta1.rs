// Written by `cargo xtask codegen` from the facts about upstream's types. Do not edit.

//! Types of `authorization/v1beta1`.

use crate::declare::prelude::*;

kinds! {
    SubjectAccessReview SubjectAccessReviewMut {
        spec = "spec": SubjectAccessReviewSpec<'v, 'p>, SubjectAccessReviewSpecMut<'m>;
    }
}

structs! {
    SubjectAccessReviewSpec SubjectAccessReviewSpecMut {
        group = "group": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
    }
}

