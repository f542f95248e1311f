// Written by `cargo xtask codegen` from the facts about upstream's types. Do not edit.

//! Types of `extensions/v1beta1`.

use crate::declare::prelude::*;

kinds! {
    DaemonSet DaemonSetMut {
        spec = "spec": DaemonSetSpec<'v, 'p>, DaemonSetSpecMut<'m>;
    }
}

structs! {
    DaemonSetSpec DaemonSetSpecMut {
        template_generation = "templateGeneration": Integer<'v, 'p>, Integer<'static, 'static>;
    }
}

kinds! {
    Deployment DeploymentMut {
        spec = "spec": DeploymentSpec<'v, 'p>, DeploymentSpecMut<'m>;
    }
}

structs! {
    DeploymentSpec DeploymentSpecMut {
        rollback_to = "rollbackTo": RollbackConfig<'v, 'p>, RollbackConfigMut<'m>;
    }
}

structs! {
    RollbackConfig RollbackConfigMut {
        revision = "revision": Integer<'v, 'p>, Integer<'static, 'static>;
    }
}

kinds! {
    Ingress IngressMut {
        spec = "spec": IngressSpec<'v, 'p>, IngressSpecMut<'m>;
    }
}

structs! {
    IngressSpec IngressSpecMut {
        backend = "backend": IngressBackend<'v, 'p>, IngressBackendMut<'m>;
        rules = "rules": List<IngressRule<'v, 'p>>, List<IngressRuleMut<'m>>;
    }
}

structs! {
    IngressBackend IngressBackendMut {
        service_name = "serviceName": Text<'v, 'p>, Text<'static, 'static>;
        service_port = "servicePort": IntOrString<'v, 'p>, IntOrString<'static, 'static>;
    }
}

structs! {
    IngressRule IngressRuleMut {
        http = "http": HTTPIngressRuleValue<'v, 'p>, HTTPIngressRuleValueMut<'m>;
    }
}

structs! {
    HTTPIngressRuleValue HTTPIngressRuleValueMut {
        paths = "paths": List<HTTPIngressPath<'v, 'p>>, List<HTTPIngressPathMut<'m>>;
    }
}

structs! {
    HTTPIngressPath HTTPIngressPathMut {
        backend = "backend": IngressBackend<'v, 'p>, IngressBackendMut<'m>;
    }
}

