//! The rights that each operation of the API needs: a table over every path, method and form of a body, by users who hold
//! each part of these rights. What is expected are the rules of kube-apiserver v1.36.

use std::collections::{BTreeMap, HashMap};
use std::path::Path;
use std::sync::Arc;

use apiserver::authorization::{Attributes, Authorizer, Decision, MASTERS};
use apiserver::testing::TestServer;
use async_trait::async_trait;
use http::Request;
use http_body_util::Full;
use hyper::body::Bytes;
use parking_lot::Mutex;
use serde_json::{Value, json};

use crate::client::{Answer, Connection, Protocol};

const NAMESPACE: &str = "n";
const ABSENT: &str = "absent";
const APPLY: &str = "application/apply-patch+yaml";

/// The kinds whose PUT creates an object that does not exist.
const CREATED_BY_UPDATE: [&str; 11] = [
    "clusterrolebindings",
    "clusterroles",
    "endpoints",
    "events",
    "leasecandidates",
    "leases",
    "limitranges",
    "rolebindings",
    "roles",
    "runtimeclasses",
    "services",
];

/// The questions about the parameters of policies, as the objects that are known name them: resource of the object, verb, group,
/// namespace and name.
const PARAMETERS: [(&str, &str, &str, &str, &str); 4] = [
    ("validatingadmissionpolicies", "get", "rules.example.org", "*", "*"),
    ("mutatingadmissionpolicies", "get", "rules.example.org", "*", "*"),
    ("validatingadmissionpolicybindings", "get", "*", NAMESPACE, "x"),
    ("mutatingadmissionpolicybindings", "list", "*", "", ""),
];

/// The subresources of pods that run something in them.
const STREAMS: [&str; 3] = ["attach", "exec", "portforward"];

/// The plug-ins that need other objects beside those of the table.
const WITHOUT: &str = "--disable-admission-plugins=ServiceAccount,LimitRanger,ResourceQuota,Priority,RuntimeClass,\
StorageObjectInUseProtection,TaintNodesByCondition,DefaultIngressClass,DefaultStorageClass,PersistentVolumeClaimResize";

/// The versions in which the objects that are known have another form, and whether an empty one is accepted.
const OTHER_FORMS: [(&str, &str, &str, bool); 5] = [
    ("autoscaling", "v1", "HorizontalPodAutoscaler", false),
    ("resource.k8s.io", "v1beta1", "DeviceClass", true),
    ("resource.k8s.io", "v1beta1", "ResourceClaim", true),
    ("resource.k8s.io", "v1beta1", "ResourceClaimTemplate", true),
    ("resource.k8s.io", "v1beta1", "ResourceSlice", false),
];

/// The verbs of the API. Plug-ins ask about others: `escalate`, `bind`, `sign`.
const VERBS: [&str; 9] =
    ["", "create", "delete", "deletecollection", "get", "list", "patch", "update", "watch"];

/// A question to the authorizer.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
struct Question {
    verb: String,
    group: String,
    resource: String,
    subresource: String,
    namespace: String,
    name: String,
    /// For paths that are no resources.
    path: String,
}

/// Allows the verbs that are in the name of the user, as in `holds:get+create:17`, and keeps the questions about such users.
#[derive(Default)]
struct ByName(Mutex<HashMap<String, Vec<Question>>>);

/// An operation of the API.
#[derive(Debug)]
struct Operation {
    method: String,
    /// The path, as in OpenAPI: `/api/v1/namespaces/{namespace}/pods/{name}`.
    template: String,
    group: String,
    version: String,
    /// The kind of the body.
    kind: String,
    is_watch: bool,
    /// Empty for paths that are no resources.
    resource: String,
    subresource: String,
    is_namespaced: bool,
    has_name: bool,
}

/// A body of a request.
struct Form {
    media_type: &'static str,
    body: String,
    /// Whether the object would be created.
    creates: bool,
}

/// Returns a verb as the names of users have it.
fn in_name(verb: &str) -> &str {
    if verb.is_empty() { "unknown" } else { verb }
}

// === impl ByName ===

impl ByName {
    /// Removes and returns the questions about a user.
    fn take(&self, user: &str) -> Vec<Question> {
        self.0.lock().remove(user).unwrap_or_default()
    }
}

