//! Comparison of the permissions of policy rules.
//!
//! Kubernetes concept: `k8s.io/component-helpers/auth/rbac/validation.Covers`.

use serde_json::{Map, Value};

/// Returns the parts of `wanted` that `present` does not allow, as rules of one verb on one resource or URL each.
pub(crate) fn missing_rules(present: &[Value], wanted: &[Value]) -> Vec<Value> {
    let single = wanted.iter().flat_map(singles);
    single.filter(|rule| !present.iter().any(|owner| covers(owner, rule))).collect()
}

/// Splits a rule into rules of one verb, group, resource and name, or one verb and URL, each.
fn singles(rule: &Value) -> Vec<Value> {
    let mut found = Vec::new();
    for verb in texts(rule, "verbs") {
        for group in texts(rule, "apiGroups") {
            for resource in texts(rule, "resources") {
                let single = |name: Option<&str>| {
                    let mut fields = vec![("apiGroups", group), ("resources", resource), ("verbs", verb)];
                    fields.extend(name.map(|name| ("resourceNames", name)));
                    single_rule(fields)
                };
                let before = found.len();
                found.extend(texts(rule, "resourceNames").map(|name| single(Some(name))));
                if found.len() == before {
                    found.push(single(None));
                }
            }
        }
        found.extend(
            texts(rule, "nonResourceURLs")
                .map(|url| single_rule(vec![("nonResourceURLs", url), ("verbs", verb)])),
        );
    }
    found
}

fn single_rule(fields: Vec<(&str, &str)>) -> Value {
    let fields = fields.into_iter().map(|(name, value)| (name.to_owned(), Value::from(vec![value])));
    Value::Object(fields.collect::<Map<_, _>>())
}

fn texts<'a>(rule: &'a Value, field: &str) -> impl Iterator<Item = &'a str> + use<'a> {
    rule.get(field).and_then(Value::as_array).into_iter().flatten().filter_map(Value::as_str)
}

/// Whether a rule allows everything that a split rule does.
fn covers(owner: &Value, single: &Value) -> bool {
    let has = |field: &str, wanted: &str| texts(owner, field).any(|owned| owned == "*" || owned == wanted);
    texts(single, "verbs").all(|verb| has("verbs", verb))
        && texts(single, "apiGroups").all(|group| has("apiGroups", group))
        && texts(single, "resources").all(|resource| has_resource(owner, resource))
        && texts(single, "nonResourceURLs").all(|url| has_url(owner, url))
        && has_names(owner, single)
}

fn has_resource(owner: &Value, wanted: &str) -> bool {
    let below_any = wanted.split_once('/').map(|(_, subresource)| format!("*/{subresource}"));
    texts(owner, "resources")
        .any(|owned| owned == "*" || owned == wanted || below_any.as_deref().is_some_and(|any| any == owned))
}

fn has_url(owner: &Value, wanted: &str) -> bool {
    texts(owner, "nonResourceURLs").any(|owned| {
        owned == wanted || owned.strip_suffix('*').is_some_and(|prefix| wanted.starts_with(prefix))
    })
}

fn has_names(owner: &Value, single: &Value) -> bool {
    let any_name = texts(owner, "resourceNames").next().is_none();
    let mut wanted = texts(single, "resourceNames").peekable();
    // A rule about all names is not covered by one about some names.
    any_name
        || (wanted.peek().is_some()
            && wanted.all(|name| texts(owner, "resourceNames").any(|owned| owned == name)))
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    #[test]
    fn rules_cover_what_they_allow() {
        let all = json!({"apiGroups": ["*"], "resources": ["*"], "verbs": ["*"]});
        let logs = json!({"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"]});
        let any_log = json!({"apiGroups": [""], "resources": ["*/log"], "verbs": ["get"]});
        let named =
            json!({"apiGroups": [""], "resources": ["pods/log"], "verbs": ["get"], "resourceNames": ["a"]});
        let url = json!({"nonResourceURLs": ["/healthz"], "verbs": ["get"]});
        for (owner, wanted, is_covered) in [
            (&all, &logs, true),
            (&any_log, &logs, true),
            (&logs, &named, true),
            (&named, &logs, false),
            (&logs, &any_log, false),
            (&all, &url, false),
            (&json!({"nonResourceURLs": ["/heal*"], "verbs": ["*"]}), &url, true),
        ] {
            let missing = missing_rules(std::slice::from_ref(owner), std::slice::from_ref(wanted));
            assert_eq!(missing.is_empty(), is_covered, "{owner} over {wanted}");
        }
    }
}
