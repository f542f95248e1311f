// Written by `cargo xtask codegen` from the facts about upstream's types. Do not edit.

//! Types of `rbac/v1alpha1`.

use crate::declare::prelude::*;

kinds! {
    ClusterRole ClusterRoleMut {
        aggregation_rule = "aggregationRule": AggregationRule<'v, 'p>, AggregationRuleMut<'m>;
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        rules = "rules": List<PolicyRule<'v, 'p>>, List<PolicyRuleMut<'m>>;
    }
}

structs! {
    PolicyRule PolicyRuleMut {
        api_groups = "apiGroups": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        non_resource_urls = "nonResourceURLs": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        resource_names = "resourceNames": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        resources = "resources": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        verbs = "verbs": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
    }
}

structs! {
    AggregationRule AggregationRuleMut {
        cluster_role_selectors = "clusterRoleSelectors": List<crate::meta::v1::LabelSelector<'v, 'p>>, List<crate::meta::v1::LabelSelectorMut<'m>>;
    }
}

kinds! {
    ClusterRoleBinding ClusterRoleBindingMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        role_ref = "roleRef": RoleRef<'v, 'p>, RoleRefMut<'m>;
        subjects = "subjects": List<Subject<'v, 'p>>, List<SubjectMut<'m>>;
    }
}

structs! {
    Subject SubjectMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        namespace = "namespace": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    RoleRef RoleRefMut {
        api_group = "apiGroup": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
    }
}

kinds! {
    Role RoleMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        rules = "rules": List<PolicyRule<'v, 'p>>, List<PolicyRuleMut<'m>>;
    }
}

kinds! {
    RoleBinding RoleBindingMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        role_ref = "roleRef": RoleRef<'v, 'p>, RoleRefMut<'m>;
        subjects = "subjects": List<Subject<'v, 'p>>, List<SubjectMut<'m>>;
    }
}

