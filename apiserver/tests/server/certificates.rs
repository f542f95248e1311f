//! Certificates and keys as operators have them: authorities that serve themselves, keys in every form of PEM files.

use apiserver::testing::{TestServer, TestServerBuilder};
use base64::Engine as _;
use base64::engine::general_purpose::STANDARD;
use http::Response;
use http_body_util::{BodyExt as _, Full};
use hyper::body::{Bytes, Incoming};
use rcgen::{BasicConstraints, CertificateParams, DnType, ExtendedKeyUsagePurpose, IsCa, KeyPair};
use rustls_pki_types::PrivateKeyDer;
use rustls_pki_types::pem::PemObject as _;
use serde_json::{Value, json};

use crate::tls_server::TlsServer;

const WEBHOOKS: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations";
const MAPS: &str = "/api/v1/namespaces/default/configmaps";
const RSA_KEY: &str = include_str!("authentication/rsa_key.pem");

/// Refuses what it is asked about, so that the client learns that it was asked.
async fn refuse(request: http::Request<Incoming>) -> Result<Response<Full<Bytes>>, hyper::Error> {
    let body = request.into_body().collect().await?.to_bytes();
    let review: Value = serde_json::from_slice(&body).unwrap();
    let answer = json!({
        "apiVersion": "admission.k8s.io/v1", "kind": "AdmissionReview",
        "response": {"uid": review["request"]["uid"], "allowed": false, "status": {"message": "I was asked"}},
    });
    Ok(Response::new(Full::new(answer.to_string().into())))
}

/// Returns the parameters of a certificate that can issue others, as `generate_cert --ca` of Go makes them.
fn authority_for(name: &str) -> CertificateParams {
    let mut parameters = CertificateParams::new([name.to_owned()]).unwrap();
    parameters.distinguished_name.push(DnType::CommonName, "Acme Co");
    parameters.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
    parameters.extended_key_usages = vec![ExtendedKeyUsagePurpose::ServerAuth];
    parameters
}

#[tokio::test]
async fn a_webhook_may_serve_with_the_authority_that_it_is_checked_with() {
    let server = TestServer::builder().memory().start().await.unwrap();
    let plain = CertificateParams::new(["127.0.0.1".to_owned()]).unwrap();
    let mut for_clients = authority_for("127.0.0.1");
    for_clients.extended_key_usages = vec![ExtendedKeyUsagePurpose::ClientAuth];
    let mut without_usage = authority_for("127.0.0.1");
    without_usage.extended_key_usages.clear();
    let mut expired = authority_for("127.0.0.1");
    expired.not_after = rcgen::date_time_ymd(2020, 1, 1);
    let mut future = authority_for("127.0.0.1");
    future.not_before = rcgen::date_time_ymd(2090, 1, 1);
    let other = authority_for("127.0.0.1").self_signed(&KeyPair::generate().unwrap()).unwrap().pem();
    let (itself, both, another) = ("ITSELF".to_owned(), format!("{other}ITSELF"), other);
    for (case, parameters, bundle, expected) in [
        ("an authority", authority_for("127.0.0.1"), &itself, "I was asked"),
        ("without usage", without_usage, &itself, "I was asked"),
        ("no authority", plain, &itself, "I was asked"),
        ("one of two", authority_for("127.0.0.1"), &both, "I was asked"),
        ("another one", authority_for("127.0.0.1"), &another, "failed to verify certificate: x509: "),
        ("for clients", for_clients, &itself, "x509: certificate specifies an incompatible key usage"),
        ("expired", expired, &itself, "x509: certificate has expired or is not yet valid"),
        ("future", future, &itself, "x509: certificate has expired or is not yet valid"),
        ("elsewhere", authority_for("example.com"), &itself, "x509: certificate is not valid for this name"),
    ] {
        let hook = TlsServer::start_with(parameters, None, refuse).await;
        let bundle = STANDARD.encode(bundle.replace("ITSELF", &hook.ca_pem));
        let configuration = json!({"metadata": {"name": "w"}, "webhooks": [{
            "name": "w.example.com", "sideEffects": "None", "admissionReviewVersions": ["v1"],
            "clientConfig": {"url": hook.url("/"), "caBundle": bundle},
            "rules": [{"operations": ["CREATE"], "apiGroups": [""], "apiVersions": ["v1"],
                       "resources": ["configmaps"]}],
        }]});
        server.call("POST", WEBHOOKS, &configuration).await.unwrap();
        let map = json!({"metadata": {"generateName": "m-"}});
        // The configuration counts soon.
        let refused = loop {
            match server.call("POST", MAPS, &map).await {
                Ok(_) => tokio::time::sleep(std::time::Duration::from_millis(20)).await,
                Err(refused) => break refused.to_string(),
            }
        };
        assert!(refused.contains(expected) && !refused.contains("Other("), "{case}: {refused}");
        server.call("DELETE", &format!("{WEBHOOKS}/w"), &Value::Null).await.unwrap();
        while server.call("POST", MAPS, &map).await.is_err() {
            tokio::time::sleep(std::time::Duration::from_millis(20)).await;
        }
    }
    server.stop().await;
}

