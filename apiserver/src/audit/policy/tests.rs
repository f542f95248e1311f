use registry_core::context::UserInfo;
use registry_core::schema::FieldIssue;
use request_info::RequestInfo;

use super::*;

const HEAD: &str = "apiVersion: audit.k8s.io/v1\nkind: Policy\n";

fn parse(rest: &str) -> Result<Policy, String> {
    Policy::parse(format!("{HEAD}{rest}").as_bytes()).map_err(|error| error.to_string())
}

fn level(policy: &Policy, user: &str, groups: &[&str], method: &http::Method, url: &str) -> AuditLevel {
    let info = RequestInfo::parse(method, &url.parse().unwrap());
    let groups = groups.iter().map(|group| (*group).to_owned()).collect();
    let user = UserInfo { name: user.to_owned(), groups, ..UserInfo::default() };
    policy.evaluate(&Attributes::from_request(&user, &info)).level
}

/// Returns the level of a GET, with a policy whose only rule has this condition.
fn matches(condition: &str, url: &str) -> bool {
    let policy = parse(&format!("rules:\n- level: Metadata\n  {condition}\n")).unwrap();
    level(&policy, "alice", &["devs"], &http::Method::GET, url) == AuditLevel::Metadata
}

#[test]
fn conditions_match_as_in_kubernetes() {
    const POD: &str = "/api/v1/namespaces/a/pods/web";
    const STATUS: &str = "/api/v1/namespaces/a/pods/web/status";
    const DEPLOYMENT: &str = "/apis/apps/v1/namespaces/a/deployments/web";
    for (condition, url, expected) in [
        ("users: [alice]", POD, true),
        ("users: [bob]", POD, false),
        ("userGroups: [ops, devs]", POD, true),
        ("userGroups: [ops]", POD, false),
        ("verbs: [get]", POD, true),
        ("verbs: [list]", POD, false),
        ("verbs: [list]", "/api/v1/pods", true),
        ("namespaces: [a]", POD, true),
        ("namespaces: [a]", "/version", false),
        ("namespaces: ['']", "/api/v1/nodes/n", true),
        ("namespaces: ['']", POD, false),
        ("resources: [{}]", POD, true),
        ("resources: [{}]", DEPLOYMENT, false),
        ("resources: [{group: '*'}]", DEPLOYMENT, true),
        ("resources: [{resources: [pods]}]", POD, true),
        ("resources: [{resources: [pods]}]", STATUS, false),
        ("resources: [{resources: [pods/status]}]", STATUS, true),
        ("resources: [{resources: ['pods/*']}]", STATUS, true),
        ("resources: [{resources: ['pods/*']}]", POD, true),
        ("resources: [{resources: ['*/status']}]", STATUS, true),
        ("resources: [{resources: ['*/status']}]", POD, false),
        ("resources: [{resources: ['*']}]", STATUS, true),
        ("resources: [{resources: [pods], resourceNames: [web]}]", POD, true),
        ("resources: [{resources: [pods], resourceNames: [db]}]", POD, false),
        ("resources: [{resources: [pods]}]", "/healthz", false),
        ("nonResourceURLs: ['/healthz*']", "/healthz/etcd", true),
        ("nonResourceURLs: ['/healthz']", "/healthz/etcd", false),
        ("nonResourceURLs: ['*']", "/anything", true),
        ("nonResourceURLs: ['*']", POD, false),
    ] {
        assert_eq!(matches(condition, url), expected, "{condition} {url}");
    }
}

