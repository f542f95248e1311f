use registry_core::api::{GroupVersionKind, GroupVersionResource};
use registry_core::context::UserInfo;
use registry_core::rest::access::{AccessDecision, InvalidToken, KnownToken};
use serde_json::json;

use super::*;

/// Allows one verb on one signer.
struct Allows(&'static str, &'static str);

#[async_trait]
impl AccessReviewer for Allows {
    async fn decide(&self, _: &UserInfo, wanted: &WantedAccess) -> AccessDecision {
        let WantedAccess::Resource(access) = wanted else { return AccessDecision::default() };
        let is_signer = access.resource == "signers" && access.group == GROUP;
        let allowed = is_signer && access.verb == self.0 && access.name == self.1;
        AccessDecision { allowed, ..AccessDecision::default() }
    }

    async fn user_of_token(&self, _: &str, _: &[String]) -> Result<KnownToken, InvalidToken> {
        Err(InvalidToken::Unknown)
    }
}

fn attributes(
    resource: &'static str,
    subresource: &'static str,
    operation: Operation,
) -> Attributes<'static> {
    let resource = GroupVersionResource { group: GROUP, version: "v1", resource };
    let kind = GroupVersionKind { group: GROUP, version: "v1", kind: "CertificateSigningRequest" };
    Attributes { subresource, ..Attributes::new(operation, resource, kind, "one") }
}

fn request(certificate: &str) -> Object {
    Object::from_value(json!({
        "metadata": {"name": "one"},
        "spec": {"signerName": "example.com/a"},
        "status": {"certificate": certificate},
    }))
    .unwrap()
}

#[tokio::test]
async fn approval_needs_the_verb_on_the_signer_or_its_domain() {
    let context = RequestContext::default();
    let attributes = attributes("certificatesigningrequests", "approval", Operation::Update);
    let (new, old) = (request(""), request(""));
    for allowed in ["example.com/a", "example.com/*"] {
        let plugin = CertificateApproval(Arc::new(Allows("approve", allowed)));
        assert!(
            plugin.validate(&context, ObjectWrite::new(&attributes, Some(&new), Some(&old))).await.is_ok()
        );
    }
    for (verb, name) in
        [("approve", "example.com/b"), ("approve", "example.org/*"), ("sign", "example.com/a")]
    {
        let plugin = CertificateApproval(Arc::new(Allows(verb, name)));
        let refused = plugin
            .validate(&context, ObjectWrite::new(&attributes, Some(&new), Some(&old)))
            .await
            .unwrap_err();
        assert_eq!(
            refused.message,
            "certificatesigningrequests.certificates.k8s.io \"one\" is forbidden: user not permitted to approve \
             requests with signerName \"example.com/a\""
        );
    }
}

#[tokio::test]
async fn only_signers_issue_certificates() {
    let context = RequestContext::default();
    let attributes = attributes("certificatesigningrequests", "status", Operation::Update);
    let plugin = CertificateSigning(Arc::new(Allows("sign", "example.com/b")));
    let same = plugin
        .validate(&context, ObjectWrite::new(&attributes, Some(&request("")), Some(&request(""))))
        .await;
    assert!(same.is_ok());
    let issued = plugin
        .validate(&context, ObjectWrite::new(&attributes, Some(&request("x")), Some(&request(""))))
        .await;
    assert!(issued.unwrap_err().message.ends_with("sign requests with signerName \"example.com/a\""));
    // The signer in the stored request counts, not one in the update.
    let mut moved = request("x");
    moved.set(&["spec", "signerName"], "example.com/b".into());
    assert!(
        plugin
            .validate(&context, ObjectWrite::new(&attributes, Some(&moved), Some(&request(""))))
            .await
            .is_err()
    );
}

#[tokio::test]
async fn trust_is_attested_by_those_who_may() {
    let context = RequestContext::default();
    let attributes = attributes("clustertrustbundles", "", Operation::Create);
    let allowing = TrustBundleAttest(Arc::new(Allows("attest", "example.com/*")));
    assert!(
        allowing.validate(&context, ObjectWrite::new(&attributes, Some(&request("")), None)).await.is_ok()
    );
    let denying = TrustBundleAttest(Arc::new(Allows("attest", "example.org/*")));
    let refused = denying
        .validate(&context, ObjectWrite::new(&attributes, Some(&request("")), None))
        .await
        .unwrap_err();
    assert!(refused.message.ends_with("user not permitted to attest for signerName \"example.com/a\""));
}
