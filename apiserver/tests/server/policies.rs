//! Admission policies: what they refuse and change, and what wrong and hostile ones cannot do.

use std::time::{Duration, Instant};

use apiserver::testing::TestServer;
use serde_json::{Value, json};

use crate::client::Answer;
use crate::custom_resources::Client;

const GROUP: &str = "/apis/admissionregistration.k8s.io/v1";
const CONFIG_MAPS: &str = "/api/v1/namespaces/default/configmaps";
const TIMEOUT: Duration = Duration::from_secs(20);

fn rules(group: &str, resources: &str) -> Value {
    json!([{"apiGroups": [group], "apiVersions": ["*"], "operations": ["*"], "resources": [resources]}])
}

/// Adds the fields of one object to another.
fn extend(target: &mut Value, fields: Value) {
    if let (Value::Object(target), Value::Object(fields)) = (target, fields) {
        target.extend(fields);
    }
}

/// A validating policy of config maps with this specification.
fn validating(name: &str, spec: Value) -> Value {
    let mut policy = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicy",
        "metadata": {"name": name}, "spec": {"matchConstraints": {"resourceRules": rules("", "configmaps")}},
    });
    extend(&mut policy["spec"], spec);
    policy
}

fn mutating(name: &str, spec: Value) -> Value {
    let mut policy = validating(name, spec);
    policy["kind"] = json!("MutatingAdmissionPolicy");
    policy
}

fn binding(name: &str, spec: Value) -> Value {
    let mut binding = json!({
        "apiVersion": "admissionregistration.k8s.io/v1", "kind": "ValidatingAdmissionPolicyBinding",
        "metadata": {"name": name}, "spec": {"policyName": name, "validationActions": ["Deny"]},
    });
    extend(&mut binding["spec"], spec);
    binding
}

fn config_map(name: &str) -> Value {
    json!({"apiVersion": "v1", "kind": "ConfigMap", "metadata": {"name": name}, "data": {"a": "1"}})
}

struct Policies(Client);

impl Policies {
    async fn on(server: &TestServer) -> Self {
        Self(Client::connect(server).await)
    }

    async fn add(&mut self, policy: Value, binding: Value) {
        self.0.expect(201, "POST", &format!("{GROUP}/validatingadmissionpolicies"), policy).await;
        self.0.expect(201, "POST", &format!("{GROUP}/validatingadmissionpolicybindings"), binding).await;
    }

    async fn add_mutating(&mut self, policy: Value, mut binding: Value) {
        binding["kind"] = json!("MutatingAdmissionPolicyBinding");
        binding["spec"].as_object_mut().unwrap().remove("validationActions");
        self.0.expect(201, "POST", &format!("{GROUP}/mutatingadmissionpolicies"), policy).await;
        self.0.expect(201, "POST", &format!("{GROUP}/mutatingadmissionpolicybindings"), binding).await;
    }

    async fn try_create(&mut self, path: &str, object: &Value) -> Answer {
        self.0.send("POST", &format!("{path}?dryRun=All"), object).await
    }

    /// Creates a config map, again until the answer is as wanted: policies come into force a moment after they are written.
    async fn until(&mut self, object: &Value, is_wanted: impl Fn(&Answer) -> bool) -> Answer {
        let begun = Instant::now();
        loop {
            let answer = self.try_create(CONFIG_MAPS, object).await;
            if is_wanted(&answer) {
                return answer;
            }
            assert!(begun.elapsed() < TIMEOUT, "it is still {}", answer.text());
            tokio::time::sleep(Duration::from_millis(10)).await;
        }
    }

    async fn until_denied(&mut self, object: &Value, message: &str) -> Answer {
        self.until(object, |answer| {
            answer.status >= 400 && answer.json()["message"].as_str().unwrap_or_default().contains(message)
        })
        .await
    }
}

