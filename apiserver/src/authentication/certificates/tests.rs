use super::*;
use rcgen::{CertificateParams, DistinguishedName, DnType, IsCa, Issuer, KeyPair, KeyUsagePurpose};

type Authority = (Issuer<'static, KeyPair>, Verifier);

fn authority(name: &str) -> Authority {
    let mut parameters = CertificateParams::default();
    parameters.distinguished_name.push(DnType::CommonName, name);
    parameters.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
    let key = KeyPair::generate().unwrap();
    let certificate = parameters.self_signed(&key).unwrap();
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let verifier = Verifier::new(&[certificate.der().clone()], &provider).unwrap().unwrap();
    (Issuer::new(parameters, key), verifier)
}

/// A certificate of this authority with these attributes of its subject, valid between these years.
fn issue(
    issuer: &Issuer<'_, KeyPair>,
    subject: &[(DnType, rcgen::DnValue)],
    years: (i32, i32),
) -> CertificateDer<'static> {
    let mut parameters = CertificateParams::default();
    parameters.distinguished_name = DistinguishedName::new();
    for (kind, value) in subject {
        parameters.distinguished_name.push(kind.clone(), value.clone());
    }
    parameters.not_before = rcgen::date_time_ymd(years.0, 1, 1);
    parameters.not_after = rcgen::date_time_ymd(years.1, 1, 1);
    parameters.extended_key_usages = vec![rcgen::ExtendedKeyUsagePurpose::ClientAuth];
    parameters.signed_by(&KeyPair::generate().unwrap(), issuer).unwrap().der().clone()
}

fn text(value: &str) -> rcgen::DnValue {
    rcgen::DnValue::Utf8String(value.to_owned())
}

fn at_year(year: u64) -> SystemTime {
    UNIX_EPOCH + Duration::from_secs((year - 1970) * 31_556_952)
}

#[test]
fn a_certificate_counts_between_its_beginning_and_its_end() {
    let (issuer, verifier) = authority("ca");
    let subject = [(DnType::CommonName, text("jürgen")), (DnType::OrganizationName, text("devs"))];
    for (years, year, refusal) in [
        ((2020, 2090), 2050, None),
        ((2020, 2021), 2025, Some("the client certificate expired at 2021-01-01T00:00:00Z")),
        ((2080, 2090), 2050, Some("the client certificate is not valid before 2080-01-01T00:00:00Z")),
        ((2080, 2090), 2085, None),
    ] {
        let chain = [issue(&issuer, &subject, years)];
        let certificate = ClientCertificate::verify(&chain, &verifier).unwrap();
        match (certificate.user_at(at_year(year)), refusal) {
            (Ok(user), None) => {
                assert_eq!(user.name, "jürgen");
                assert_eq!(user.groups, ["devs"], "the authenticator adds the group of all");
            }
            (Err(reason), Some(expected)) => assert_eq!(reason, expected),
            (found, _) => panic!("{years:?} in {year}: {found:?}"),
        }
    }
}

#[test]
fn a_certificate_ends_at_the_beginning_of_its_last_second() {
    let (issuer, verifier) = authority("ca");
    let chain = [issue(&issuer, &[(DnType::CommonName, text("carol"))], (2020, 2090))];
    let certificate = ClientCertificate::verify(&chain, &verifier).unwrap();
    let end: jiff::Timestamp = "2090-01-01T00:00:00Z".parse().unwrap();
    assert!(certificate.user_at(end.into()).is_ok());
    let refusal = certificate.user_at(SystemTime::from(end) + Duration::from_nanos(1)).unwrap_err();
    assert_eq!(refusal, "the client certificate expired at 2090-01-01T00:00:00Z");
}

#[test]
fn untrusted_and_unreadable_certificates_are_refused_with_a_reason() {
    let ((issuer, verifier), (stranger, _)) = (authority("ca"), authority("another"));
    let name = || (DnType::CommonName, text("carol"));
    let uid = DnType::CustomDnType(vec![1, 3, 6, 1, 4, 1, 57683, 2]);
    let unreadable = rcgen::DnValue::BmpString(rcgen::string::BmpString::try_from("devs").unwrap());
    let group = (DnType::OrganizationName, unreadable);
    for (issuer, subject, reason) in [
        (&stranger, vec![name()], "certificate signed by unknown authority"),
        (&issuer, vec![name(), group], "organization is not text"),
        (&issuer, vec![name(), (uid.clone(), text(""))], "UID is empty"),
    ] {
        let certificate = ClientCertificate::verify(&[issue(issuer, &subject, (2020, 2090))], &verifier);
        match certificate {
            Some(ClientCertificate::Refused(found)) => assert!(found.contains(reason), "{found}"),
            other => panic!("{reason}: {other:?}"),
        }
    }
    let nameless = issue(&issuer, &[(DnType::OrganizationName, text("devs"))], (2020, 2090));
    assert!(ClientCertificate::verify(&[nameless], &verifier).is_none(), "it is nobody's");
    let with_uid = issue(&issuer, &[name(), (uid, text("u-1"))], (2020, 2090));
    let with_uid = ClientCertificate::verify(&[with_uid], &verifier).unwrap();
    assert_eq!(with_uid.user().unwrap().uid, "u-1");
}

