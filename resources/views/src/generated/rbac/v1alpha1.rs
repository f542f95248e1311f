// Written by `cargo xtask codegen` from the facts about upstream's types. Do not edit.

//! Types of `rbac/v1alpha1`.

use crate::declare::prelude::*;

kinds! {
    ClusterRoleBinding ClusterRoleBindingMut {
        subjects = "subjects": List<Subject<'v, 'p>>, List<SubjectMut<'m>>;
    }
}

structs! {
    Subject SubjectMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
    }
}

kinds! {
    RoleBinding RoleBindingMut {
        subjects = "subjects": List<Subject<'v, 'p>>, List<SubjectMut<'m>>;
    }
}