#[tokio::test]
async fn a_policy_denies_with_its_message_and_reason_until_it_is_gone() {
    let server = TestServer::builder().memory().start().await.unwrap();
    let mut policies = Policies::on(&server).await;
    let spec = json!({"validations": [{
        "expression": "object.data.a == '2'", "messageExpression": "'a is ' + object.data.a", "reason": "Forbidden",
    }]});
    policies.add(validating("p", spec), binding("p", json!({}))).await;
    let answer = policies.until_denied(&config_map("c"), "a is 1").await;
    assert_eq!(answer.status, 403);
    let body = answer.json();
    let expected = "ValidatingAdmissionPolicy 'p' with binding 'p' denied request: a is 1";
    assert_eq!(body["message"], format!("configmaps \"c\" is forbidden: {expected}"));
    assert_eq!(body["details"]["causes"], json!([{"message": expected}]));
    let binding = format!("{GROUP}/validatingadmissionpolicybindings/p");
    policies.0.expect(200, "DELETE", &binding, Value::Null).await;
    policies.until(&config_map("c"), |answer| answer.status == 201).await;
    server.stop().await;
}

#[tokio::test]
async fn expensive_policies_end_at_their_limit() {
    let server = TestServer::builder().memory().start().await.unwrap();
    let mut policies = Policies::on(&server).await;
    let digits = "[1,2,3,4,5,6,7,8,9,10]";
    let nested = |levels: usize| {
        let open: Vec<String> = (0..levels).map(|level| format!("{digits}.all(v{level}, ")).collect();
        let open = open.concat();
        format!("{open}object.data.a == '1'{}", ")".repeat(levels))
    };
    let variables: Vec<Value> =
        (0..100).map(|number| json!({"name": format!("v{number}"), "expression": nested(7)})).collect();
    let all: Vec<String> = (0..100).map(|number| format!("variables.v{number}")).collect();
    let spec = json!({"variables": variables, "validations": [{"expression": all.join(" || ")}]});
    policies.add(validating("slow", spec), binding("slow", json!({}))).await;
    policies.until_denied(&config_map("c"), "running out of cost budget").await;
    server.stop().await;
}

#[tokio::test]
async fn expressions_of_maximal_size_are_refused_or_served() {
    let server = TestServer::builder().memory().start().await.unwrap();
    let mut policies = Policies::on(&server).await;
    let path = format!("{GROUP}/validatingadmissionpolicies");
    let long = format!("'{}' == object.data.a", "x".repeat(99_000));
    let spec = json!({"validations": [{"expression": long}]});
    policies.add(validating("long", spec), binding("long", json!({}))).await;
    policies.until_denied(&config_map("c"), "failed expression").await;
    for (name, expression, status) in [
        ("name", "x".repeat(1_000_000), 422),
        ("parentheses", "(".repeat(90_000), 422),
        ("negations", format!("{}true", "!".repeat(90_000)), 201),
        ("long-conjunction", vec!["true"; 30_000].join(" && "), 422),
        ("conjunction", vec!["true"; 2_000].join(" && "), 201),
    ] {
        let spec = json!({"validations": [{"expression": expression}]});
        let answer = policies.0.send("POST", &path, &validating(name, spec)).await;
        assert_eq!(answer.status, status, "{name}");
    }
    server.stop().await;
}

#[tokio::test]
async fn policies_do_not_apply_to_policies() {
    let server = TestServer::builder().memory().start().await.unwrap();
    let mut policies = Policies::on(&server).await;
    let mut policy = validating("all", json!({"validations": [{"expression": "false", "message": "never"}]}));
    policy["spec"]["matchConstraints"]["resourceRules"] =
        json!([{"apiGroups": ["*"], "apiVersions": ["*"], "operations": ["*"], "resources": ["*/*"]}]);
    policies.add(policy, binding("all", json!({}))).await;
    policies.until_denied(&config_map("c"), "never").await;
    // The policy that denies everything can be removed.
    let path = format!("{GROUP}/validatingadmissionpolicies/all");
    policies.0.expect(200, "DELETE", &path, Value::Null).await;
    policies.until(&config_map("c"), |answer| answer.status == 201).await;
    server.stop().await;
}

