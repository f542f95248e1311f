use std::os::unix::fs::PermissionsExt as _;

use clap::Parser as _;
use x509_parser::prelude::{FromDer as _, X509Certificate};

use super::*;

fn options(directory: &Path, flags: &[&str]) -> Options {
    let data_dir = format!("--data-dir={}", directory.display());
    Options::parse_from([&["apiserver", &data_dir], flags].concat())
}

#[test]
fn identities_are_made_once_and_used_again() {
    let directory = tempfile::tempdir().unwrap();
    let first = Identities::ensure(&options(directory.path(), &[])).unwrap();
    let again = Identities::ensure(&options(directory.path(), &[])).unwrap();
    assert_eq!(first.serving_chain, again.serving_chain);
    assert_eq!(first.admin.certificate_pem, again.admin.certificate_pem);

    let admin = certificates(Path::new("admin"), &first.admin.certificate_pem).unwrap();
    assert_eq!(subject(&admin[0]), "CN=admin, O=system:masters");
    for file in ["ca.key", "apiserver.key", "admin.key"] {
        let mode = fs::metadata(directory.path().join("pki").join(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
}

fn subject(der: &CertificateDer<'_>) -> String {
    X509Certificate::from_der(der).unwrap().1.subject().to_string()
}

#[test]
fn the_kubelet_client_is_no_administrator_and_one_that_was_is_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let options = options(directory.path(), &[]);
    let pki = options.certificate_directory();
    create_private_directory(&pki).unwrap();
    let authority = Authority::ensure(&pki).unwrap();
    // As earlier versions made it.
    authority.ensure_leaf(&pki, "apiserver-kubelet-client", &Purpose::Administrator).unwrap();
    let identity = kubelet_identity(&options).unwrap();
    assert_eq!(subject(&identity.chain[0]), "CN=kube-apiserver-kubelet-client");
    let again = kubelet_identity(&options).unwrap();
    assert_eq!(identity.chain, again.chain);
}

#[test]
fn what_no_longer_fits_is_made_anew() {
    let directory = tempfile::tempdir().unwrap();
    let first = Identities::ensure(&options(directory.path(), &[])).unwrap();
    let moved = Identities::ensure(&options(directory.path(), &["--bind-address=127.0.0.9"])).unwrap();
    assert_ne!(first.serving_chain, moved.serving_chain, "a new address needs a new certificate");
    assert_eq!(first.admin.certificate_pem, moved.admin.certificate_pem);

    for file in ["ca.crt", "ca.key"] {
        fs::remove_file(directory.path().join("pki").join(file)).unwrap();
    }
    let replaced = Identities::ensure(&options(directory.path(), &["--bind-address=127.0.0.9"])).unwrap();
    assert_ne!(moved.server_ca_pem, replaced.server_ca_pem);
    assert_ne!(moved.serving_chain, replaced.serving_chain);
    assert_ne!(moved.admin.certificate_pem, replaced.admin.certificate_pem);

    fs::remove_file(directory.path().join("pki/ca.key")).unwrap();
    let refused = Identities::ensure(&options(directory.path(), &[])).map(|_| ()).unwrap_err();
    assert!(refused.to_string().contains("its key"), "{refused}");
}

#[test]
fn given_certificates_are_served_and_broken_ones_named() {
    let (directory, given) = (tempfile::tempdir().unwrap(), tempfile::tempdir().unwrap());
    let other = Identities::ensure(&options(given.path(), &[])).unwrap();
    let pki = given.path().join("pki");
    let flags = [
        format!("--tls-cert-file={}", pki.join("apiserver.crt").display()),
        format!("--tls-private-key-file={}", pki.join("apiserver.key").display()),
        format!("--client-ca-file={}", pki.join("ca.crt").display()),
    ];
    let flags = flags.each_ref().map(String::as_str);
    let identities = Identities::ensure(&options(directory.path(), &flags)).unwrap();
    assert_eq!(identities.serving_chain, other.serving_chain);
    assert_eq!(identities.client_authorities.len(), 2);

    let broken = directory.path().join("broken.crt");
    fs::write(&broken, "zork").unwrap();
    let flag = format!("--client-ca-file={}", broken.display());
    let refused = Identities::ensure(&options(directory.path(), &[&flag])).map(|_| ()).unwrap_err();
    assert!(refused.to_string().contains("broken.crt"), "{refused}");
}
