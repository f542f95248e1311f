// Written by `cargo xtask codegen` from the facts about upstream's types. Do not edit.

//! Types of `apiregistration/v1`.

use crate::declare::prelude::*;

kinds! {
    APIService APIServiceMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": APIServiceSpec<'v, 'p>, APIServiceSpecMut<'m>;
        status = "status": APIServiceStatus<'v, 'p>, APIServiceStatusMut<'m>;
    }
}

structs! {
    APIServiceSpec APIServiceSpecMut {
        ca_bundle = "caBundle": Bytes<'v, 'p>, Bytes<'static, 'static>;
        group = "group": Text<'v, 'p>, Text<'static, 'static>;
        group_priority_minimum = "groupPriorityMinimum": Integer<'v, 'p>, Integer<'static, 'static>;
        insecure_skip_tls_verify = "insecureSkipTLSVerify": Boolean<'v, 'p>, Boolean<'static, 'static>;
        service = "service": ServiceReference<'v, 'p>, ServiceReferenceMut<'m>;
        version = "version": Text<'v, 'p>, Text<'static, 'static>;
        version_priority = "versionPriority": Integer<'v, 'p>, Integer<'static, 'static>;
    }
}

structs! {
    ServiceReference ServiceReferenceMut {
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        namespace = "namespace": Text<'v, 'p>, Text<'static, 'static>;
        port = "port": Integer<'v, 'p>, Integer<'static, 'static>;
    }
}

structs! {
    APIServiceStatus APIServiceStatusMut {
        conditions = "conditions": List<APIServiceCondition<'v, 'p>>, List<APIServiceConditionMut<'m>>;
    }
}

structs! {
    APIServiceCondition APIServiceConditionMut {
        last_transition_time = "lastTransitionTime": Time<'v, 'p>, Time<'static, 'static>;
        message = "message": Text<'v, 'p>, Text<'static, 'static>;
        reason = "reason": Text<'v, 'p>, Text<'static, 'static>;
        status = "status": Text<'v, 'p>, Text<'static, 'static>;
        r#type = "type": Text<'v, 'p>, Text<'static, 'static>;
    }
}

