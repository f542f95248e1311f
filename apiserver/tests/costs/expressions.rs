//! Patterns in expressions, and values that share their parts.

use std::time::Duration;

use registry_core::cel::{
    Activation, CostBudget, Environment, EvaluationError, Libraries, Type, Value as CelValue, overloads,
};
use registry_core::context::Budget;
use registry_core::schema::go_regexp::Pattern;
use serde_json::{Value, json};

use super::cost::{Findings, timed};
use super::fixture::Server;

const CLAIMS: &str = "/apis/resource.k8s.io/v1/namespaces/default/resourceclaims?dryRun=All";
const CLASSES: &str = "/apis/resource.k8s.io/v1/deviceclasses?dryRun=All";
const POLICIES: &str = "/apis/admissionregistration.k8s.io/v1/validatingadmissionpolicies?dryRun=All";
const WEBHOOKS: &str = "/apis/admissionregistration.k8s.io/v1/validatingwebhookconfigurations?dryRun=All";
const DEFINITIONS: &str = "/apis/apiextensions.k8s.io/v1/customresourcedefinitions?dryRun=All";

/// Patterns that are short as they are written, and large as a program.
const PATTERNS: [&str; 6] = [
    r"(\\pL{50}){9}",
    r"\\pL{1000}",
    r"(?i)\\p{Greek}{999}",
    ".{1000}",
    "(a{30}){30}",
    r"[^\\p{L}\\p{N}]{500}",
];
/// Size of the smaller body.
const BYTES: usize = 64 * 1024;

/// Returns expressions of this total length that have a pattern each.
fn expressions(pattern: &str, subject: &str, bytes: usize) -> Vec<String> {
    let expression = |number: usize| format!("{subject}.matches('x{number}{pattern}')");
    let length = expression(100_000).len();
    (0..bytes / length).map(expression).collect()
}

fn meta(name: &str) -> Value {
    json!({"name": name})
}

fn selectors(pattern: &str, bytes: usize) -> Vec<Value> {
    let all = expressions(pattern, "device.driver", bytes);
    let joined = all.chunks(100).map(|some| some.join(" || "));
    joined.map(|text| json!({"cel": {"expression": text}})).collect()
}

fn claim(pattern: &str, bytes: usize) -> Value {
    let selectors = selectors(pattern, bytes);
    let requests = selectors.chunks(32).enumerate().map(|(number, some)| {
        let exactly =
            json!({"deviceClassName": "c", "allocationMode": "ExactCount", "count": 1, "selectors": some});
        json!({"name": format!("r{number}"), "exactly": exactly})
    });
    json!({"metadata": meta("c"), "spec": {"devices": {"requests": requests.collect::<Vec<_>>()}}})
}

fn class(pattern: &str, bytes: usize) -> Value {
    json!({"metadata": meta("c"), "spec": {"selectors": selectors(pattern, bytes)}})
}

fn policy(pattern: &str, bytes: usize) -> Value {
    let validations: Vec<Value> = expressions(pattern, "object.metadata.name", bytes)
        .into_iter()
        .map(|expression| json!({"expression": expression}))
        .collect();
    let rule = json!({"apiGroups": [""], "apiVersions": ["*"], "operations": ["*"], "resources": ["pods"]});
    json!({"metadata": meta("p"),
           "spec": {"matchConstraints": {"resourceRules": [rule]}, "validations": validations}})
}

fn webhooks(pattern: &str, bytes: usize) -> Value {
    let conditions: Vec<Value> = expressions(pattern, "object.metadata.name", bytes)
        .into_iter()
        .enumerate()
        .map(|(number, expression)| json!({"name": format!("c{number}"), "expression": expression}))
        .collect();
    let webhooks = conditions.chunks(64).enumerate().map(|(number, some)| {
        json!({"name": format!("w{number}.example.com"), "sideEffects": "None",
               "admissionReviewVersions": ["v1"], "clientConfig": {"url": "https://localhost/"},
               "matchConditions": some})
    });
    json!({"metadata": meta("w"), "webhooks": webhooks.collect::<Vec<_>>()})
}