/// Returns the key inside of the form PKCS#8, as a PEM text.
fn unwrapped(pem: &str, label: &str) -> String {
    let key = PrivateKeyDer::from_pem_slice(pem.as_bytes()).unwrap();
    let der = key.secret_der();
    // Two sequences, the version and the algorithm precede the octets of the key, which begin with a sequence.
    let begin = if label.starts_with("RSA") { 26 } else { 29 };
    let body = STANDARD.encode(&der[begin..]);
    format!("-----BEGIN {label}-----\n{body}\n-----END {label}-----\n")
}

#[tokio::test]
async fn keys_are_read_in_every_form_of_pem_files() {
    const CURVE: &str = "-----BEGIN EC PARAMETERS-----\nBggqhkjOPQMBBw==\n-----END EC PARAMETERS-----\n";
    let elliptic = KeyPair::generate().unwrap().serialize_pem();
    let sec1 = unwrapped(&elliptic, "EC PRIVATE KEY");
    for (form, pem, algorithm) in [
        ("PKCS#8", elliptic.clone(), "ES256"),
        ("SEC 1", sec1.clone(), "ES256"),
        ("openssl ecparam", format!("{CURVE}{sec1}"), "ES256"),
        ("PKCS#8 of RSA", RSA_KEY.to_owned(), "RS256"),
        ("PKCS#1", unwrapped(RSA_KEY, "RSA PRIVATE KEY"), "RS256"),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let write = |name: &str, text: &str| {
            let path = directory.path().join(name);
            std::fs::write(&path, text).unwrap();
            path.display().to_string()
        };
        let pair = KeyPair::from_pem(if algorithm == "ES256" { &elliptic } else { RSA_KEY }).unwrap();
        let names = ["localhost".to_owned(), "127.0.0.1".to_owned()];
        let certificate = CertificateParams::new(names).unwrap().self_signed(&pair).unwrap().pem();
        let (key, certificate) = (write("key", &pem), write("crt", &certificate));
        let builder = TestServer::builder().memory();
        let flags = [
            format!("--service-account-signing-key-file={key}"),
            // The public key in a certificate.
            format!("--service-account-key-file={certificate}"),
            format!("--tls-cert-file={certificate}"),
            format!("--tls-private-key-file={key}"),
            format!("--tls-sni-cert-key={certificate},{key}"),
            format!("--proxy-client-cert-file={certificate}"),
            format!("--proxy-client-key-file={key}"),
            format!("--kubelet-client-certificate={certificate}"),
            format!("--kubelet-client-key={key}"),
        ];
        let started = flags.into_iter().fold(builder, TestServerBuilder::flag).start().await;
        let server = started.unwrap_or_else(|error| panic!("{form}: {error}"));
        let accounts = "/api/v1/namespaces/default/serviceaccounts";
        server.call("POST", accounts, &json!({"metadata": {"name": "robot"}})).await.unwrap();
        let token = server.call("POST", &format!("{accounts}/robot/token"), &json!({})).await.unwrap();
        let review = json!({"spec": {"token": token["status"]["token"]}});
        let review =
            server.call("POST", "/apis/authentication.k8s.io/v1/tokenreviews", &review).await.unwrap();
        assert_eq!(review["status"]["user"]["username"], "system:serviceaccount:default:robot", "{form}");
        let keys = server.call("GET", "/openid/v1/jwks", &Value::Null).await.unwrap();
        assert_eq!(keys["keys"][0]["alg"], algorithm, "{form}");
        assert_eq!(keys["keys"].as_array().unwrap().len(), 1, "{form}: the certificate has the same key");
        server.stop().await;
    }
}

#[tokio::test]
async fn keys_that_cannot_be_used_are_refused_with_the_file_and_the_reason() {
    let key = KeyPair::generate().unwrap();
    let certificate = CertificateParams::new(["a".to_owned()]).unwrap().self_signed(&key).unwrap().pem();
    let other = KeyPair::generate().unwrap().serialize_pem();
    let encrypted = other.replace("PRIVATE KEY", "ENCRYPTED PRIVATE KEY");
    let half = other.split_once("-----END").unwrap().0.to_owned();
    for (case, text, reason) in [
        ("nothing", "", "it has no private key (PEM)"),
        ("a certificate", &certificate, "it has no private key (PEM)"),
        ("encrypted", &encrypted, "its key is encrypted"),
        ("half", &half, "a PEM section has no end"),
        ("garbage", "-----BEGIN EC PRIVATE KEY-----\nAAAA\n-----END EC PRIVATE KEY-----\n", ""),
        ("another", &other, "it is not the key of the certificate in "),
    ] {
        let directory = tempfile::tempdir().unwrap();
        let (certificate_path, path) = (directory.path().join("crt"), directory.path().join("the.key"));
        std::fs::write(&certificate_path, &certificate).unwrap();
        std::fs::write(&path, text).unwrap();
        let tls = vec![
            format!("--tls-cert-file={}", certificate_path.display()),
            format!("--tls-private-key-file={}", path.display()),
        ];
        let signing = vec![format!("--service-account-signing-key-file={}", path.display())];
        for flags in [tls, signing] {
            if case == "another" && flags.len() == 1 {
                continue;
            }
            let builder = TestServer::builder().memory();
            let started =
                flags.iter().fold(builder, |builder, flag| builder.flag(flag.clone())).start().await;
            let Err(refused) = started else { panic!("{case}: {flags:?}") };
            let refused = refused.to_string();
            assert!(refused.contains("the.key") && refused.contains(reason), "{case}: {refused}");
            assert!(!refused.contains("Other(") && !refused.contains("Some("), "{case}: {refused}");
        }
    }
}