#[test]
fn an_authority_may_itself_be_a_client_unless_its_usage_says_otherwise() {
    let usage = rcgen::ExtendedKeyUsagePurpose::ServerAuth;
    for (usages, is_accepted) in [(vec![], true), (vec![usage], false)] {
        let mut parameters = CertificateParams::default();
        parameters.distinguished_name.push(DnType::CommonName, "root");
        parameters.is_ca = IsCa::Ca(rcgen::BasicConstraints::Unconstrained);
        parameters.extended_key_usages = usages;
        let itself = |key: &KeyPair| parameters.self_signed(key).unwrap().der().clone();
        let (own, other) = (itself(&KeyPair::generate().unwrap()), itself(&KeyPair::generate().unwrap()));
        let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
        let verifier = Verifier::new(std::slice::from_ref(&own), &provider).unwrap().unwrap();
        let found = ClientCertificate::verify(&[own], &verifier);
        assert_eq!(matches!(found, Some(ClientCertificate::Trusted { .. })), is_accepted, "{found:?}");
        let found = ClientCertificate::verify(&[other], &verifier);
        assert!(
            matches!(found, Some(ClientCertificate::Refused(_))),
            "the same name is not enough: {found:?}"
        );
    }
}

/// A certificate of a user that this one has signed.
fn signed(by: &Issuer<'_, KeyPair>, user: &str) -> CertificateDer<'static> {
    issue(by, &[(DnType::CommonName, text(user))], (2020, 2090))
}

/// A certificate with these constraints and usages, and what signs with its key. `by`: what has signed it, or itself.
fn with_usages(
    name: &str,
    is_ca: IsCa,
    usages: &[KeyUsagePurpose],
    by: Option<&Issuer<'_, KeyPair>>,
) -> (CertificateDer<'static>, Issuer<'static, KeyPair>) {
    let mut parameters = CertificateParams::default();
    parameters.distinguished_name.push(DnType::CommonName, name);
    parameters.is_ca = is_ca;
    parameters.key_usages = usages.to_vec();
    let key = KeyPair::generate().unwrap();
    let certificate = match by {
        Some(by) => parameters.signed_by(&key, by),
        None => parameters.self_signed(&key),
    };
    (certificate.unwrap().der().clone(), Issuer::new(parameters, key))
}

fn any_ca() -> IsCa {
    IsCa::Ca(rcgen::BasicConstraints::Unconstrained)
}

fn names(
    chain: &[CertificateDer<'static>],
    authorities: &[CertificateDer<'static>],
) -> Result<String, String> {
    let provider = std::sync::Arc::new(rustls::crypto::ring::default_provider());
    let verifier = Verifier::new(authorities, &provider).unwrap().unwrap();
    let certificate = ClientCertificate::verify(chain, &verifier).unwrap();
    certificate.user().map(|user| user.name.clone()).map_err(Cow::into_owned)
}

#[test]
fn a_trusted_certificate_that_is_no_authority_counts_itself_and_issues_none() {
    let (authority, of_authority) = with_usages("authority", any_ca(), &[], None);
    for (is_ca, usages) in [
        (IsCa::ExplicitNoCa, &[][..]),
        (IsCa::NoCa, &[]),
        (IsCa::NoCa, &[KeyUsagePurpose::DigitalSignature, KeyUsagePurpose::KeyCertSign]),
        (any_ca(), &[KeyUsagePurpose::DigitalSignature]),
    ] {
        let (pinned, of_pinned) = with_usages("pinned", is_ca, usages, None);
        for trusted in [vec![pinned.clone()], vec![authority.clone(), pinned.clone()]] {
            assert_eq!(names(std::slice::from_ref(&pinned), &trusted).as_deref(), Ok("pinned"));
            let refused = names(&[signed(&of_pinned, "mallory")], &trusted).unwrap_err();
            assert!(refused.ends_with("x509: certificate signed by unknown authority"), "{refused}");
            let refused = names(&[signed(&of_pinned, "mallory"), pinned.clone()], &trusted).unwrap_err();
            assert!(refused.ends_with("x509: certificate signed by unknown authority"), "{refused}");
        }
        let trusted = [authority.clone(), pinned];
        assert_eq!(names(&[signed(&of_authority, "carol")], &trusted).as_deref(), Ok("carol"));
    }
}

#[test]
fn a_path_leads_through_certificates_that_may_issue_others() {
    let (root, of_root) = with_usages("root", any_ca(), &[KeyUsagePurpose::KeyCertSign], None);
    for (usages, is_path) in [
        (&[][..], true),
        (&[KeyUsagePurpose::KeyCertSign], true),
        (&[KeyUsagePurpose::DigitalSignature], false),
        (&[KeyUsagePurpose::CrlSign], false),
    ] {
        let (between, of_between) = with_usages("between", any_ca(), usages, Some(&of_root));
        let found = names(&[signed(&of_between, "carol"), between], std::slice::from_ref(&root));
        assert_eq!(found.is_ok(), is_path, "{usages:?}: {found:?}");
    }
}
