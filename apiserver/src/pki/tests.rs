use std::collections::BTreeMap;
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
    for file in ["ca.key", "apiserver.key", "admin.key", "aggregator-ca.key", "aggregator-client.key"] {
        let mode = fs::metadata(directory.path().join("pki").join(file)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{file}");
    }
}

#[test]
fn extension_servers_get_an_identity_of_an_authority_of_its_own() {
    let directory = tempfile::tempdir().unwrap();
    let start = now();
    let first = Identities::ensure_at(&options(directory.path(), &[]), start).unwrap();
    let shown = first.proxy_identity.clone().unwrap();
    assert_eq!(subject(&shown.cert[0]), "CN=front-proxy-client");
    let authority = certificates(Path::new("authority"), &first.proxy_ca_pem).unwrap();
    let (_, authority) = X509Certificate::from_der(&authority[0]).unwrap();
    let (_, leaf) = X509Certificate::from_der(&shown.cert[0]).unwrap();
    leaf.verify_signature(Some(authority.public_key())).unwrap();
    assert!(first.proxy_authorities.is_empty(), "it proves nothing to this server");
    assert!(!first.client_ca_pem.contains(first.proxy_ca_pem.trim()));

    let again = Identities::ensure_at(&options(directory.path(), &[]), start).unwrap();
    assert_eq!(again.proxy_identity.unwrap().cert, shown.cert);
    let later = Identities::ensure_at(&options(directory.path(), &[]), start + 300 * DAY).unwrap();
    assert_ne!(later.proxy_identity.unwrap().cert, shown.cert, "it is renewed");
    assert_eq!(later.proxy_ca_pem, first.proxy_ca_pem);

    // The operator's own: only one that fits its key.
    let pki = directory.path().join("pki");
    let file = |name: &str| pki.join(name).display().to_string();
    let [certificate, key] = [file("admin.crt"), file("admin.key")];
    let flags = [format!("--proxy-client-cert-file={certificate}"), format!("--proxy-client-key-file={key}")];
    let given =
        Identities::ensure(&options(directory.path(), &flags.each_ref().map(String::as_str))).unwrap();
    assert_eq!(subject(&given.proxy_identity.unwrap().cert[0]), "CN=admin, O=system:masters");
    assert!(given.proxy_ca_pem.is_empty());
    let flags = [flags[0].clone(), format!("--proxy-client-key-file={}", file("ca.key"))];
    let refused = Identities::ensure(&options(directory.path(), &flags.each_ref().map(String::as_str)));
    assert!(refused.map(|_| ()).unwrap_err().to_string().contains("ca.key"));
    let flag = format!("--requestheader-client-ca-file={}", file("ca.crt"));
    let given = Identities::ensure(&options(directory.path(), &[&flag])).unwrap();
    assert!(given.proxy_identity.is_none(), "as with kube-apiserver");
}

fn subject(der: &CertificateDer<'_>) -> String {
    X509Certificate::from_der(der).unwrap().1.subject().to_string()
}

#[test]
fn the_kubelet_client_is_no_administrator_and_one_that_was_is_replaced() {
    let directory = tempfile::tempdir().unwrap();
    let options = options(directory.path(), &[]);
    let pki = KeyDirectory::from_options(&options);
    pki.create().unwrap();
    let now = now();
    let mut notes = Notes::default();
    let authority = Authority::ensure(&pki, now, &mut notes).unwrap();
    // As created by earlier versions.
    authority.ensure_leaf(&pki, &Purpose::Administrator, now, &mut notes).unwrap();
    for extension in ["crt", "key"] {
        let path = |name: &str| pki.path().join(format!("{name}.{extension}"));
        fs::rename(path("admin"), path("apiserver-kubelet-client")).unwrap();
    }
    let identity = kubelet_identity(&options, now).unwrap();
    assert_eq!(subject(&identity.chain[0]), "CN=kube-apiserver-kubelet-client");
    let again = kubelet_identity(&options, now).unwrap();
    assert_eq!(identity.chain, again.chain);
}

