use serde_json::{Value, json};

use super::policy::Version;
use super::*;

fn details(spec: &Value, level: Level) -> String {
    let pod = Object::from_value(json!({"metadata": {"name": "p"}, "spec": spec})).unwrap();
    pod_violations(&pod, LevelVersion { level, version: Version::Latest }).details()
}

#[test]
fn a_plain_pod_is_not_restricted_enough() {
    let plain = json!({"containers": [{"name": "c", "image": "i"}]});
    assert_eq!(details(&plain, Level::Baseline), "");
    assert_eq!(
        details(&plain, Level::Restricted),
        "allowPrivilegeEscalation != false (container \"c\" must set securityContext.allowPrivilegeEscalation=false), \
         unrestricted capabilities (container \"c\" must set securityContext.capabilities.drop=[\"ALL\"]), \
         runAsNonRoot != true (pod or container \"c\" must set securityContext.runAsNonRoot=true), \
         seccompProfile (pod or container \"c\" must set securityContext.seccompProfile.type to \"RuntimeDefault\" or \"Localhost\")"
    );
    let careful = json!({
        "securityContext": {"runAsNonRoot": true, "seccompProfile": {"type": "RuntimeDefault"}},
        "containers": [{"name": "c", "securityContext": {
            "allowPrivilegeEscalation": false, "capabilities": {"drop": ["ALL"]},
        }}],
    });
    assert_eq!(details(&careful, Level::Restricted), "");
}

#[test]
fn every_way_to_the_node_is_told() {
    let table = [
        (json!({"hostPID": true, "hostNetwork": true}), "host namespaces (hostNetwork=true, hostPID=true)"),
        (json!({"volumes": [{"name": "v", "hostPath": {}}]}), "hostPath volumes (volume \"v\")"),
        (
            json!({"containers": [{"name": "a", "ports": [{"hostPort": 1}]}, {"name": "b", "ports": [{"hostPort": 2}]}]}),
            "hostPort (containers \"a\", \"b\" use hostPorts 1, 2)",
        ),
        (
            json!({"containers": [{"name": "c", "securityContext": {"privileged": true}}]}),
            "privileged (container \"c\" must not set securityContext.privileged=true)",
        ),
        (
            json!({"containers": [{"name": "c", "securityContext": {"capabilities": {"add": ["NET_RAW", "CHOWN"]}}}]}),
            "non-default capabilities (container \"c\" must not include \"NET_RAW\" in securityContext.capabilities.add)",
        ),
        (
            json!({"securityContext": {"seccompProfile": {"type": "Unconfined"}}}),
            "seccompProfile (pod must not set securityContext.seccompProfile.type to \"Unconfined\")",
        ),
        (
            json!({"securityContext": {"seLinuxOptions": {"type": "x", "user": "u"}}}),
            "seLinuxOptions (pod set forbidden securityContext.seLinuxOptions: type \"x\"; user may not be set)",
        ),
        (
            json!({"securityContext": {"sysctls": [{"name": "a"}, {"name": "net.ipv4.tcp_rmem"}]}}),
            "forbidden sysctls (a)",
        ),
    ];
    for (spec, expected) in table {
        assert_eq!(details(&spec, Level::Baseline), expected);
    }
}

#[test]
fn a_stricter_check_replaces_the_one_it_extends() {
    let found = details(&json!({"volumes": [{"name": "v", "hostPath": {}}]}), Level::Restricted);
    assert_eq!(found, "restricted volume types (volume \"v\" uses restricted volume type \"hostPath\")");
}

#[test]
fn labels_are_read_or_refused() {
    let policy = |labels: Value| {
        Policy::from_namespace(
            &Object::from_value(json!({"metadata": {"labels": labels}})).unwrap(),
            Policy::default(),
        )
    };
    let (found, errors) = policy(json!({
        "pod-security.kubernetes.io/enforce": "baseline", "pod-security.kubernetes.io/enforce-version": "v1.20",
    }));
    assert!(errors.is_empty());
    assert_eq!(found.enforce, LevelVersion { level: Level::Baseline, version: Version::Minor(20) });
    for (label, value) in [("enforce", "zork"), ("warn-version", "v1.01"), ("audit", "x")] {
        let (_, errors) = policy(json!({format!("pod-security.kubernetes.io/{label}"): value}));
        assert_eq!(errors.0.len(), 1, "{label}");
    }
    let (found, _) = policy(json!({"pod-security.kubernetes.io/enforce": "zork"}));
    assert_eq!(found.enforce.level, Level::Restricted);
}

#[test]
fn the_enforced_policy_warns_unless_the_namespace_says_otherwise() {
    let warned = |labels: Value| {
        let namespace = Object::from_value(json!({"metadata": {"labels": labels}})).unwrap();
        Policy::from_namespace(&namespace, Policy::default()).0.warn.to_string()
    };
    let enforce = "pod-security.kubernetes.io/enforce";
    let version = "pod-security.kubernetes.io/enforce-version";
    assert_eq!(warned(json!({enforce: "restricted", version: "v1.30"})), "restricted:v1.30");
    assert_eq!(warned(json!({enforce: "zork"})), "privileged:latest");
    let other = json!({enforce: "restricted", "pod-security.kubernetes.io/warn": "baseline"});
    assert_eq!(warned(other), "baseline:latest");
}

#[test]
fn standards_are_those_of_their_version() {
    let found = |spec: Value, level: Level, minor: u32| {
        let annotations = json!({"container.seccomp.security.alpha.kubernetes.io/c": "unconfined"});
        let pod = json!({"metadata": {"name": "p", "annotations": annotations}, "spec": spec});
        pod_violations(
            &Object::from_value(pod).unwrap(),
            LevelVersion { level, version: Version::Minor(minor) },
        )
        .details()
    };
    let plain = json!({"containers": [{"name": "c"}]});
    assert_eq!(
        found(plain.clone(), Level::Baseline, 18),
        "seccompProfile (forbidden annotation container.seccomp.security.alpha.kubernetes.io/c=\"unconfined\")"
    );
    assert_eq!(found(plain, Level::Baseline, 19), "");
    let engine = json!({"securityContext": {"seLinuxOptions": {"type": "container_engine_t"}}});
    assert_ne!(found(engine.clone(), Level::Baseline, 30), "");
    assert_eq!(found(engine, Level::Baseline, 31), "");
    let unmasked = json!({"hostUsers": false, "containers": [
        {"name": "c", "securityContext": {"procMount": "Unmasked"}},
    ]});
    assert_ne!(found(unmasked.clone(), Level::Baseline, 34), "");
    assert_eq!(found(unmasked.clone(), Level::Baseline, 35), "");
    assert!(found(unmasked, Level::Restricted, 35).contains("procMount"));
}

#[test]
fn images_and_seccomp_annotations_are_checked_again() {
    let pod = |image: &str, key: &str| {
        let annotations = json!({key: "unconfined"});
        let container = json!({"name": "c", "image": image});
        Object::from_value(
            json!({"metadata": {"annotations": annotations}, "spec": {"containers": [container]}}),
        )
        .unwrap()
    };
    let old = pod("i", "a");
    assert!(!is_significant(&pod("i", "b"), &old));
    assert!(!is_significant(&pod("i", "container.seccomp.security.alpha.kubernetes.io/other"), &old));
    assert!(is_significant(&pod("j", "a"), &old));
    assert!(is_significant(&pod("i", "container.seccomp.security.alpha.kubernetes.io/c"), &old));
    assert!(is_significant(&pod("i", "seccomp.security.alpha.kubernetes.io/pod"), &old));
}
