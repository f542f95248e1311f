// Written by `cargo xtask codegen` from the facts about upstream's types. Do not edit.

//! Types of `networking/v1beta1`.

use crate::declare::prelude::*;

kinds! {
    IPAddress IPAddressMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": IPAddressSpec<'v, 'p>, IPAddressSpecMut<'m>;
    }
}

structs! {
    IPAddressSpec IPAddressSpecMut {
        parent_ref = "parentRef": ParentReference<'v, 'p>, ParentReferenceMut<'m>;
    }
}

structs! {
    ParentReference ParentReferenceMut {
        group = "group": Text<'v, 'p>, Text<'static, 'static>;
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        namespace = "namespace": Text<'v, 'p>, Text<'static, 'static>;
        resource = "resource": Text<'v, 'p>, Text<'static, 'static>;
    }
}

kinds! {
    ServiceCIDR ServiceCIDRMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": ServiceCIDRSpec<'v, 'p>, ServiceCIDRSpecMut<'m>;
        status = "status": ServiceCIDRStatus<'v, 'p>, ServiceCIDRStatusMut<'m>;
    }
}

structs! {
    ServiceCIDRSpec ServiceCIDRSpecMut {
        cidrs = "cidrs": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
    }
}

structs! {
    ServiceCIDRStatus ServiceCIDRStatusMut {
        conditions = "conditions": List<crate::meta::v1::Condition<'v, 'p>>, List<crate::meta::v1::ConditionMut<'m>>;
    }
}

kinds! {
    Ingress IngressMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": IngressSpec<'v, 'p>, IngressSpecMut<'m>;
        status = "status": IngressStatus<'v, 'p>, IngressStatusMut<'m>;
    }
}

structs! {
    IngressSpec IngressSpecMut {
        backend = "backend": IngressBackend<'v, 'p>, IngressBackendMut<'m>;
        ingress_class_name = "ingressClassName": Text<'v, 'p>, Text<'static, 'static>;
        rules = "rules": List<IngressRule<'v, 'p>>, List<IngressRuleMut<'m>>;
        tls = "tls": List<IngressTLS<'v, 'p>>, List<IngressTLSMut<'m>>;
    }
}

structs! {
    IngressBackend IngressBackendMut {
        resource = "resource": crate::core::v1::TypedLocalObjectReference<'v, 'p>, crate::core::v1::TypedLocalObjectReferenceMut<'m>;
        service_name = "serviceName": Text<'v, 'p>, Text<'static, 'static>;
        service_port = "servicePort": IntOrString<'v, 'p>, IntOrString<'static, 'static>;
    }
}

structs! {
    IngressTLS IngressTLSMut {
        hosts = "hosts": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        secret_name = "secretName": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    IngressRule IngressRuleMut {
        host = "host": Text<'v, 'p>, Text<'static, 'static>;
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
        path = "path": Text<'v, 'p>, Text<'static, 'static>;
        path_type = "pathType": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    IngressStatus IngressStatusMut {
        load_balancer = "loadBalancer": IngressLoadBalancerStatus<'v, 'p>, IngressLoadBalancerStatusMut<'m>;
    }
}

structs! {
    IngressLoadBalancerStatus IngressLoadBalancerStatusMut {
        ingress = "ingress": List<IngressLoadBalancerIngress<'v, 'p>>, List<IngressLoadBalancerIngressMut<'m>>;
    }
}

structs! {
    IngressLoadBalancerIngress IngressLoadBalancerIngressMut {
        hostname = "hostname": Text<'v, 'p>, Text<'static, 'static>;
        ip = "ip": Text<'v, 'p>, Text<'static, 'static>;
        ports = "ports": List<IngressPortStatus<'v, 'p>>, List<IngressPortStatusMut<'m>>;
    }
}

structs! {
    IngressPortStatus IngressPortStatusMut {
        error = "error": Text<'v, 'p>, Text<'static, 'static>;
        port = "port": Integer<'v, 'p>, Integer<'static, 'static>;
        protocol = "protocol": Text<'v, 'p>, Text<'static, 'static>;
    }
}