#[test]
fn the_first_rule_decides_and_without_one_nothing_is_recorded() {
    let policy = parse(
        "omitStages: [RequestReceived]\nomitManagedFields: true\nrules:\n\
         - {level: None, users: [alice]}\n\
         - {level: Request, verbs: [get], omitStages: [Panic], omitManagedFields: false}\n\
         - {level: RequestResponse, verbs: [get]}\n",
    )
    .unwrap();
    assert_eq!(level(&policy, "alice", &[], &http::Method::GET, "/a"), AuditLevel::None);
    assert_eq!(level(&policy, "bob", &[], &http::Method::GET, "/a"), AuditLevel::Request);
    assert_eq!(level(&policy, "bob", &[], &http::Method::POST, "/a"), AuditLevel::None);
    let info = RequestInfo::parse(&http::Method::GET, &"/a".parse().unwrap());
    let verdict = policy.evaluate(&Attributes::from_request(&UserInfo::default(), &info));
    let recorded: Vec<_> = Stage::ALL.into_iter().filter(|stage| verdict.records(*stage)).collect();
    assert_eq!(recorded, [Stage::ResponseStarted, Stage::ResponseComplete]);
    assert!(!verdict.omits_managed_fields);
}

#[test]
fn a_policy_is_validated_as_a_whole() {
    for (rest, message) in [
        ("rules: []", "loaded illegal policy with 0 rules"),
        ("rules: [{}]", "rules[0].level: Required value"),
        (
            "rules: [{level: Everything}]",
            "rules[0].level: Unsupported value: \"Everything\": supported values: \"None\", \"Metadata\", \
             \"Request\", \"RequestResponse\"",
        ),
        (
            "rules: [{level: None, nonResourceURLs: [version, '/a*b']}]",
            "[rules[0].nonResourceURLs[0]: Invalid value: \"version\": non-resource URL rules must begin with a '/' \
             character, rules[0].nonResourceURLs[1]: Invalid value: \"/a*b\": non-resource URL wildcards '*' must be \
             the final character of the rule]",
        ),
        (
            "rules: [{level: None, nonResourceURLs: ['/a'], namespaces: [b]}]",
            "rules[0].nonResourceURLs: Invalid value: [\"/a\"]: rules cannot apply to both regular resources and \
             non-resource URLs",
        ),
        (
            "rules: [{level: None, resources: [{resourceNames: [a]}]}]",
            "rules[0].resources.resourceNames: Invalid value: [\"a\"]: using resourceNames requires at least one resource",
        ),
        (
            "rules: [{level: None, omitStages: [Later]}]",
            "rules[0].omitStages[0]: Invalid value: \"Later\": allowed stages are \
             RequestReceived,ResponseStarted,ResponseComplete,Panic",
        ),
    ] {
        assert_eq!(parse(rest).unwrap_err(), message, "{rest}");
    }
    let other = Policy::parse(b"apiVersion: audit.k8s.io/v1beta1\nkind: Policy\nrules: [{level: None}]");
    let message = "failed decoding: no kind \"Policy\" is registered for version \"audit.k8s.io/v1beta1\"";
    assert_eq!(other.unwrap_err().to_string(), message);
    let untyped = Policy::parse(b"rules: [{level: None}]").unwrap_err().to_string();
    assert!(untyped.contains("Object 'Kind' is missing in"));
    assert!(Policy::parse(b"rules: [").is_err());
    assert!(parse("rules: {}").is_err());
}

#[test]
fn unknown_and_duplicate_fields_are_ignored() {
    let policy =
        parse("zork: 1\nrules:\n- {level: Metadata, verb: [get], resources: [{kind: x}]}\nrules: null\n");
    assert!(policy.is_err(), "the last of duplicate fields counts");
    assert!(parse("zork: 1\nrules:\n- {level: Metadata, verb: [get], users: null}\n").is_ok());
    let mut issues = Vec::new();
    let policy = serde_json::json!({"zork": 1, "rules": [{"verb": [], "resources": [{"kind": ""}]}]});
    known::unknown_fields(&policy, &mut issues);
    let found = ["zork", "rules[0].verb", "rules[0].resources[0].kind"];
    assert_eq!(issues, found.map(|name| FieldIssue::Unknown(name.to_owned())));
}