#[async_trait]
impl Authorizer for ByName {
    async fn authorize(&self, attributes: &Attributes<'_>) -> Decision {
        let Some(held) = attributes.user.name.strip_prefix("holds:") else {
            let is_admin = attributes.user.groups.iter().any(|group| group == MASTERS);
            return if is_admin { Decision::allow("") } else { Decision::no_opinion("") };
        };
        let mut question = Question { verb: attributes.verb.to_owned(), ..Question::default() };
        match attributes.resource {
            Some(resource) => {
                question.group.clone_from(&resource.group);
                question.resource.clone_from(&resource.resource);
                question.subresource.clone_from(&resource.subresource);
                question.namespace.clone_from(&resource.namespace);
                question.name.clone_from(&resource.name);
            }
            None => attributes.path.clone_into(&mut question.path),
        }
        if attributes.resource.is_none() || VERBS.contains(&attributes.verb) {
            let mut asked = self.0.lock();
            asked.entry(attributes.user.name.clone()).or_default().push(question);
        }
        let held = held.split(':').next().unwrap_or_default();
        // Everybody may grant any role: what the table is about comes after that.
        let grants = matches!(attributes.verb, "escalate" | "bind");
        let is_held = grants || held.split('+').any(|verb| verb == in_name(attributes.verb));
        if is_held { Decision::allow("") } else { Decision::no_opinion("") }
    }
}

// === impl Operation ===

impl Operation {
    fn new(template: &str, method: &str, operation: &Value) -> Self {
        let mut segments: Vec<&str> = template.trim_matches('/').split('/').collect();
        let depth = match segments[0] {
            "api" => 2,
            "apis" => 3,
            _ => usize::MAX,
        };
        let rest = if segments.len() > depth { segments.split_off(depth) } else { Vec::new() };
        let is_watch = rest.first() == Some(&"watch");
        let rest = if is_watch { &rest[1..] } else { &rest[..] };
        let is_namespaced = rest.get(1) == Some(&"{namespace}") && rest.len() > 2;
        let rest = if is_namespaced { &rest[2..] } else { rest };
        let part = |index: usize| rest.get(index).copied().unwrap_or_default().to_owned();
        let text = |field: &str| {
            operation["x-kubernetes-group-version-kind"][field].as_str().unwrap_or_default().to_owned()
        };
        Self {
            method: method.to_owned(),
            template: template.to_owned(),
            group: if depth == 3 {
                segments.get(1).copied().unwrap_or_default().to_owned()
            } else {
                String::new()
            },
            version: text("version"),
            kind: text("kind"),
            is_watch,
            resource: part(0),
            subresource: part(2),
            is_namespaced,
            has_name: rest.len() > 1,
        }
    }

    /// Returns the verb of the method.
    fn verb(&self) -> &str {
        if self.resource.is_empty() {
            return &self.method;
        }
        match self.method.as_str() {
            "get" | "head" if self.is_watch => "watch",
            "get" | "head" if self.has_name => "get",
            "get" | "head" => "list",
            "post" => "create",
            "put" => "update",
            "patch" => "patch",
            "delete" if self.has_name => "delete",
            "delete" => "deletecollection",
            _ => "",
        }
    }

    fn is_stream(&self) -> bool {
        self.group.is_empty()
            && self.resource == "pods"
            && STREAMS.contains(&self.subresource.as_str())
            && self.method == "get"
    }

    /// Returns whether it writes an object as a whole.
    fn is_main(&self) -> bool {
        self.has_name && self.subresource.is_empty() && !self.resource.is_empty()
    }

    /// Returns the path for an object of this name.
    fn path(&self, name: &str) -> String {
        let path = self.template.replace("{namespace}", NAMESPACE).replace("{name}", name);
        path.replace("{path}", "x").replace("{logpath}", "x")
    }

    /// Returns the question about the method's own right.
    fn asked(&self, name: &str) -> Question {
        if self.resource.is_empty() {
            let path = self.path(name);
            return Question { verb: self.verb().to_owned(), path, ..Question::default() };
        }
        let is_namespace = self.resource == "namespaces" && self.has_name;
        let namespace = match (self.is_namespaced, is_namespace) {
            (true, _) => NAMESPACE,
            (false, true) => name,
            (false, false) => "",
        };
        Question {
            verb: self.verb().to_owned(),
            group: self.group.clone(),
            resource: self.resource.clone(),
            subresource: self.subresource.clone(),
            namespace: namespace.to_owned(),
            name: if self.has_name { name.to_owned() } else { String::new() },
            path: String::new(),
        }
    }

    /// Returns the question about the right to create, if this request needs it beside its own.
    fn asked_to_create(&self, form: &Form, name: &str) -> Option<Question> {
        let creates = form.creates && self.is_main();
        (creates || self.is_stream()).then(|| {
            let mut question = self.asked(name);
            "create".clone_into(&mut question.verb);
            if !self.is_namespaced {
                question.namespace.clear();
            }
            question
        })
    }

