// Written by `cargo xtask codegen` from the facts about upstream's types. Do not edit.

//! Types of `certificates/v1`.

use crate::declare::prelude::*;

kinds! {
    CertificateSigningRequest CertificateSigningRequestMut {
        api_version = "apiVersion": Text<'v, 'p>, Text<'static, 'static>;
        kind = "kind": Text<'v, 'p>, Text<'static, 'static>;
        metadata = "metadata": crate::meta::v1::ObjectMeta<'v, 'p>, crate::meta::v1::ObjectMetaMut<'m>;
        spec = "spec": CertificateSigningRequestSpec<'v, 'p>, CertificateSigningRequestSpecMut<'m>;
        status = "status": CertificateSigningRequestStatus<'v, 'p>, CertificateSigningRequestStatusMut<'m>;
    }
}

structs! {
    CertificateSigningRequestSpec CertificateSigningRequestSpecMut {
        expiration_seconds = "expirationSeconds": Integer<'v, 'p>, Integer<'static, 'static>;
        extra = "extra": Map<List<Text<'v, 'p>>>, Map<List<Text<'static, 'static>>>;
        groups = "groups": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        request = "request": Bytes<'v, 'p>, Bytes<'static, 'static>;
        signer_name = "signerName": Text<'v, 'p>, Text<'static, 'static>;
        uid = "uid": Text<'v, 'p>, Text<'static, 'static>;
        usages = "usages": List<Text<'v, 'p>>, List<Text<'static, 'static>>;
        username = "username": Text<'v, 'p>, Text<'static, 'static>;
    }
}

structs! {
    CertificateSigningRequestStatus CertificateSigningRequestStatusMut {
        certificate = "certificate": Bytes<'v, 'p>, Bytes<'static, 'static>;
        conditions = "conditions": List<CertificateSigningRequestCondition<'v, 'p>>, List<CertificateSigningRequestConditionMut<'m>>;
    }
}

structs! {
    CertificateSigningRequestCondition CertificateSigningRequestConditionMut {
        last_transition_time = "lastTransitionTime": Time<'v, 'p>, Time<'static, 'static>;
        last_update_time = "lastUpdateTime": Time<'v, 'p>, Time<'static, 'static>;
        message = "message": Text<'v, 'p>, Text<'static, 'static>;
        reason = "reason": Text<'v, 'p>, Text<'static, 'static>;
        status = "status": Text<'v, 'p>, Text<'static, 'static>;
        r#type = "type": Text<'v, 'p>, Text<'static, 'static>;
    }
}

