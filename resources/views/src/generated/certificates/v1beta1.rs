// Written by `cargo xtask codegen` from the facts about upstream's types. Do not edit.

//! Types of `certificates/v1beta1`.

use crate::declare::prelude::*;

kinds! {
    ClusterTrustBundle ClusterTrustBundleMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": ClusterTrustBundleSpec<'v, 'p>, ClusterTrustBundleSpecMut<'m>;
    }
}

structs! {
    ClusterTrustBundleSpec ClusterTrustBundleSpecMut {
        signer_name = "signerName": Text<'v, 'p>, Text<'static, 'static>;
        trust_bundle = "trustBundle": Text<'v, 'p>, Text<'static, 'static>;
    }
}

kinds! {
    PodCertificateRequest PodCertificateRequestMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": PodCertificateRequestSpec<'v, 'p>, PodCertificateRequestSpecMut<'m>;
        status = "status": PodCertificateRequestStatus<'v, 'p>, PodCertificateRequestStatusMut<'m>;
    }
}

structs! {
    PodCertificateRequestSpec PodCertificateRequestSpecMut {
        max_expiration_seconds = "maxExpirationSeconds": Integer<'v, 'p>, Integer<'static, 'static>;
        node_name = "nodeName": Text<'v, 'p>, Text<'static, 'static>;
        node_uid = "nodeUID": Text<'v, 'p>, Text<'static, 'static>;
        pkix_public_key = "pkixPublicKey": Bytes<'v, 'p>, Bytes<'static, 'static>;
        pod_name = "podName": Text<'v, 'p>, Text<'static, 'static>;
        pod_uid = "podUID": Text<'v, 'p>, Text<'static, 'static>;
        proof_of_possession = "proofOfPossession": Bytes<'v, 'p>, Bytes<'static, 'static>;
        service_account_name = "serviceAccountName": Text<'v, 'p>, Text<'static, 'static>;
        service_account_uid = "serviceAccountUID": Text<'v, 'p>, Text<'static, 'static>;
        signer_name = "signerName": Text<'v, 'p>, Text<'static, 'static>;
        stub_pkcs10_request = "stubPKCS10Request": Bytes<'v, 'p>, Bytes<'static, 'static>;
        unverified_user_annotations = "unverifiedUserAnnotations": Map<Text<'v, 'p>>, Map<Text<'static, 'static>>;
    }
}

structs! {
    PodCertificateRequestStatus PodCertificateRequestStatusMut {
        begin_refresh_at = "beginRefreshAt": Time<'v, 'p>, Time<'static, 'static>;
        certificate_chain = "certificateChain": Text<'v, 'p>, Text<'static, 'static>;
        conditions = "conditions": List<crate::meta::v1::Condition<'v, 'p>>, List<crate::meta::v1::ConditionMut<'m>>;
        not_after = "notAfter": Time<'v, 'p>, Time<'static, 'static>;
        not_before = "notBefore": Time<'v, 'p>, Time<'static, 'static>;
    }
}