    /// Returns the question about the parameters of a policy that the body creates: it is asked as part of validation.
    fn asked_about_parameters(&self, form: &Form) -> Option<Question> {
        let known =
            PARAMETERS.iter().find(|known| known.0 == self.resource && form.creates && self.is_main());
        known.map(|(_, verb, group, namespace, name)| Question {
            verb: (*verb).to_owned(),
            group: (*group).to_owned(),
            resource: "*".to_owned(),
            namespace: (*namespace).to_owned(),
            name: (*name).to_owned(),
            ..Question::default()
        })
    }

    /// Returns the forms of the request's body, for an object that would be accepted, if one is known.
    fn forms(&self, object: Option<&Value>, name: &str) -> Vec<Form> {
        let is_known = object.is_some();
        let mut object = object.cloned().unwrap_or_else(|| json!({}));
        let group = if self.group.is_empty() { String::new() } else { format!("{}/", self.group) };
        object["apiVersion"] = format!("{group}{}", self.version).into();
        object["kind"] = self.kind.clone().into();
        object["metadata"]["name"] = name.into();
        if self.is_namespaced {
            object["metadata"]["namespace"] = NAMESPACE.into();
        }
        let form = |media_type, body: &str, creates| Form { media_type, body: body.to_owned(), creates };
        let object = object.to_string();
        match self.method.as_str() {
            "put" => {
                let creates = is_known && CREATED_BY_UPDATE.contains(&self.resource.as_str());
                vec![form("application/json", &object, creates)]
            }
            "patch" => vec![
                form(APPLY, &object, is_known),
                form("application/json-patch+json", "[]", false),
                form("application/merge-patch+json", "{}", false),
                form("application/strategic-merge-patch+json", "{}", false),
                form("application/apply-patch+cbor", "\u{0}", false),
            ],
            "post" => vec![form("application/json", "{}", false)],
            _ => vec![form("application/json", "", false)],
        }
    }
}

/// Returns the error of a right that the user does not have.
fn refusal(user: &str, question: &Question, is_stream: bool) -> String {
    let Question { verb, group, resource, subresource, namespace, name, path } = question;
    if resource.is_empty() {
        return format!("forbidden: User {user:?} cannot {verb} path {path:?}");
    }
    let dot = if group.is_empty() { "" } else { "." };
    let quoted = if name.is_empty() { String::new() } else { format!(" {name:?}") };
    let object = format!("{resource}{dot}{group}{quoted} is forbidden: ");
    if is_stream {
        return object;
    }
    let slash = if subresource.is_empty() { "" } else { "/" };
    let scope = match namespace.as_str() {
        "" => "at the cluster scope".to_owned(),
        namespace => format!("in the namespace {namespace:?}"),
    };
    format!(
        "{object}User {user:?} cannot {verb} resource \"{resource}{slash}{subresource}\" in API group {group:?} {scope}"
    )
}

/// Returns an object of each kind that is accepted, by group and kind.
fn accepted_objects() -> BTreeMap<(String, String), Value> {
    let directory = Path::new(env!("CARGO_MANIFEST_DIR")).join("../resources/tests/fields");
    let mut objects = BTreeMap::new();
    for entry in std::fs::read_dir(directory).unwrap() {
        let text = std::fs::read_to_string(entry.unwrap().path()).unwrap();
        for line in text.lines() {
            let line: Value = serde_json::from_str(line).unwrap();
            let text = |field: &str| line[field].as_str().unwrap().to_owned();
            let is_older = line["version"] == "v1" && line["kind"] == "HorizontalPodAutoscaler";
            if !is_older {
                objects.insert((text("group"), text("kind")), line["object"].clone());
            }
        }
    }
    objects
}

/// Returns an object of the kind of an operation that is accepted, if one is known.
fn accepted_object(
    objects: &BTreeMap<(String, String), Value>,
    Operation { group, version, kind, .. }: &Operation,
) -> Option<Value> {
    let other = OTHER_FORMS.iter().find(|other| (other.0, other.1, other.2) == (group, version, kind));
    match other {
        Some((.., is_empty_accepted)) => is_empty_accepted.then(|| json!({})),
        None => objects.get(&(group.clone(), kind.clone())).cloned(),
    }
}

/// The server of the table.
struct Table {
    connection: Connection,
    authorizer: Arc<ByName>,
    sent: usize,
    differences: Vec<String>,
}

// === impl Table ===

impl Table {
    async fn send(&mut self, user: &str, operation: &Operation, form: &Form, name: &str) -> Answer {
        let path = operation.path(name);
        let query = match operation.method.as_str() {
            "patch" => "?dryRun=All&fieldManager=t",
            "put" | "post" | "delete" => "?dryRun=All",
            _ => "",
        };
        let request = Request::builder()
            .method(operation.method.to_uppercase().as_str())
            .uri(format!("{path}{query}"))
            .header("host", "localhost")
            .header("authorization", "Bearer admin-token")
            .header("impersonate-user", user)
            .header("content-type", form.media_type);
        self.connection.send(request.body(Full::new(Bytes::from(form.body.clone()))).unwrap()).await
    }

