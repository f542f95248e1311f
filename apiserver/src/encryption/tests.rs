use super::validation::validate;
use super::*;

const HEAD: &str = "apiVersion: apiserver.config.k8s.io/v1\nkind: EncryptionConfiguration\nresources:\n";
const KEY: &str = "AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=";

/// Returns the errors of a configuration whose only rule has these resources and providers.
fn errors(resources: &str, providers: &str) -> String {
    let text = format!("{HEAD}- {{resources: [{resources}], providers: [{providers}]}}\n");
    validate(&config::parse(text.as_bytes()).unwrap()).to_string()
}

#[test]
fn resources_are_validated_with_kubernetes_messages() {
    const OVERLAP: &str = "using overlapping resources such as 'secrets' and '*.' in the same resource list is not \
                           allowed as they will be masked";
    for (resources, message) in [
        ("", "resources[0].resources: Required value: at least one resources[0].resources is required"),
        (
            "Secrets",
            "resources[0].resources[0]: Invalid value: \"Secrets\": resource name should not contain capital letters",
        ),
        (
            "'*'",
            "resources[0].resources[0]: Invalid value: \"*\": use '*.' to encrypt all the resources from core API group \
             or *.* to encrypt all resources",
        ),
        (
            "secrets.*",
            "resources[0].resources[0]: Invalid value: \"secrets.*\": encrypting the same resource across groups is not \
             supported",
        ),
        (
            "events.events.k8s.io",
            "resources[0].resources[0]: Invalid value: \"events.events.k8s.io\": '*.events.k8s.io' objects are stored \
             using the 'events' API group in etcd. Use 'events' instead in the config file",
        ),
        (
            "serviceipallocations",
            "resources[0].resources[0]: Invalid value: \"serviceipallocations\": resources which do not have REST API/s \
             cannot be encrypted",
        ),
        (
            "secrets, secrets",
            "resources[0].resources: Invalid value: [\"secrets\",\"secrets\"]: the same resource cannot be specified \
             multiple times",
        ),
        ("secrets, '*.'", &format!("resources[0].resources: Invalid value: [\"secrets\",\"*.\"]: {OVERLAP}")),
        ("a.b, '*.*'", &format!("resources[0].resources: Invalid value: [\"a.b\",\"*.*\"]: {OVERLAP}")),
    ] {
        assert_eq!(errors(resources, "{identity: {}}"), message, "{resources}");
    }
    let valid = format!("{HEAD}- {{resources: [secrets, '*.apps', a.b], providers: [{{identity: {{}}}}]}}\n");
    assert!(validate(&config::parse(valid.as_bytes()).unwrap()).is_empty());
}

#[test]
fn providers_are_validated_with_kubernetes_messages() {
    let aes = |key: &str| format!("{{aesgcm: {{keys: [{key}]}}}}");
    let at = "resources[0].providers[0]";
    for (providers, message) in [
        (String::new(), "resources[0].providers: Required value: at least one resources[0].providers is required".to_owned()),
        (
            "{identity: {}, secretbox: {keys: [{name: a, secret: AAECAwQFBgcICQoLDA0ODxAREhMUFRYXGBkaGxwdHh8=}]}}".to_owned(),
            format!(
                "{at}: Invalid value: [\"secretbox\",\"identity\"]: more than one provider specified in a single \
                 element, should split into different list elements"
            ),
        ),
        (
            aes("{name: a}"),
            format!("{at}.aesgcm.keys[0].secret: Required value: secret is a mandatory field for a key"),
        ),
        (
            aes(&format!("{{secret: {KEY}}}")),
            format!("{at}.aesgcm.keys[0].name: Required value: name is a mandatory field for a key"),
        ),
        (
            aes("{name: a, secret: '?'}"),
            format!("{at}.aesgcm.keys[0].secret: Invalid value: \"REDACTED\": secrets must be base64 encoded"),
        ),
        (
            aes("{name: a, secret: AAEC}"),
            format!(
                "{at}.aesgcm.keys[0].secret: Invalid value: \"REDACTED\": secret is not of the expected length, got 3, \
                 expected one of [16 24 32]"
            ),
        ),
        (
            "{kms: {apiVersion: v2, name: 'a:b', endpoint: 'tcp://a', timeout: 0s, cachesize: 1}}".to_owned(),
            format!(
                "[{at}.kms.name: Invalid value: \"a:b\": invalid KMS provider name a:b, must not contain ':', \
                 {at}.kms.timeout: Invalid value: \"0s\": timeout should be a positive value, \
                 {at}.kms.endpoint: Invalid value: \"tcp://a\": unsupported scheme \"tcp\" for KMS provider, only unix \
                 is supported, {at}.kms.cachesize: Invalid value: 1: cachesize is not supported in v2]"
            ),
        ),
    ] {
        assert_eq!(errors("secrets", &providers), message, "{providers}");
    }
    assert_eq!(
        validate(&config::parse(HEAD.as_bytes()).unwrap()).to_string(),
        "resources: Required value: at least one resources is required"
    );
}