#[tokio::test]
async fn parameters_that_are_absent_or_vanish_decide_by_the_action() {
    let server = TestServer::builder().memory().start().await.unwrap();
    let mut policies = Policies::on(&server).await;
    let spec = json!({
        "paramKind": {"apiVersion": "v1", "kind": "Secret"},
        "validations": [{"expression": "object.data.a == string(params.type)", "messageExpression": "string(params.type)"}],
    });
    let params = json!({"name": "limits", "namespace": "default", "parameterNotFoundAction": "Deny"});
    policies.add(validating("p", spec), binding("p", json!({"paramRef": params}))).await;
    let absent =
        "failed to configure binding: no params found for policy binding with `Deny` parameterNotFoundAction";
    policies.until_denied(&config_map("c"), absent).await;
    let secret = json!({"apiVersion": "v1", "kind": "Secret", "metadata": {"name": "limits"}, "type": "example.com/x"});
    policies.0.expect(201, "POST", "/api/v1/namespaces/default/secrets", secret).await;
    policies.until_denied(&config_map("c"), "denied request: example.com/x").await;
    policies.0.expect(200, "DELETE", "/api/v1/namespaces/default/secrets/limits", Value::Null).await;
    policies.until_denied(&config_map("c"), absent).await;
    let change = json!({"spec": {"paramRef": {"parameterNotFoundAction": "Allow"}}});
    let path = format!("{GROUP}/validatingadmissionpolicybindings/p");
    policies.0.expect(200, "PATCH", &path, change).await;
    policies.until(&config_map("c"), |answer| answer.status == 201).await;
    // A kind that is not served is a failure of the policy.
    let change = json!({"spec": {"paramKind": {"apiVersion": "example.com/v1", "kind": "Nope"}}});
    policies.0.expect(200, "PATCH", &format!("{GROUP}/validatingadmissionpolicies/p"), change).await;
    let unknown = "failed to configure policy: failed to find resource referenced by paramKind: 'example.com/v1, Kind=Nope'";
    policies.until_denied(&config_map("c"), unknown).await;
    server.stop().await;
}

#[tokio::test]
async fn a_binding_without_its_policy_does_nothing() {
    let server = TestServer::builder().memory().start().await.unwrap();
    let mut policies = Policies::on(&server).await;
    let path = format!("{GROUP}/validatingadmissionpolicybindings");
    policies.0.expect(201, "POST", &path, binding("nobody", json!({}))).await;
    let spec =
        json!({"validations": [{"expression": "object.metadata.name != 'marker'", "message": "in force"}]});
    policies.add(validating("other", spec), binding("other", json!({}))).await;
    policies.until_denied(&config_map("marker"), "in force").await;
    assert_eq!(policies.try_create(CONFIG_MAPS, &config_map("c")).await.status, 201);
    server.stop().await;
}

#[tokio::test]
async fn a_thousand_policies_are_evaluated_for_what_they_match() {
    let server = TestServer::builder().memory().start().await.unwrap();
    let mut policies = Policies::on(&server).await;
    for number in 0..1_000 {
        let name = format!("p{number:04}");
        let mut policy = validating(&name, json!({"validations": [{"expression": "false"}]}));
        if number != 999 {
            policy["spec"]["matchConstraints"]["resourceRules"] = rules("example.com", "things");
        }
        policies.add(policy, binding(&name, json!({}))).await;
    }
    let denied = policies.until_denied(&config_map("c"), "'p0999'").await;
    let causes = denied.json()["details"]["causes"].as_array().unwrap().len();
    assert_eq!((denied.status, causes), (422, 1), "{}", denied.text());
    server.stop().await;
}

