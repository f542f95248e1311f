//! The parts that the three kinds of access reviews share: reading, checking and answering the request.

use registry_core::api::{ErrorList, FieldError, FieldPath, Object, StatusError};
use registry_core::context::UserInfo;
use registry_core::rest::access::{AccessReviewer, AccessSelectors, ResourceAccess, WantedAccess};
use serde_json::{Map, Value, json};

use super::selectors;
use crate::support::field::Field;
use crate::support::review::{check_no_metadata, invalid};

const GROUP: &str = "authorization.k8s.io";

/// The subject of an access review.
pub(super) enum Subject<'a> {
    /// The requesting user.
    Asking(&'a UserInfo),
    /// The user and groups in the review.
    Named,
}

/// Answers a review. If `namespace` is set, all attributes must be in it.
pub(super) async fn answer(
    access: &dyn AccessReviewer,
    question: &Object,
    subject: Subject<'_>,
    namespace: Option<&str>,
) -> Result<Value, StatusError> {
    let errors = validate(question, &subject, namespace);
    if !errors.is_empty() {
        return Err(invalid(GROUP, &errors));
    }
    let named;
    let user = match subject {
        Subject::Asking(user) => user,
        Subject::Named => {
            named = named_user(question);
            &named
        }
    };
    let (wanted, mut problems) = wanted(question);
    let decision = access.decide(user, &wanted).await;
    if !decision.error.is_empty() {
        problems.insert(0, decision.error);
    }
    let mut status = json!({ "allowed": decision.allowed });
    if let Some(fields) = status.as_object_mut() {
        if decision.denied {
            fields.insert("denied".to_owned(), true.into());
        }
        if !decision.reason.is_empty() {
            fields.insert("reason".to_owned(), decision.reason.into());
        }
        if !problems.is_empty() {
            fields.insert("evaluationError".to_owned(), problems.join("; ").into());
        }
    }
    Ok(status)
}

fn validate(question: &Object, subject: &Subject<'_>, namespace: Option<&str>) -> ErrorList {
    let mut errors = ErrorList::default();
    let spec = FieldPath::new("spec");
    let resource = given(question, "resourceAttributes");
    let path = given(question, "nonResourceAttributes");
    let resource_field = spec.child("resourceAttributes");
    let path_field = spec.child("nonResourceAttributes");
    if resource.is_some() && path.is_some() {
        let why = "cannot be specified in combination with resourceAttributes";
        errors.push(FieldError::invalid(path_field.clone(), go_path(question), why));
    }
    if resource.is_none() && path.is_none() {
        let why = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
        errors.push(FieldError::invalid(resource_field.clone(), Value::Null, why));
    }
    if matches!(subject, Subject::Named) && named_user(question).name.is_empty() && !names_groups(question) {
        let why = "at least one of user or group must be specified";
        errors.push(FieldError::invalid(spec.child("user"), "", why));
    }
    let attributes = Field::top_level(question, "spec");
    let attributes = attributes.get("resourceAttributes");
    selectors::check(&attributes, &mut errors);
    let what = if namespace.is_some() { "must be empty except for namespace" } else { "must be empty" };
    if let Some(error) = check_no_metadata(question, what) {
        errors.push(error);
    }
    let Some(namespace) = namespace else { return errors };
    let own = text(question, "resourceAttributes", "namespace");
    if resource.is_some() && own != namespace {
        let why = "must match metadata.namespace";
        errors.push(FieldError::invalid(resource_field.child("namespace"), own, why));
    }
    if path.is_some() {
        let why = "disallowed on this kind of request";
        errors.push(FieldError::invalid(path_field, go_path(question), why));
    }
    errors
}

/// Returns the attributes of that name, if the review has them.
fn given<'a>(question: &'a Object, attributes: &str) -> Option<&'a Map<String, Value>> {
    question.get(&["spec", attributes])?.as_object()
}

/// Returns the requested path in the form of Go's internal type.
fn go_path(question: &Object) -> Value {
    let part = |field| text(question, "nonResourceAttributes", field);
    json!({ "Path": part("path"), "Verb": part("verb") })
}

fn text(question: &Object, attributes: &str, field: &str) -> String {
    question.get_str(&["spec", attributes, field]).unwrap_or_default().to_owned()
}