fn transformers(rules: &str) -> Result<Transformers, EncryptionError> {
    let configuration = config::parse(format!("{HEAD}{rules}").as_bytes()).unwrap();
    Ok(Transformers::new(&configuration, &Services::default())?)
}

fn rule(resources: &str, key: &str) -> String {
    format!(
        "- {{resources: [{resources}], providers: [{{aesgcm: {{keys: [{{name: {key}, secret: {KEY}}}]}}}}]}}\n"
    )
}

#[tokio::test]
async fn the_most_specific_rule_applies() {
    let rules =
        rule("secrets", "exact") + &rule("'*.apps'", "group") + &rule("'*.'", "core") + &rule("'*.*'", "any");
    let transformers = transformers(&rules).unwrap();
    for (group, resource, key) in [
        ("", "secrets", "exact"),
        ("", "configmaps", "core"),
        ("events.k8s.io", "events", "core"),
        ("apps", "deployments", "group"),
        ("zoo.example.dev", "enclosures", "any"),
    ] {
        let found = transformers.for_resource(GroupResource { group, resource }).unwrap();
        let stored = found.to_storage(Bytes::new(), "/k").await.unwrap();
        assert!(stored.starts_with(format!("k8s:enc:aesgcm:v1:{key}:").as_bytes()), "{resource}");
    }
}

#[test]
fn rules_without_effect_are_refused() {
    let masked =
        transformers(&(rule("'*.'", "a") + &rule("secrets", "b"))).map(|_| ()).unwrap_err().to_string();
    assert_eq!(
        masked,
        "error while building transformers: resource \"secrets\" is masked by earlier rule \"*.\""
    );
    let masked = transformers(&(rule("'*.*'", "a") + &rule("a.b", "b"))).map(|_| ()).unwrap_err().to_string();
    assert_eq!(
        masked,
        "error while building transformers: resource \"a.b\" is masked by earlier rule \"*.*\""
    );
}

#[tokio::test]
async fn a_changed_file_is_used_if_it_is_valid() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("config");
    let write = |rules: &str| std::fs::write(&path, format!("{HEAD}{rules}")).unwrap();
    write(&rule("secrets", "one"));
    let encryption = Encryption::load(&path, true, Services::default()).await.unwrap();
    let reload = Reload::new(&path, Vec::new(), encryption.current.clone(), Services::default());
    let apply = async || reload.apply(std::fs::read(&path).unwrap()).await;
    let secrets = encryption.transformer(GroupResource { group: "", resource: "secrets" });
    let plain = Bytes::from_static(b"{}");
    let old = secrets.to_storage(plain.clone(), "/k").await.unwrap();

    write(&rule("Secrets", "two"));
    assert!(apply().await.unwrap_err().to_string().contains("capital letters"));
    assert!(!secrets.from_storage(old.clone(), "/k").await.unwrap().stale, "the former one stays");

    let both = format!("{{name: two, secret: {KEY}}}, {{name: one, secret: {KEY}}}");
    write(&format!("- {{resources: [secrets], providers: [{{aesgcm: {{keys: [{both}]}}}}]}}\n"));
    apply().await.unwrap();
    // As in Kubernetes, the first key of the provider is the current one.
    assert_eq!(secrets.from_storage(old, "/k").await.unwrap(), Plain { value: plain.clone(), stale: true });
    assert!(secrets.to_storage(plain, "/k").await.unwrap().starts_with(b"k8s:enc:aesgcm:v1:two:"));

    // A service that cannot be reached is no reason to give up what works.
    write(
        "- {resources: [secrets], providers: [{kms: {apiVersion: v2, name: k, endpoint: 'unix:///nowhere', timeout: 1s}}]}\n",
    );
    let failure = apply().await.unwrap_err().to_string();
    assert!(failure.contains("failed to perform status section"), "{failure}");
}