#[tokio::test]
async fn a_policy_matches_every_version_of_a_custom_kind_in_its_own() {
    let server = TestServer::builder().memory().start().await.unwrap();
    let mut policies = Policies::on(&server).await;
    let schema = json!({"openAPIV3Schema": {"type": "object", "x-kubernetes-preserve-unknown-fields": true}});
    let version = |name: &str, storage: bool| json!({"name": name, "served": true, "storage": storage, "schema": schema});
    let definition = json!({
        "apiVersion": "apiextensions.k8s.io/v1", "kind": "CustomResourceDefinition",
        "metadata": {"name": "things.example.com"},
        "spec": {
            "group": "example.com", "scope": "Namespaced", "names": {"plural": "things", "kind": "Thing"},
            "versions": [version("v1", true), version("v2", false)],
        },
    });
    policies.0.define(definition).await;
    let spec = json!({"validations": [{
        "expression": "false",
        "messageExpression": "object.apiVersion + ' ' + request.kind.version + ' ' + request.requestKind.version",
    }]});
    let mut policy = validating("things", spec);
    policy["spec"]["matchConstraints"]["resourceRules"] = json!([
        {"apiGroups": ["example.com"], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["things"]}
    ]);
    policies.add(policy, binding("things", json!({}))).await;
    let begun = Instant::now();
    loop {
        let thing = json!({"apiVersion": "example.com/v2", "kind": "Thing", "metadata": {"name": "t"}});
        let answer = policies.try_create("/apis/example.com/v2/namespaces/default/things", &thing).await;
        if answer.status == 422 {
            let expected = "denied request: example.com/v1 v1 v2";
            assert!(answer.json()["message"].as_str().unwrap().ends_with(expected), "{}", answer.text());
            break;
        }
        assert!(begun.elapsed() < TIMEOUT, "it is still {}", answer.text());
        tokio::time::sleep(Duration::from_millis(10)).await;
    }
    server.stop().await;
}

#[tokio::test]
async fn mutations_are_merged_and_run_again_after_later_changes() {
    let server = TestServer::builder().memory().start().await.unwrap();
    let mut policies = Policies::on(&server).await;
    let counting = json!({
        "reinvocationPolicy": "IfNeeded",
        "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression":
            "[JSONPatch{op: 'replace', path: '', value: object},
              JSONPatch{op: 'add', path: '/data/seen', value: string(size(object.data))}]"}}],
    });
    let adding = json!({
        "reinvocationPolicy": "Never",
        "mutations": [
            {"patchType": "ApplyConfiguration", "applyConfiguration": {"expression":
                "Object{data: {'added': object.data.a}, metadata: Object.metadata{labels: {'m': 'yes'}}}"}},
        ],
    });
    policies.add_mutating(mutating("a-counting", counting), binding("a-counting", json!({}))).await;
    policies.add_mutating(mutating("b-adding", adding), binding("b-adding", json!({}))).await;
    let answer = policies
        .until(&config_map("c"), |answer| {
            answer.json()["data"] == json!({"a": "1", "added": "1", "seen": "3"})
        })
        .await;
    assert_eq!(answer.json()["metadata"]["labels"], json!({"m": "yes"}));
    server.stop().await;
}

#[tokio::test]
async fn the_last_policy_runs_again_once_after_its_own_mutation() {
    let server = TestServer::builder().memory().start().await.unwrap();
    let mut policies = Policies::on(&server).await;
    let appending = |reinvocation: &str| {
        json!({
            "reinvocationPolicy": reinvocation,
            "mutations": [{"patchType": "JSONPatch", "jsonPatch": {"expression":
                "[JSONPatch{op: 'add', path: '/data/c', value: has(object.data.c) ? object.data.c + 'x' : 'x'}]"}}],
        })
    };
    for (name, reinvocation, expected) in [("never", "Never", "x"), ("needed", "IfNeeded", "xxx")] {
        policies.add_mutating(mutating(name, appending(reinvocation)), binding(name, json!({}))).await;
        // The first policy appends once, beside the second one, which appends in both runs.
        policies
            .until(&config_map(name), |answer| answer.json()["data"] == json!({"a": "1", "c": expected}))
            .await;
    }
    server.stop().await;
}