/// Returns the access that a review is about, and what of it is left out because it cannot be understood.
fn wanted(question: &Object) -> (WantedAccess, Vec<String>) {
    let Some(attributes) = given(question, "resourceAttributes") else {
        let part = |field| text(question, "nonResourceAttributes", field);
        return (WantedAccess::Path { path: part("path"), verb: part("verb") }, Vec::new());
    };
    let part = |field| text(question, "resourceAttributes", field);
    let (fields, labels) = (selectors::fields(attributes), selectors::labels(attributes));
    let problems = fields.problem.into_iter().chain(labels.problem).collect();
    let version = Some(part("version")).filter(|version| !version.is_empty());
    let wanted = WantedAccess::Resource(ResourceAccess {
        verb: part("verb"),
        group: part("group"),
        version: version.unwrap_or_else(|| "*".to_owned()),
        resource: part("resource"),
        subresource: part("subresource"),
        namespace: part("namespace"),
        name: part("name"),
        selectors: AccessSelectors { fields: fields.requirements, labels: labels.requirements },
    });
    (wanted, problems)
}

fn names_groups(question: &Object) -> bool {
    question.get(&["spec", "groups"]).and_then(Value::as_array).is_some_and(|groups| !groups.is_empty())
}

fn named_user(question: &Object) -> UserInfo {
    let text = |field| question.get_str(&["spec", field]).unwrap_or_default().to_owned();
    let texts = |value: &Value| -> Vec<String> {
        let values = value.as_array().into_iter().flatten();
        values.filter_map(Value::as_str).map(str::to_owned).collect()
    };
    let extra = question.get(&["spec", "extra"]).and_then(Value::as_object).into_iter().flatten();
    UserInfo {
        name: text("user"),
        uid: text("uid"),
        groups: question.get(&["spec", "groups"]).map(texts).unwrap_or_default(),
        extra: extra.map(|(key, values)| (key.clone(), texts(values))).collect(),
    }
}

#[cfg(test)]
mod tests {
    use async_trait::async_trait;
    use registry_core::rest::access::{AccessDecision, InvalidToken, KnownToken};

    use super::*;

    /// Allows `get` to members of `readers`.
    struct Readers;

    #[async_trait]
    impl AccessReviewer for Readers {
        async fn decide(&self, user: &UserInfo, wanted: &WantedAccess) -> AccessDecision {
            let (WantedAccess::Path { verb, .. } | WantedAccess::Resource(ResourceAccess { verb, .. })) =
                wanted;
            let allowed = verb == "get" && user.groups.iter().any(|group| group == "readers");
            AccessDecision { allowed, ..AccessDecision::default() }
        }

        async fn user_of_token(&self, _: &str, _: &[String]) -> Result<KnownToken, InvalidToken> {
            Err(InvalidToken(String::new()))
        }
    }

    fn question(spec: &Value) -> Object {
        Object::from_value(json!({ "metadata": {}, "spec": spec })).unwrap_or_default()
    }

    async fn ask(spec: Value, namespace: Option<&str>) -> Result<Value, String> {
        let question = question(&spec);
        let answered = answer(&Readers, &question, Subject::Named, namespace).await;
        answered.map_err(|failure| failure.to_value()["message"].to_string())
    }

    #[tokio::test]
    async fn a_question_is_answered_for_the_user_and_groups_it_names() {
        let about = async |groups: Value, verb: &str| {
            let spec = json!({
                "user": "x", "groups": groups, "resourceAttributes": { "verb": verb, "resource": "pods" },
            });
            ask(spec, None).await
        };
        assert_eq!(about(json!(["readers"]), "get").await, Ok(json!({ "allowed": true })));
        assert_eq!(about(json!(["readers"]), "delete").await, Ok(json!({ "allowed": false })));
        assert_eq!(about(json!([]), "get").await, Ok(json!({ "allowed": false })));
    }

    #[tokio::test]
    async fn senseless_questions_are_refused() {
        let refused = async |spec, namespace| ask(spec, namespace).await.unwrap_err();
        assert!(refused(json!({ "user": "x" }), None).await.contains("exactly one of"));
        let nobody = json!({ "resourceAttributes": { "verb": "get" } });
        assert!(refused(nobody, None).await.contains("at least one of user or group"));
        let elsewhere = json!({ "user": "x", "resourceAttributes": { "namespace": "b" } });
        assert!(refused(elsewhere, Some("a")).await.contains("must match metadata.namespace"));
    }
}
