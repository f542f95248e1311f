use std::net::SocketAddr;
use std::path::Path;
use std::sync::Arc;

use clap::Parser as _;

use super::*;
use crate::metrics::ServerMetrics;

const DAY: i64 = 24 * 3600;

/// Returns the renewal of a server with this directory and these flags, as it is after the start.
fn renewal(directory: &Path, flags: &[&str], now: Moment) -> CertificateRenewal {
    let data_dir = format!("--data-dir={}", directory.display());
    let options = Options::parse_from([&["apiserver", &data_dir], flags].concat());
    let identities = Identities::ensure_at(&options, now).unwrap();
    let address: SocketAddr = "127.0.0.1:6443".parse().unwrap();
    kubeconfig::write_all(&options, address, &identities).unwrap();
    let metrics = ServerMetrics::new().unwrap();
    let tls =
        ServingTls::new(&identities, &options, metrics.certificate_expiry().clone(), ClientTrust::default())
            .unwrap();
    let kubelet = KubeletCertificate::new(pki::kubelet_identity(&options, now).unwrap()).unwrap();
    let proxy = ProxyIdentity::new(identities.proxy_identity.clone());
    let presented = Presented { kubelet: Arc::new(kubelet), proxy: Arc::new(proxy), peers: None };
    CertificateRenewal::new(options, address, Arc::new(tls), presented, identities)
}

fn served(renewal: &CertificateRenewal) -> Arc<rustls::ServerConfig> {
    renewal.tls.current().acceptor.config().clone()
}

#[test]
fn certificates_are_renewed_at_two_thirds_of_their_life_while_the_server_runs() {
    let directory = tempfile::tempdir().unwrap();
    let now = pki::now();
    let renewal = renewal(directory.path(), &[], now);
    let kubeconfig = || std::fs::read_to_string(directory.path().join("admin.kubeconfig")).unwrap();
    let first = served(&renewal);
    let first_kubeconfig = kubeconfig();
    let first_shown = renewal.presented.kubelet.present();
    renewal.look(now + 200 * DAY);
    assert!(Arc::ptr_eq(&first, &served(&renewal)), "nothing is due yet");

    let later = now + 250 * DAY;
    renewal.look(later);
    assert!(!Arc::ptr_eq(&first, &served(&renewal)), "the new certificate is served");
    assert_ne!(first_kubeconfig, kubeconfig(), "the administrator's certificate was due too");
    assert_ne!(
        first_shown.cert,
        renewal.presented.kubelet.present().cert,
        "so was the one that kubelets are shown"
    );
    assert_eq!(renewal.tls.problem(later + 300 * DAY), None);
    assert!(renewal.tls.expiry.with_label_values(&["serving"]).get() > later + 300 * DAY);
}

#[test]
fn files_of_the_operator_are_served_when_they_change_and_broken_ones_are_not() {
    let directory = tempfile::tempdir().unwrap();
    let given = tempfile::tempdir().unwrap();
    let now = pki::now();
    let _made = self::renewal(given.path(), &[], now);
    let pki = given.path().join("pki");
    let flags = [
        format!("--tls-cert-file={}", pki.join("apiserver.crt").display()),
        format!("--tls-private-key-file={}", pki.join("apiserver.key").display()),
    ];
    let flags = flags.each_ref().map(String::as_str);
    let renewal = renewal(directory.path(), &flags, now);
    let first = served(&renewal);
    assert_eq!(renewal.tls.problem(now + 400 * DAY), Some("the serving certificate has expired"));
    assert_eq!(renewal.tls.problem(now - 40 * DAY), Some("the serving certificate is not valid yet"));

    let key = std::fs::read(pki.join("apiserver.key")).unwrap();
    std::fs::copy(pki.join("admin.key"), pki.join("apiserver.key")).unwrap();
    renewal.look(now);
    assert!(Arc::ptr_eq(&first, &served(&renewal)), "the key does not fit: the present one stays");
    let failure = renewal.state.lock().failure.clone().unwrap();
    assert!(failure.contains("apiserver.key") && failure.contains("not the key"), "{failure}");

    std::fs::write(pki.join("apiserver.key"), key).unwrap();
    // The operator's own tool renews the certificate.
    let _made = self::renewal(given.path(), &["--bind-address=127.0.0.9"], now);
    renewal.look(now);
    assert!(!Arc::ptr_eq(&first, &served(&renewal)), "the new pair is served");
    assert_eq!(renewal.state.lock().failure, None);
}

#[test]
fn the_identity_towards_extension_servers_follows_its_files() {
    let directory = tempfile::tempdir().unwrap();
    let given = tempfile::tempdir().unwrap();
    let now = pki::now();
    let place = |pair: &pki::CertifiedKey| {
        std::fs::write(given.path().join("proxy.crt"), &pair.certificate_pem).unwrap();
        std::fs::write(given.path().join("proxy.key"), &pair.key_pem).unwrap();
    };
    let pair = || {
        let other = tempfile::tempdir().unwrap();
        let data_dir = format!("--data-dir={}", other.path().display());
        Identities::ensure_at(&Options::parse_from(["apiserver", &data_dir]), now).unwrap().admin
    };
    place(&pair());
    let file = |name: &str| given.path().join(name).display().to_string();
    let flags = [
        format!("--proxy-client-cert-file={}", file("proxy.crt")),
        format!("--proxy-client-key-file={}", file("proxy.key")),
    ];
    let renewal = renewal(directory.path(), &flags.each_ref().map(String::as_str), now);
    let first = renewal.presented.proxy.present().unwrap();
    renewal.look(now);
    assert!(Arc::ptr_eq(&first, &renewal.presented.proxy.present().unwrap()), "connections stay");
    let next = pair();
    std::fs::write(given.path().join("proxy.crt"), &next.certificate_pem).unwrap();
    renewal.look(now);
    assert!(
        Arc::ptr_eq(&first, &renewal.presented.proxy.present().unwrap()),
        "the key does not belong to it yet"
    );
    place(&next);
    renewal.look(now);
    assert_ne!(first.cert, renewal.presented.proxy.present().unwrap().cert);
}