#[tokio::test]
async fn mutations_that_do_not_fit_are_refused_with_the_reason() {
    let server = TestServer::builder().memory().start().await.unwrap();
    let mut policies = Policies::on(&server).await;
    let cases = [
        ("Object{dat: {'a': '1'}}", "applyConfiguration", ".dat: field not declared in schema"),
        (
            "Object{metadata: Object.meta{}}",
            "applyConfiguration",
            "type mismatch: unexpected type name \"Object.meta\", expected \"Object.metadata\"",
        ),
        ("Object{data: null}", "applyConfiguration", ".data: expected map, got &{NULL_VALUE}"),
        (
            "[JSONPatch{op: 'remove', path: '/data/x'}]",
            "jsonPatch",
            "JSON Patch: error in remove for path: '/data/x': Unable to remove nonexistent key: x: missing value",
        ),
        ("[JSONPatch{op: 'zork', path: '/data'}]", "jsonPatch", "JSON Patch: Unexpected kind: zork"),
        (
            "[JSONPatch{op: 'replace', path: '', value: 'x'}]",
            "jsonPatch",
            "JSON Patch: replace operation value must be object or array: %!w(<nil>)",
        ),
        (
            "[JSONPatch{op: 'add', path: '/dat', value: 1}]",
            "jsonPatch",
            "strict decoding error: unknown field \"dat\"",
        ),
    ];
    for (index, (expression, field, message)) in cases.into_iter().enumerate() {
        let name = format!("m{index}");
        let kind = if field == "jsonPatch" { "JSONPatch" } else { "ApplyConfiguration" };
        let spec = json!({
            "reinvocationPolicy": "Never", "mutations": [{"patchType": kind, field: {"expression": expression}}],
        });
        policies.add_mutating(mutating(&name, spec), binding(&name, json!({}))).await;
        policies.until_denied(&config_map("c"), message).await;
        let path = format!("{GROUP}/mutatingadmissionpolicies/{name}");
        policies.0.expect(200, "DELETE", &path, Value::Null).await;
        policies.until(&config_map("c"), |answer| answer.status == 201).await;
    }
    server.stop().await;
}

#[tokio::test]
async fn the_types_of_expressions_are_checked_against_the_kinds() {
    let server = TestServer::builder().memory().start().await.unwrap();
    let mut policies = Policies::on(&server).await;
    let spec =
        json!({"validations": [{"expression": "object.data.a == 1"}, {"expression": "object.nope == 'x'"}]});
    let mut policy = validating("typed", spec);
    policy["spec"]["matchConstraints"]["resourceRules"] = json!([
        {"apiGroups": [""], "apiVersions": ["v1"], "operations": ["CREATE"], "resources": ["configmaps"]}
    ]);
    policies.0.expect(201, "POST", &format!("{GROUP}/validatingadmissionpolicies"), policy).await;
    let path = format!("{GROUP}/validatingadmissionpolicies/typed");
    let checked = policies.0.until(&path, |found| found["status"]["observedGeneration"] == 1).await;
    let warnings = checked["status"]["typeChecking"]["expressionWarnings"].as_array().unwrap();
    let fields: Vec<&str> = warnings.iter().filter_map(|warning| warning["fieldRef"].as_str()).collect();
    assert_eq!(fields, ["spec.validations[0].expression", "spec.validations[1].expression"]);
    let text = warnings[1]["warning"].as_str().unwrap();
    assert!(text.starts_with("/v1, Kind=ConfigMap: ERROR: <input>:1:7: undefined field 'nope'"), "{text}");
    server.stop().await;
}

/// Returns the value of a metric with these labels; 0 if there is none.
fn metric(page: &str, name: &str, labels: &[&str]) -> f64 {
    let is_meant = |line: &&str| {
        line.strip_prefix(name).is_some_and(|rest| rest.starts_with('{'))
            && labels.iter().all(|label| line.contains(label))
    };
    page.lines().find(is_meant).and_then(|line| line.rsplit(' ').next()?.parse().ok()).unwrap_or_default()
}