fn definition(schema: &Value) -> Value {
    json!({"metadata": meta("things.example.com"), "spec": {
        "group": "example.com", "scope": "Namespaced",
        "names": {"plural": "things", "singular": "thing", "kind": "Thing", "listKind": "ThingList"},
        "versions": [{"name": "v1", "served": true, "storage": true, "schema": {"openAPIV3Schema": {
            "type": "object", "properties": {"spec": schema}}}}],
    }})
}

fn rules(pattern: &str, bytes: usize) -> Value {
    let rules: Vec<Value> =
        expressions(pattern, "self", bytes).into_iter().map(|rule| json!({"rule": rule})).collect();
    definition(&json!({"type": "string", "maxLength": 10, "x-kubernetes-validations": rules}))
}

fn patterns(pattern: &str, bytes: usize) -> Value {
    let pattern = pattern.replace(r"\\", r"\");
    let field = |number: usize| {
        (format!("f{number}"), json!({"type": "string", "pattern": format!("x{number}{pattern}")}))
    };
    let properties: serde_json::Map<String, Value> = (0..bytes / 60).map(field).collect();
    definition(&json!({"type": "object", "properties": properties}))
}

type Generator = (&'static str, &'static str, fn(&str, usize) -> Value);

const GENERATORS: [Generator; 6] = [
    ("claims", CLAIMS, claim),
    ("classes", CLASSES, class),
    ("policies", POLICIES, policy),
    ("webhooks", WEBHOOKS, webhooks),
    ("rules", DEFINITIONS, rules),
    ("patterns", DEFINITIONS, patterns),
];

#[test]
fn patterns_of_clients_take_linear_time() {
    let server = Server::start();
    let mut findings = Findings::default();
    for (name, url, generate) in GENERATORS {
        for pattern in PATTERNS {
            findings.compare(format!("{name}: {pattern}"), BYTES, &mut |bytes| {
                let body = generate(pattern, bytes).to_string();
                let answer = server.post_within_budget(url, body.clone());
                assert!([201, 422].contains(&answer.status.as_u16()), "{name}: {}", answer.json());
                (body.len(), answer.time)
            });
        }
    }
    findings.expect_none();
}

#[test]
fn a_few_patterns_that_go_accepts_are_accepted() {
    let server = Server::start();
    for (name, url, generate) in GENERATORS {
        for pattern in PATTERNS {
            let answer = server.post_within_budget(url, generate(pattern, 300).to_string());
            assert_eq!(answer.status, 201, "{name} {pattern}: {}", answer.json());
        }
    }
}

#[test]
fn checking_a_pattern_takes_no_longer_than_reading_it() {
    for pattern in PATTERNS {
        let texts: Vec<String> =
            (0..1_000).map(|number| format!("x{number}{pattern}").replace(r"\\", r"\")).collect();
        let quoted = serde_json::to_string(&texts).unwrap();
        let ((), reading) = timed(|| {
            for _ in 0..100 {
                serde_json::from_str::<Value>(&quoted).unwrap();
            }
        });
        let (checked, checking) = timed(|| texts.iter().all(|text| Pattern::check(text).is_ok()));
        assert!(checked && checking <= reading, "{pattern}: {checking:?} for 1000, beside {reading:?}");
    }
}

/// Number of pairs around each other: printed, they are 2^40 parts.
const PAIRS: usize = 40;
/// Number of parts of the value that the time is measured with.
const REFERENCE_PARTS: usize = 400_000;
/// Number of times that the time of the reference may be taken: a limit is above its number of parts.
const MAX_TIMES: u32 = 20;

/// Values with pairs around each other, as all kinds of values that have parts.
fn shared() -> Vec<(&'static str, CelValue<'static>)> {
    let pair = |value: CelValue<'static>| CelValue::list(vec![value.clone(), value]);
    let entry = |value: CelValue<'static>| {
        let keys = ["a", "b"].map(CelValue::string);
        let entries = keys.map(|key| {
            let text = key.as_str().unwrap_or_default().to_owned();
            (
                registry_core::cel::Key::String(registry_core::cel::Text::Shared(text.into())),
                (key, value.clone()),
            )
        });
        CelValue::map(entries.into_iter().collect())
    };
    let optional = move |value: CelValue<'static>| CelValue::some(pair(value));
    let nested = |wrap: &dyn Fn(CelValue<'static>) -> CelValue<'static>| {
        (0..PAIRS).fold(CelValue::Int(1), |value, _| wrap(value))
    };
    vec![("lists", nested(&pair)), ("maps", nested(&entry)), ("optionals", nested(&optional))]
}

/// Calls of every declared function, and operators, with `v` and `w` for values with many parts.
fn calls() -> Vec<String> {
    let operators = [
        "v == w",
        "v != w",
        "v in [w]",
        "w in [v, v]",
        "[v] + [w] == [w] + [v]",
        "{'a': v} == {'a': w}",
        "[v].exists(x, x == w)",
        "[v].map(x, x == w)",
        "[1, 2].all(x, v != w)",
        "v ? 1 : 2",
        "-v",
        "!v",
        "v < w",
        "v + w",
        "v - w",
        "[0][v]",
        "{'a': 1}[v]",
        "v[w]",
        "{v: 1}",
        "[?v]",
        "has(v.a) && v == w",
        "[v].transformList(i, x, x == w)",
        "[v].transformMap(i, x, x == w)",
        "[[v, w]].sortBy(x, x)",
        "optional.of(v) == optional.of(w)",
        "optional.of(v).orValue(w) == w",
        "v.?a == w.?a",
        "cel.bind(x, v, x == w)",
    ];
    let args = ["v", "[v, w]", "'%s %s'"];
    let mut calls: Vec<String> = operators.map(str::to_owned).to_vec();
    let mut names: Vec<&str> =
        overloads(Libraries::for_stored_expressions()).into_iter().map(|(function, _)| function).collect();
    names.dedup();
    let is_name = |name: &&str| name.chars().all(|letter| letter.is_ascii_alphanumeric() || letter == '.');
    for name in names.into_iter().filter(is_name) {
        for first in args {
            calls.push(format!("{name}({first})"));
            calls.push(format!("({first}).{name}()"));
            for second in args {
                calls.push(format!("{name}({first}, {second})"));
                calls.push(format!("({first}).{name}({second})"));
            }
        }
    }
    calls
}

#[test]
fn values_that_share_parts_take_bounded_time_in_every_call() {
    let environment = Environment::kubernetes().with_variable("v", Type::Dyn).with_variable("w", Type::Dyn);
    let flat = || CelValue::list((0_i64..).take(REFERENCE_PARTS).map(CelValue::Int).collect());
    let equal = environment.compile("v == w", &Budget::default()).unwrap();
    let mut evaluated = 0;
    let mut limited = 0;
    let mut slow = Vec::new();
    for (name, value) in shared() {
        // Another one of the same form: comparing cannot find that it is the same memory.
        let other = shared().into_iter().find(|(other, _)| *other == name).unwrap().1;
        for call in calls() {
            let Ok(program) = environment.compile(&call, &Budget::default()) else { continue };
            let mut activation: Activation<'_> = environment.activation();
            activation.bind_value("v", value.clone());
            activation.bind_value("w", other.clone());
            let request = Budget::default();
            let (outcome, time) = timed(|| {
                let budget = CostBudget::default().within(&request);
                program.evaluate(&activation, &budget).and_then(|value| value.to_json(&budget)).map(drop)
            });
            evaluated += 1;
            limited += usize::from(outcome == Err(EvaluationError::CostLimitExceeded));
            let mut reference = environment.activation();
            reference.bind_value("v", flat());
            reference.bind_value("w", flat());
            let compare = || equal.evaluate(&reference, &CostBudget::default()).unwrap().as_bool();
            if time > Duration::from_millis(5) {
                let (_, allowed) = timed(compare);
                if time > allowed * MAX_TIMES {
                    slow.push(format!("{call} of {name}: {time:?}, beside {allowed:?}"));
                }
            }
        }
    }
    assert!(slow.is_empty(), "{}", slow.join("\n"));
    assert!(evaluated > 300 && limited > 30, "{evaluated} were evaluated, {limited} ended with the limit");
}