#[test]
fn certificates_that_no_longer_fit_are_made_anew() {
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
    let directory = tempfile::tempdir().unwrap();
    let given = tempfile::tempdir().unwrap();
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

const DAY: i64 = 24 * 3600;
/// The files in the order in which they are written.
const FILES: [&str; 10] = [
    "ca.key",
    "ca.crt",
    "admin.key",
    "admin.crt",
    "apiserver.key",
    "apiserver.crt",
    "aggregator-ca.key",
    "aggregator-ca.crt",
    "aggregator-client.key",
    "aggregator-client.crt",
];

type Files = BTreeMap<&'static str, String>;

fn written(directory: &Path) -> Files {
    let text =
        |file: &&'static str| Some((*file, fs::read_to_string(directory.join("pki").join(file)).ok()?));
    FILES.iter().filter_map(text).collect()
}

/// Fails unless the identities are valid at that time, and issued by an authority that they trust.
fn assert_good(identities: &Identities, now: Moment) {
    let admin = certificates(Path::new("admin"), &identities.admin.certificate_pem).unwrap();
    for chain in [&identities.serving_chain, &admin] {
        assert!(Validity::from_chain(chain).unwrap().holds(now));
        let (_, leaf) = x509_parser::parse_x509_certificate(&chain[0]).unwrap();
        let signed = identities.client_authorities.iter().filter(|authority| {
            let (_, authority) = x509_parser::parse_x509_certificate(authority).unwrap();
            Validity::from_certificate(&authority).holds(now)
                && leaf.verify_signature(Some(authority.public_key())).is_ok()
        });
        assert_eq!(signed.count(), 1, "one authority signed it");
    }
}

#[test]
fn a_crash_between_any_two_files_is_repaired_by_the_next_start() {
    let now = now();
    let first = ["--bind-address=127.0.0.2"].as_slice();
    let cases: [(&str, Option<Moment>, &[&str], Moment); 5] = [
        ("first start", None, first, now),
        ("renewal", Some(now), first, now + 250 * DAY),
        ("another address", Some(now), &["--bind-address=127.0.0.3"], now),
        ("another range", Some(now), &["--service-cluster-ip-range=10.96.0.0/16"], now),
        ("an authority near its end", Some(now), first, now + 3000 * DAY),
    ];
    for (case, before, flags, after) in cases {
        let whole = tempfile::tempdir().unwrap();
        let mut old = Files::new();
        if let Some(before) = before {
            Identities::ensure_at(&options(whole.path(), first), before).unwrap();
            old = written(whole.path());
        }
        Identities::ensure_at(&options(whole.path(), flags), after).unwrap();
        let new = written(whole.path());
        for crashed_after in 0..=FILES.len() {
            let directory = tempfile::tempdir().unwrap();
            create_private_directory(&directory.path().join("pki")).unwrap();
            for (index, file) in FILES.iter().enumerate() {
                let text = if index < crashed_after { new.get(file) } else { old.get(file) };
                if let Some(text) = text {
                    write_private(&directory.path().join("pki").join(file), text).unwrap();
                }
            }
            let started = Identities::ensure_at(&options(directory.path(), flags), after);
            let started =
                started.unwrap_or_else(|error| panic!("{case}, after {crashed_after} files: {error}"));
            assert_good(&started, after);
            let trusted = certificates(Path::new("old"), old.get("ca.crt").map_or("", String::as_str));
            for authority in trusted.unwrap_or_default() {
                assert!(started.client_authorities.contains(&authority), "{case}: what was trusted still is");
            }
        }
    }
}

#[test]
fn an_authority_is_never_replaced_wherever_the_clock_goes() {
    let directory = tempfile::tempdir().unwrap();
    let options = options(directory.path(), &[]);
    let start = now();
    let first = Identities::ensure_at(&options, start).unwrap();
    for days in [3640, -3650, 0, 4000, 0, 300] {
        let moved = Identities::ensure_at(&options, start + days * DAY).unwrap();
        assert_good(&moved, start + days * DAY);
        assert!(moved.client_authorities.contains(&first.client_authorities[0]), "at {days} days");
    }
    // With the original clock, clients that know only the first authority can verify the server.
    let back = Identities::ensure_at(&options, start).unwrap();
    let (_, leaf) = x509_parser::parse_x509_certificate(&back.serving_chain[0]).unwrap();
    let (_, authority) = x509_parser::parse_x509_certificate(&first.client_authorities[0]).unwrap();
    assert!(leaf.verify_signature(Some(authority.public_key())).is_ok());
}