#[tokio::test]
async fn decisions_of_policies_are_counted() {
    let server = TestServer::builder().memory().start().await.unwrap();
    let mut policies = Policies::on(&server).await;
    let only =
        |name: &str| json!([{"name": "only", "expression": format!("object.metadata.name == '{name}'")}]);
    let validation = |expression: &str| json!([{"expression": expression}]);
    let denying = json!({"matchConditions": only("c"), "validations": validation("false")});
    policies.add(validating("deny", denying), binding("deny", json!({}))).await;
    let soft = json!({"matchConditions": only("w"), "validations": validation("false")});
    policies
        .add(validating("soft", soft), binding("soft", json!({"validationActions": ["Warn", "Audit"]})))
        .await;
    let ignored = json!({
        "matchConditions": only("w"), "failurePolicy": "Ignore", "validations": validation("object.data.nope == '1'"),
    });
    policies.add(validating("lenient", ignored), binding("lenient", json!({}))).await;
    let change = "Object{metadata: Object.metadata{labels: {'m': 'm'}}}";
    let mutation = json!({
        "reinvocationPolicy": "Never", "failurePolicy": "Fail",
        "mutations": [{"patchType": "ApplyConfiguration", "applyConfiguration": {"expression": change}}],
    });
    policies.add_mutating(mutating("change", mutation), binding("change", json!({}))).await;

    policies.until_denied(&config_map("c"), "'deny'").await;
    policies
        .until(&config_map("w"), |answer| {
            answer.json()["metadata"]["labels"]["m"] == "m"
                && answer
                    .headers
                    .get_all("warning")
                    .iter()
                    .any(|text| text.to_str().unwrap().contains("'soft'"))
        })
        .await;
    let page = policies.0.send("GET", "/metrics", &Value::Null).await.text();
    let checks = "apiserver_validating_admission_policy_check_total";
    for (policy, error, action) in [
        ("deny", "no_error", "deny"),
        ("soft", "no_error", "warn"),
        ("soft", "no_error", "audit"),
        ("lenient", "invalid_error", "allow"),
    ] {
        let labels = [
            format!("policy=\"{policy}\""),
            format!("policy_binding=\"{policy}\""),
            format!("error_type=\"{error}\""),
            format!("enforcement_action=\"{action}\""),
        ];
        let labels = labels.each_ref().map(String::as_str);
        assert!(metric(&page, checks, &labels) >= 1.0, "{labels:?}");
        let times = "apiserver_validating_admission_policy_check_duration_seconds_count";
        assert_eq!(metric(&page, times, &labels), metric(&page, checks, &labels), "{labels:?}");
    }
    let mutations = "apiserver_mutating_admission_policy_check_total";
    assert!(metric(&page, mutations, &["policy=\"change\"", "error_type=\"no_error\""]) >= 1.0);
    let labels = ["kind=\"policy\"", "name=\"deny\"", "operation=\"CREATE\"", "type=\"validate\""];
    assert!(metric(&page, "apiserver_admission_match_condition_exclusions_total", &labels) >= 1.0);
    assert!(metric(&page, "apiserver_admission_match_condition_evaluation_seconds_count", &labels) >= 2.0);
    server.stop().await;
}

#[tokio::test(flavor = "multi_thread", worker_threads = 2)]
async fn a_short_request_is_answered_beside_policies_that_take_long() {
    let server = TestServer::builder().memory().start().await.unwrap();
    let mut policies = Policies::on(&server).await;
    let list = "lists.range(90)";
    let slow = format!("{list}.all(a, {list}.all(b, {list}.all(c, object.data.a != string(a + 1000))))");
    let validations: Vec<Value> = (0..8).map(|_| json!({"expression": slow})).collect();
    let spec = json!({"validations": validations});
    policies.add(validating("slow", spec), binding("slow", json!({}))).await;
    policies.until_denied(&config_map("c"), "cost").await;
    let mut writes = tokio::task::JoinSet::new();
    for number in 0..4 {
        let mut client = Client::connect(&server).await;
        writes.spawn(async move {
            let object = config_map(&format!("c{number}"));
            client.send("POST", &format!("{CONFIG_MAPS}?dryRun=All"), &object).await.status
        });
    }
    let mut quiet = Client::connect(&server).await;
    for _ in 0..5 {
        assert_eq!(quiet.send("GET", "/readyz", &Value::Null).await.status, 200);
    }
    assert_eq!(quiet.send("GET", "/api/v1/namespaces/default", &Value::Null).await.status, 200);
    assert!(writes.try_join_next().is_none(), "short requests waited for long ones");
    while let Some(status) = writes.join_next().await {
        assert_eq!(status.unwrap(), 422);
    }
}
