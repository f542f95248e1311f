use registry_core::context::AUTHENTICATED;

use super::certificates::ClientCertificate;
use super::client_certificates::ClientCertificates;
use super::*;

impl Authenticator {
    /// Returns the user of a request.
    async fn authenticate(
        &self,
        certificates: Option<&PeerCertificates>,
        headers: &HeaderMap,
        path: &str,
    ) -> Result<UserInfo, StatusError> {
        self.identify(certificates, headers, path, None).await.user
    }
}

fn headers(pairs: &[(&'static str, &'static str)]) -> HeaderMap {
    pairs.iter().map(|(name, value)| (name.parse().unwrap(), value.parse().unwrap())).collect()
}

fn authenticator(anonymous: bool) -> Authenticator {
    let table = TokenTable::parse(
        "admin-token,admin,admin-uid,system:masters\n\nalice-token,alice,alice-uid,\"devs, ops\"\nx,\"o\"\"k\",u\n",
    );
    Authenticator::new(table.unwrap(), anonymous)
}

#[tokio::test]
async fn tokens_name_users_and_their_groups() {
    let alice = authenticator(true)
        .authenticate(None, &headers(&[("authorization", "bearer alice-token")]), "/")
        .await;
    let alice = alice.unwrap();
    assert_eq!((alice.name.as_str(), alice.uid.as_str()), ("alice", "alice-uid"));
    assert_eq!(alice.groups, ["devs", "ops", "system:authenticated"]);
    let quoted = authenticator(true)
        .authenticate(None, &headers(&[("authorization", "Bearer x")]), "/")
        .await
        .unwrap();
    assert_eq!(quoted.name, "o\"k");
}

#[tokio::test]
async fn wrong_tokens_are_refused_and_nobody_is_anonymous() {
    let refused =
        authenticator(true).authenticate(None, &headers(&[("authorization", "Bearer zork")]), "/").await;
    let refused = refused.unwrap_err();
    assert_eq!((refused.code, refused.message.as_str()), (401, "Unauthorized"));
    assert_eq!(refused.details, None);

    let unknown = "Digest username=\"alice-token\"";
    let schemes = ["", "Bearer ", "Bearer  alice-token", "Basic YTpi", "alice-token", unknown];
    let schemes = schemes.map(|value| headers(&[("authorization", value)]));
    for shown in [headers(&[])].iter().chain(&schemes) {
        let anonymous = authenticator(true).authenticate(None, shown, "/").await.unwrap();
        assert_eq!(anonymous.name, "system:anonymous");
        assert_eq!(anonymous.groups, ["system:unauthenticated"]);
        assert_eq!(authenticator(false).authenticate(None, shown, "/").await.unwrap_err().code, 401);
    }
}

#[tokio::test]
async fn users_who_are_marked_as_not_authenticated_are_not_in_the_group_of_all() {
    let table =
        TokenTable::parse("a,eve,1,system:unauthenticated\nb,system:anonymous,2,\nc,bob,3,devs").unwrap();
    let authenticator = Authenticator::new(table, false);
    for (shown, groups) in [
        ("Bearer a", &["system:unauthenticated"][..]),
        ("Bearer b", &[]),
        ("Bearer c", &["devs", "system:authenticated"]),
    ] {
        let shown = &headers(&[("authorization", shown)]);
        let user = authenticator.authenticate(None, shown, "/").await.unwrap();
        assert_eq!(user.groups, groups, "{}", user.name);
    }
}

#[tokio::test]
async fn a_client_certificate_counts_before_a_token() {
    let (trust, judged) = certificates::testing();
    let with_certificates =
        |anonymous| authenticator(anonymous).with_requests(ClientCertificates(trust.clone()));
    let user = UserInfo {
        name: "kubelet".to_owned(),
        groups: vec![AUTHENTICATED.to_owned()],
        ..UserInfo::default()
    };
    let trusted = judged(ClientCertificate::Trusted { user: user.clone(), validity: 0..=i64::MAX });
    let zork = headers(&[("authorization", "Bearer zork")]);
    assert_eq!(with_certificates(false).authenticate(Some(&trusted), &zork, "/").await.unwrap(), user);

    let refused = judged(ClientCertificate::Refused("it is a stranger's".to_owned()));
    let alice = headers(&[("authorization", "Bearer alice-token")]);
    let named = with_certificates(true).authenticate(Some(&refused), &alice, "/").await.unwrap();
    assert_eq!(named.name, "alice");
    let failure = with_certificates(true).authenticate(Some(&refused), &headers(&[]), "/").await.unwrap_err();
    assert_eq!((failure.code, failure.message.as_str()), (401, "Unauthorized: it is a stranger's"));
}

