use super::*;

const CONFIG_MAP: &str = "/api/v1/namespaces/kube-system/configmaps/extension-apiserver-authentication";
const FLAGS: [&str; 5] = [
    "--requestheader-allowed-names=front-proxy-client",
    "--requestheader-username-headers=X-Remote-User",
    "--requestheader-uid-headers=X-Remote-Uid",
    "--requestheader-group-headers=X-Remote-Group",
    "--requestheader-extra-headers-prefix=X-Remote-Extra-",
];

/// Starts a server with these authorities of proxies and of clients.
async fn start(directory: &std::path::Path, proxies: &Authority, clients: &Authority) -> TestServer {
    let path = write(directory, "proxy-ca.crt", &proxies.pem);
    let mut builder = TestServer::builder().memory().flag(format!("--requestheader-client-ca-file={path}"));
    builder = builder.flag(format!("--client-ca-file={}", write(directory, "ca.crt", &clients.pem)));
    for flag in FLAGS {
        builder = builder.flag(flag);
    }
    builder.start().await.unwrap()
}

#[tokio::test]
async fn only_the_proxy_with_the_right_certificate_names_users() {
    let directory = tempfile::tempdir().unwrap();
    let (authority, stranger) = (Authority::new("front-proxy-ca"), Authority::new("front-proxy-ca"));
    let server = start(directory.path(), &authority, &Authority::new("clients")).await;
    let jane = [
        ("x-remote-user", "jane"),
        ("x-remote-uid", "u1"),
        ("x-remote-group", "devs"),
        ("x-remote-group", "ops"),
        ("x-remote-extra-scopes", "view"),
    ];
    let mut proxy = connect(&server, authority.client(&server, "front-proxy-client")).await;
    let user = who(&mut proxy, &jane).await.unwrap();
    assert_eq!((&user["username"], &user["uid"]), (&json!("jane"), &json!("u1")));
    assert_eq!(user["groups"], json!(["devs", "ops", "system:authenticated"]));
    assert_eq!(user["extra"], json!({"scopes": ["view"]}));
    // It counts before a token.
    let with_token = [jane[0], ("authorization", "Bearer admin-token")];
    assert_eq!(who(&mut proxy, &with_token).await.unwrap()["username"], "jane");
    // A client's header that the proxy passed on, before or behind its own.
    for smuggled in [[("x-remote-user", "admin"), jane[0]], [jane[0], ("x-remote-user", "admin")]] {
        assert_eq!(who(&mut proxy, &smuggled).await, Err(400));
    }
    // Names that a proxy of another kind would take for the same header.
    let user = who(&mut proxy, &[jane[0], ("x_remote_user", "admin"), ("x-remote-users", "admin")]).await;
    assert_eq!(user.unwrap()["username"], "jane");

    let admin = [("x-remote-user", "admin"), ("x-remote-group", "system:masters")];
    let mut nobody = Connection::open(&server, Protocol::Http2).await;
    assert_eq!(who(&mut nobody, &admin).await, Err(403), "without a certificate: anonymous");
    let with_token = [admin[0], admin[1], ("authorization", "Bearer alice-token")];
    assert_eq!(who(&mut nobody, &with_token).await.unwrap()["username"], "alice");
    for config in [authority.client(&server, "someone-else"), stranger.client(&server, "front-proxy-client")]
    {
        let mut connection = connect(&server, config).await;
        assert_eq!(who(&mut connection, &admin).await, Err(401));
        assert_eq!(who(&mut connection, &with_token).await.unwrap()["username"], "alice");
    }
    server.stop().await;
}

#[tokio::test]
async fn extension_servers_are_told_of_the_proxies_whose_authority_can_change() {
    let directory = tempfile::tempdir().unwrap();
    let (old, new) = (Authority::new("old"), Authority::new("new"));
    let (old_clients, new_clients) = (Authority::new("old-clients"), Authority::new("new-clients"));
    let server = start(directory.path(), &old, &old_clients).await;
    let mut connection = Connection::open(&server, Protocol::Http2).await;
    let published = connection.get(CONFIG_MAP, Some("admin-token")).await.json();
    for (key, value) in [
        ("requestheader-client-ca-file", old.pem.as_str()),
        ("requestheader-allowed-names", r#"["front-proxy-client"]"#),
        ("requestheader-username-headers", r#"["X-Remote-User"]"#),
        ("requestheader-uid-headers", r#"["X-Remote-Uid"]"#),
        ("requestheader-group-headers", r#"["X-Remote-Group"]"#),
        ("requestheader-extra-headers-prefix", r#"["X-Remote-Extra-"]"#),
    ] {
        assert_eq!(published["data"][key], value, "{key}");
    }
    assert!(published["data"]["client-ca-file"].as_str().unwrap().contains("BEGIN CERTIFICATE"));

    // The change is valid for connections that are open.
    let jane = [("x-remote-user", "jane")];
    let mut of_old = connect(&server, old.client(&server, "front-proxy-client")).await;
    let mut of_new = connect(&server, new.client(&server, "front-proxy-client")).await;
    let mut old_client = connect(&server, old_clients.client(&server, "carla")).await;
    let mut new_client = connect(&server, new_clients.client(&server, "carla")).await;
    assert_eq!(who(&mut old_client, &[]).await.unwrap()["username"], "carla");
    assert_eq!(who(&mut new_client, &[]).await, Err(401));
    assert!(who(&mut of_old, &jane).await.is_ok());
    assert_eq!(who(&mut of_new, &jane).await, Err(401));
    write(directory.path(), "ca.crt", &new_clients.pem);
    write(directory.path(), "proxy-ca.crt", &new.pem);
    let begun = std::time::Instant::now();
    while who(&mut of_new, &jane).await.is_err() {
        assert!(begun.elapsed() < TIMEOUT, "the new authority does not count");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    assert_eq!(who(&mut of_old, &jane).await, Err(401));
    // Both files may not have been read in the same look.
    let begun = std::time::Instant::now();
    while who(&mut new_client, &[]).await.is_err() {
        assert!(begun.elapsed() < TIMEOUT, "the new authority of clients does not count");
        tokio::time::sleep(Duration::from_millis(200)).await;
    }
    assert_eq!(who(&mut old_client, &[]).await, Err(401));
    server.stop().await;
}

#[tokio::test]
async fn an_authority_of_clients_and_proxies_needs_the_names_of_proxies() {
    let directory = tempfile::tempdir().unwrap();
    let path = write(directory.path(), "ca.crt", &Authority::new("both").pem);
    let builder = TestServer::builder().memory();
    let builder = builder.flag(format!("--requestheader-client-ca-file={path}"));
    let refused = builder.flag(format!("--client-ca-file={path}")).start().await.err().unwrap();
    assert!(refused.to_string().contains("--requestheader-allowed-names must be specified"), "{refused}");
}
