// Written by `cargo xtask codegen` from the facts about upstream's types. Do not edit.

//! Types of `networking/v1`.

use crate::declare::prelude::*;

structs! {
    HTTPIngressPath HTTPIngressPathMut {
        backend = "backend": IngressBackend<'v, 'p>, IngressBackendMut<'m>;
        path = "path": Text<'v, 'p>, Text<'static, 'static>;
        path_type = "pathType": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    IngressBackend IngressBackendMut {
        resource = "resource": crate::core::v1::TypedLocalObjectReference<'v, 'p>, crate::core::v1::TypedLocalObjectReferenceMut<'m>;
        service = "service": IngressServiceBackend<'v, 'p>, IngressServiceBackendMut<'m>;
    }
}

structs! {
    IngressServiceBackend IngressServiceBackendMut {
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        port = "port": ServiceBackendPort<'v, 'p>, ServiceBackendPortMut<'m>;
    }
}

structs! {
    ServiceBackendPort ServiceBackendPortMut {
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        number = "number": Integer<'v, 'p>, Integer<'static, 'static>;
    }
}

structs! {
    HTTPIngressRuleValue HTTPIngressRuleValueMut {
        paths = "paths": List<HTTPIngressPath<'v, 'p>>, List<HTTPIngressPathMut<'m>>;
    }
}

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

structs! {
    IPBlock IPBlockMut {
        cidr = "cidr": Text<'v, 'p>, Text<'static, 'static>;
        except = "except": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
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
        default_backend = "defaultBackend": IngressBackend<'v, 'p>, IngressBackendMut<'m>;
        ingress_class_name = "ingressClassName": Text<'v, 'p>, Text<'static, 'static>;
        rules = "rules": List<IngressRule<'v, 'p>>, List<IngressRuleMut<'m>>;
        tls = "tls": List<IngressTLS<'v, 'p>>, List<IngressTLSMut<'m>>;
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

kinds! {
    IngressClass IngressClassMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": IngressClassSpec<'v, 'p>, IngressClassSpecMut<'m>;
    }
}

structs! {
    IngressClassSpec IngressClassSpecMut {
        controller = "controller": Text<'v, 'p>, Text<'static, 'static>;
        parameters = "parameters": IngressClassParametersReference<'v, 'p>, IngressClassParametersReferenceMut<'m>;
    }
}

structs! {
    IngressClassParametersReference IngressClassParametersReferenceMut {
        api_group = "apiGroup": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        name = "name": Text<'v, 'p>, Text<'static, 'static>;
        namespace = "namespace": Text<'v, 'p>, Text<'static, 'static>;
        scope = "scope": Text<'v, 'p>, Text<'static, 'static>;
    }
}

kinds! {
    NetworkPolicy NetworkPolicyMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": NetworkPolicySpec<'v, 'p>, NetworkPolicySpecMut<'m>;
    }
}

structs! {
    NetworkPolicySpec NetworkPolicySpecMut {
        egress = "egress": List<NetworkPolicyEgressRule<'v, 'p>>, List<NetworkPolicyEgressRuleMut<'m>>;
        ingress = "ingress": List<NetworkPolicyIngressRule<'v, 'p>>, List<NetworkPolicyIngressRuleMut<'m>>;
        pod_selector = "podSelector": crate::meta::v1::LabelSelector<'v, 'p>, crate::meta::v1::LabelSelectorMut<'m>;
        policy_types = "policyTypes": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
    }
}

structs! {
    NetworkPolicyIngressRule NetworkPolicyIngressRuleMut {
        from = "from": List<NetworkPolicyPeer<'v, 'p>>, List<NetworkPolicyPeerMut<'m>>;
        ports = "ports": List<NetworkPolicyPort<'v, 'p>>, List<NetworkPolicyPortMut<'m>>;
    }
}

structs! {
    NetworkPolicyPort NetworkPolicyPortMut {
        end_port = "endPort": Integer<'v, 'p>, Integer<'static, 'static>;
        port = "port": IntOrString<'v, 'p>, IntOrString<'static, 'static>;
        protocol = "protocol": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    NetworkPolicyPeer NetworkPolicyPeerMut {
        ip_block = "ipBlock": IPBlock<'v, 'p>, IPBlockMut<'m>;
        namespace_selector = "namespaceSelector": crate::meta::v1::LabelSelector<'v, 'p>, crate::meta::v1::LabelSelectorMut<'m>;
        pod_selector = "podSelector": crate::meta::v1::LabelSelector<'v, 'p>, crate::meta::v1::LabelSelectorMut<'m>;
    }
}

structs! {
    NetworkPolicyEgressRule NetworkPolicyEgressRuleMut {
        ports = "ports": List<NetworkPolicyPort<'v, 'p>>, List<NetworkPolicyPortMut<'m>>;
        to = "to": List<NetworkPolicyPeer<'v, 'p>>, List<NetworkPolicyPeerMut<'m>>;
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

