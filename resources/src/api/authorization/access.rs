//! The parts that the three kinds of access reviews share: reading, checking and answering the request.

use registry_core::api::{ErrorList, FieldError, Object, StatusError};
use registry_core::context::UserInfo;
use registry_core::rest::access::{AccessReviewer, AccessSelectors, ResourceAccess, WantedAccess};
use resource_views::authorization::v1::{NonResourceAttributes, SubjectAccessReview};
use resource_views::{List, Text};
use serde_json::{Value, json};

use super::selectors;
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
    // All kinds of access reviews have these fields.
    let spec = SubjectAccessReview(question).spec();
    let (resource, path) = (spec.resource_attributes(), spec.non_resource_attributes());
    if resource.exists() && path.exists() {
        let why = "cannot be specified in combination with resourceAttributes";
        errors.push(FieldError::invalid((*path).path(), go_path(&path), why));
    }
    if !resource.exists() && !path.exists() {
        let why = "exactly one of nonResourceAttributes or resourceAttributes must be specified";
        errors.push(resource.invalid(why));
    }
    if matches!(subject, Subject::Named) && spec.user().text().is_empty() && spec.groups().is_empty() {
        let why = "at least one of user or group must be specified";
        errors.push(FieldError::invalid(spec.user().path(), "", why));
    }
    selectors::check(&resource, &mut errors);
    let what = if namespace.is_some() { "must be empty except for namespace" } else { "must be empty" };
    if let Some(error) = check_no_metadata(question, what) {
        errors.push(error);
    }
    let Some(namespace) = namespace else { return errors };
    let own = resource.namespace();
    if resource.exists() && own.text() != namespace {
        errors.push(own.invalid_text("must match metadata.namespace"));
    }
    if path.exists() {
        let why = "disallowed on this kind of request";
        errors.push(FieldError::invalid((*path).path(), go_path(&path), why));
    }
    errors
}

/// Returns the requested path in the form of Go's internal type.
fn go_path(attributes: &NonResourceAttributes<'_, '_>) -> Value {
    json!({ "Path": attributes.path().text(), "Verb": attributes.verb().text() })
}

/// Returns the access that a review is about, and what of it is left out because it cannot be understood.
fn wanted(question: &Object) -> (WantedAccess, Vec<String>) {
    let spec = SubjectAccessReview(question).spec();
    let owned = |text: Text<'_, '_>| text.text().to_owned();
    let attributes = spec.resource_attributes();
    if !attributes.exists() {
        let attributes = spec.non_resource_attributes();
        let (path, verb) = (owned(attributes.path()), owned(attributes.verb()));
        return (WantedAccess::Path { path, verb }, Vec::new());
    }
    let fields = selectors::fields(&attributes.field_selector());
    let labels = selectors::labels(&attributes.label_selector());
    let problems = fields.problem.into_iter().chain(labels.problem).collect();
    let version = attributes.version().text();
    let wanted = WantedAccess::Resource(ResourceAccess {
        verb: owned(attributes.verb()),
        group: owned(attributes.group()),
        version: if version.is_empty() { "*" } else { version }.to_owned(),
        resource: owned(attributes.resource()),
        subresource: owned(attributes.subresource()),
        namespace: owned(attributes.namespace()),
        name: owned(attributes.name()),
        selectors: AccessSelectors { fields: fields.requirements, labels: labels.requirements },
    });
    (wanted, problems)
}

fn named_user(question: &Object) -> UserInfo {
    let spec = SubjectAccessReview(question).spec();
    let owned = |list: List<Text<'_, '_>>| list.texts().map(str::to_owned).collect();
    UserInfo {
        name: spec.user().text().to_owned(),
        uid: spec.uid().text().to_owned(),
        groups: owned(spec.groups()),
        extra: spec.extra().entries().map(|(key, values)| (key.to_owned(), owned(values))).collect(),
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
            Err(InvalidToken::Unknown)
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