    /// Compares questions and answer of one request with those of kube-apiserver.
    async fn check(&mut self, operation: &Operation, form: &Form, name: &str, held: &[&str]) {
        self.sent += 1;
        let verbs: Vec<&str> = held.iter().map(|verb| in_name(verb)).collect();
        let user = format!("holds:{}:{}", verbs.join("+"), self.sent);
        let answer = self.send(&user, operation, form, name).await;
        let asked = self.authorizer.take(&user);
        let own = operation.asked(name);
        let mut expected = vec![own.clone()];
        let mut refused = (!held.contains(&operation.verb())).then(|| refusal(&user, &own, false));
        let mut is_invalid = false;
        if let (None, Some(parameters)) = (&refused, operation.asked_about_parameters(form)) {
            is_invalid = !held.contains(&parameters.verb.as_str());
            expected.push(parameters);
        }
        if let (None, false, Some(create)) = (&refused, is_invalid, operation.asked_to_create(form, name)) {
            refused = (!held.contains(&"create")).then(|| refusal(&user, &create, operation.is_stream()));
            expected.push(create);
        }
        let text = if operation.method == "head" { String::new() } else { answer.text() };
        let message = serde_json::from_str::<Value>(&text).unwrap_or_default()["message"].clone();
        let is_right = match &refused {
            Some(_) if operation.method == "head" => answer.status == 403,
            Some(refusal) => answer.status == 403 && message == **refusal,
            None if is_invalid => {
                answer.status == 422 && message.as_str().is_some_and(|message| message.contains("spec.param"))
            }
            None if form.creates && operation.is_main() => answer.status == 201,
            None => answer.status != 403,
        };
        if asked != expected || !is_right {
            let Operation { method, template, .. } = operation;
            self.differences.push(format!(
                "{method} {template} {} held by {user}: {} {text}\n  expected: {refused:?}\n  asked: {asked:?}\n  not: {expected:?}",
                form.media_type, answer.status
            ));
        }
    }
}

/// Returns all operations that the server describes.
async fn operations(connection: &mut Connection) -> Vec<Operation> {
    let document = connection.get("/openapi/v2", Some("admin-token")).await.json();
    let mut operations = Vec::new();
    for (template, item) in document["paths"].as_object().unwrap() {
        for (method, operation) in item.as_object().unwrap() {
            if operation.is_object() {
                operations.push(Operation::new(template, method, operation));
            }
        }
    }
    operations
}

#[tokio::test]
async fn every_operation_needs_the_rights_that_kubernetes_asks_for() {
    let authorizer = Arc::new(ByName::default());
    let server = TestServer::builder().memory().flag(WITHOUT).flag("--runtime-config=api/all=true");
    let server = server.authorizer(authorizer.clone()).start().await.unwrap();
    let namespace = json!({ "metadata": { "name": NAMESPACE } });
    server.call("POST", "/api/v1/namespaces", &namespace).await.unwrap();
    let mut connection = Connection::open(&server, Protocol::Http2).await;
    let operations = operations(&mut connection).await;
    assert!(operations.len() > 1_000, "{} operations", operations.len());
    let objects = accepted_objects();
    let mut table = Table { connection, authorizer, sent: 0, differences: Vec::new() };
    for operation in &operations {
        let object = accepted_object(&objects, operation);
        let object = object.as_ref().filter(|_| operation.is_main());
        let name = object.and_then(|object| object["metadata"]["name"].as_str()).unwrap_or(ABSENT);
        let verb = operation.verb();
        for form in operation.forms(object, name) {
            let may_create = form.media_type == APPLY || operation.method == "put" || operation.is_stream();
            let users = match operation.method.as_str() {
                _ if may_create => vec![
                    vec![],
                    vec![verb],
                    vec!["create"],
                    vec![verb, "create"],
                    vec![verb, "get", "list"],
                    vec![verb, "create", "get", "list"],
                ],
                // The same rights, in another form.
                "patch" => vec![vec![verb]],
                // It would last.
                _ if verb == "watch" => vec![vec![]],
                _ => vec![vec![], vec![verb]],
            };
            for held in users {
                table.check(operation, &form, name, &held).await;
            }
        }
    }
    let Table { sent, differences, .. } = table;
    assert!(differences.is_empty(), "{} of {sent} differ:\n{}", differences.len(), differences.join("\n"));
    assert!(sent > 2_500, "{sent} requests");
    server.stop().await;
}