#[tokio::test]
async fn anonymous_requests_can_be_limited_to_paths() {
    let mut limited = authenticator(false);
    limited.anonymous = Anonymous::Paths(["/livez".to_owned()].into());
    assert_eq!(limited.authenticate(None, &headers(&[]), "/livez").await.unwrap().name, ANONYMOUS);
    for path in ["/", "/livez/", "/livez/etcd", "/readyz", "//livez"] {
        assert_eq!(limited.authenticate(None, &headers(&[]), path).await.unwrap_err().code, 401, "{path}");
    }
    let zork = headers(&[("authorization", "Bearer zork")]);
    assert_eq!(limited.authenticate(None, &zork, "/livez").await.unwrap_err().code, 401);
}

/// Returns an authenticator of the proxies with these names, and the headers of a request through one.
fn front_proxies(
    allowed: &[&str],
    trust: &Arc<ClientTrust>,
    flags: impl FnOnce(&mut crate::options::FrontProxyOptions),
) -> Authenticator {
    let list = |values: &[&str]| values.iter().map(|value| (*value).to_owned()).collect();
    let mut options = crate::options::FrontProxyOptions {
        requestheader_allowed_names: list(allowed),
        requestheader_username_headers: list(&["X-Remote-User", "X-Remote-Login"]),
        requestheader_uid_headers: list(&["X-Remote-Uid"]),
        requestheader_group_headers: list(&["X-Remote-Group"]),
        requestheader_extra_headers_prefix: list(&["X-Remote-Extra-"]),
        ..Default::default()
    };
    flags(&mut options);
    let names = FrontProxyNames::new(&options).unwrap();
    let mut authenticator = authenticator(true);
    authenticator.proxy_names = names.clone();
    authenticator
        .with_requests(request_header::FrontProxies::new(trust.clone(), names))
        .with_requests(ClientCertificates(trust.clone()))
}

fn proxy_certificate() -> ClientCertificate {
    let user = UserInfo { name: "front".to_owned(), ..UserInfo::default() };
    ClientCertificate::Trusted { user, validity: 0..=i64::MAX }
}

#[tokio::test]
async fn a_front_proxy_names_the_user() {
    let (trust, judged) = certificates::testing();
    let proxy = judged(proxy_certificate());
    let authenticator = front_proxies(&["other", "front"], &trust, |_| ());
    let mut shown = headers(&[
        ("x-remote-user", ""),
        ("x-remote-login", "jane"),
        ("x-remote-uid", "u1"),
        ("x-remote-extra-acme.com%2fscopes", "view"),
        ("authorization", "Bearer alice-token"),
    ]);
    shown.append("x-remote-group", "devs".parse().unwrap());
    shown.append("x-remote-group", "ops".parse().unwrap());
    let jane = authenticator.authenticate(Some(&proxy), &shown, "/").await.unwrap();
    assert_eq!((jane.name.as_str(), jane.uid.as_str()), ("jane", "u1"));
    assert_eq!(jane.groups, ["devs", "ops", AUTHENTICATED]);
    assert_eq!(jane.extra, [("acme.com/scopes".to_owned(), vec!["view".to_owned()])]);

    shown.insert("accept", "x".parse().unwrap());
    authenticator.remove_credentials(&mut shown);
    assert_eq!(shown.keys().map(http::HeaderName::as_str).collect::<Vec<_>>(), ["accept"]);

    // Without the header the proxy is a client.
    let own = authenticator.authenticate(Some(&proxy), &headers(&[]), "/").await.unwrap();
    assert_eq!(own.name, "front");
}

#[tokio::test]
async fn headers_of_others_name_nobody() {
    let (trust, judged) = certificates::testing();
    let shown = headers(&[("x-remote-user", "admin"), ("x-remote-group", "system:masters")]);
    let authenticator = front_proxies(&["other"], &trust, |_| ());
    let user = authenticator.authenticate(None, &shown, "/").await.unwrap();
    assert_eq!(user.name, ANONYMOUS, "no certificate");
    // Of the authority, but not an accepted proxy: it is a client.
    let proxy = judged(proxy_certificate());
    assert_eq!(authenticator.authenticate(Some(&proxy), &shown, "/").await.unwrap().name, "front");
    let refused = judged(ClientCertificate::Refused("it is a stranger's".to_owned()));
    assert_eq!(authenticator.authenticate(Some(&refused), &shown, "/").await.unwrap_err().code, 401);

    // A header that names one thing is not repeated, and is text.
    let authenticator = front_proxies(&[], &trust, |_| ());
    for (name, second) in
        [("x-remote-user", &b"admin"[..]), ("x-remote-uid", b"1"), ("x-remote-group", b"\xff")]
    {
        let mut twice = headers(&[("x-remote-user", "jane"), ("x-remote-uid", "0")]);
        twice.append(name, http::HeaderValue::from_bytes(second).unwrap());
        let refused = authenticator.authenticate(Some(&proxy), &twice, "/").await.unwrap_err();
        assert_eq!(refused.code, 400, "{name}");
    }
}

#[test]
fn names_of_headers_are_checked() {
    for wrong in ["", " ", "x remote", "x\nremote", "x:remote"] {
        let options = crate::options::FrontProxyOptions {
            requestheader_group_headers: vec![wrong.to_owned()],
            ..Default::default()
        };
        assert!(FrontProxyNames::new(&options).is_err(), "{wrong:?}");
    }
}

#[tokio::test]
async fn credentials_that_cannot_be_read_are_never_anonymous() {
    let latin1 = http::HeaderValue::from_bytes(b"Bearer j\xfcrgen").unwrap();
    let utf8 = http::HeaderValue::from_bytes("Bearer jürgen".as_bytes()).unwrap();
    for value in [latin1, utf8] {
        let shown = HeaderMap::from_iter([(AUTHORIZATION, value.clone())]);
        assert_eq!(
            authenticator(true).authenticate(None, &shown, "/").await.unwrap_err().code,
            401,
            "{value:?}"
        );
    }
    let mut twice = headers(&[("authorization", "Bearer alice-token")]);
    twice.append(AUTHORIZATION, "Bearer admin-token".parse().unwrap());
    assert_eq!(authenticator(true).authenticate(None, &twice, "/").await.unwrap_err().code, 400);
}

#[test]
fn impersonation_reads_any_name_and_refuses_what_it_cannot_read() {
    let request = |pairs: &[(&'static str, &[u8])]| {
        let mut headers = HeaderMap::new();
        for (name, value) in pairs {
            let name: http::HeaderName = name.parse().unwrap();
            headers.append(name, http::HeaderValue::from_bytes(value).unwrap());
        }
        requested_impersonation(&headers)
    };
    let named = request(&[
        ("impersonate-user", "jürgen".as_bytes()),
        ("impersonate-group", "entwickler-münchen".as_bytes()),
        ("impersonate-extra-100%", "ü".as_bytes()),
        ("impersonate-extra-%c3%bc", b"v"),
    ]);
    let named = named.unwrap().unwrap();
    assert_eq!(named.name, "jürgen");
    assert_eq!(named.groups, ["entwickler-münchen"]);
    let extra = [("100%".to_owned(), vec!["ü".to_owned()]), ("ü".to_owned(), vec!["v".to_owned()])];
    assert_eq!(named.extra, extra);

    let carol: (&str, &[u8]) = ("impersonate-user", b"carol");
    for refused in [
        &[("impersonate-user", &b"j\xfcrgen"[..])][..],
        &[carol, carol],
        &[("impersonate-user", b"")],
        &[carol, ("impersonate-group", b"\xff")],
        &[carol, ("impersonate-uid", b"\xff")],
        &[carol, ("impersonate-uid", b"1"), ("impersonate-uid", b"2")],
        &[carol, ("impersonate-extra-k", b"\xff")],
        &[carol, ("impersonate-extra-%ff", b"v")],
        &[("impersonate-extra-k", b"v")],
        &[("impersonate-group", b"devs")],
    ] {
        assert_eq!(request(refused).unwrap_err().code, 400, "{refused:?}");
    }
}

#[test]
fn broken_token_files_are_refused_without_repeating_the_token() {
    for text in ["secret,alice", "secret,alice,u,\"devs", ",alice,u", "secret,,u", "secret,a,u\nsecret,b,v"] {
        let error = TokenTable::parse(text).expect_err(text).to_string();
        assert!(!error.contains("secret"), "{error}");
    }
}

#[test]
fn an_invalid_token_file_is_named() {
    let file = tempfile::NamedTempFile::new().unwrap();
    std::fs::write(file.path(), "secret,alice").unwrap();
    let path = file.path().display();
    let expected = format!("--token-auth-file: {path}: line 1: at least token, user and uid are needed");
    assert_eq!(TokenTable::from_file(file.path()).unwrap_err().to_string(), expected);
}

#[test]
fn impersonation_takes_what_the_headers_name() {
    assert!(requested_impersonation(&headers(&[("accept", "x")])).unwrap().is_none());
    let asked = requested_impersonation(&headers(&[
        ("impersonate-user", "carol"),
        ("impersonate-group", "devs"),
        ("impersonate-uid", "u1"),
        ("impersonate-extra-acme.com%2fscopes", "view"),
    ]));
    let asked = asked.unwrap().unwrap();
    assert_eq!((asked.uid.as_str(), asked.groups), ("u1", vec!["devs".to_owned()]));
    assert_eq!(asked.extra, [("acme.com/scopes".to_owned(), vec!["view".to_owned()])]);
}

#[test]
fn impersonating_no_user_is_refused_in_the_words_clients_know() {
    let refused = requested_impersonation(&headers(&[("impersonate-group", "devs")])).unwrap_err();
    assert_eq!(
        refused.message,
        "requested &user.DefaultInfo{Name:\"\", UID:\"\", Groups:[]string{\"devs\"}, \
         Extra:map[string][]string(nil)} without impersonating a user name"
    );
    let refused = requested_impersonation(&headers(&[("impersonate-uid", "x")])).unwrap_err();
    assert!(refused.message.contains("UID:\"x\", Groups:[]string(nil)"), "{}", refused.message);
}
