//! Admission policies: the validations of a policy, evaluated against the object of the last request.

use std::sync::Arc;

use registry_cel::{
    Activation, Authorizer, AuthorizerValue, Check, CompileFailure, CostBudget, Decision, Environment,
    EvaluationError, Program, Type, declare,
};
use registry_meta::budget::Budget;
use serde_json::{Value as Json, json};

struct AllowUsers;

impl Authorizer for AllowUsers {
    fn authorize(&self, check: &Check) -> Decision {
        Decision { allowed: check.service_account.is_none(), ..Decision::default() }
    }
}

/// Compares the result of a policy with the recorded one.
pub(crate) fn check(case: &Json) -> Result<(), String> {
    let steps = case["steps"].as_array().unwrap();
    let expected: Vec<_> = case["expect"].as_array().unwrap().iter().collect();
    let spec = &steps[0]["b"]["spec"];
    if let Some(causes) = expected[0]["causes"].as_array() {
        return check_refused(spec, causes);
    }
    let object = steps.last().map(|step| step["b"].clone()).unwrap_or_default();
    let answer = expected.last().unwrap();
    let found = deny(spec, &object);
    let recorded = answer["causes"][0][2].as_str().and_then(|text| text.split_once(" denied request: "));
    match (found, recorded) {
        (Some(found), Some((_, recorded))) if found == recorded => Ok(()),
        // Times are replaced in recordings.
        (Some(_), Some((_, recorded))) if recorded.contains("<time>") => Ok(()),
        (None, None) if answer["code"] == 201 => Ok(()),
        (found, _) => Err(format!("expected {answer}\n  found    {found:?}")),
    }
}

/// Whether the answer of a case depends only on the expressions of one policy, which denies what does not hold: not on what
/// the policy matches, and not on the defaults of a deployment.
pub(crate) fn depends_on_expressions(case: &Json) -> bool {
    let steps = case["steps"].as_array().unwrap();
    let spec = &steps[0]["b"]["spec"];
    let bindings = steps.iter().filter(|step| step["b"]["kind"] == "ValidatingAdmissionPolicyBinding");
    let is_denied = bindings.clone().all(|step| step["b"]["spec"]["validationActions"] == json!(["Deny"]));
    let answer = case["expect"].as_array().and_then(|answers| answers.last()).unwrap();
    let is_about_expressions = |cause: &Json| {
        let field = cause[1].as_str().unwrap();
        field.is_empty()
            || (field.ends_with("xpression") && cause[2].as_str().unwrap().contains("compilation failed"))
    };
    steps[0]["b"]["kind"] == "ValidatingAdmissionPolicy"
        && bindings.count() == 1
        && is_denied
        && spec["failurePolicy"] == "Fail"
        && spec["auditAnnotations"].is_null()
        && spec["paramKind"].is_null()
        && spec["matchConditions"].is_null()
        && spec["matchConstraints"]["excludeResourceRules"].is_null()
        && spec.pointer("/matchConstraints/resourceRules/0/resourceNames").is_none()
        && steps.last().is_some_and(|step| step["b"]["kind"] != "Deployment")
        && steps.last().is_some_and(|step| step["m"] == "POST")
        && answer["causes"].as_array().into_iter().flatten().all(is_about_expressions)
}

/// Checks a policy that is refused: the first expression with an error has the recorded error.
fn check_refused(spec: &Json, causes: &[Json]) -> Result<(), String> {
    let environment = environment(spec);
    for cause in causes {
        let field = cause[1].as_str().unwrap();
        let message = cause[2].as_str().unwrap();
        let pointer = field.trim_start_matches("spec.").replace(['.', '['], "/").replace(']', "");
        let source = spec.pointer(&format!("/{pointer}")).and_then(Json::as_str).unwrap_or_default();
        let found = match environment.compile(source, &Budget::default()) {
            Err(failure) => failure.to_string(),
            Ok(program) => format!("no error, type {}", program.output_type()),
        };
        if !message.ends_with(&found) {
            return Err(format!("expected {message}\n  found    {found}"));
        }
    }
    Ok(())
}

/// Returns the environment of a policy's expressions, with its variables.
fn environment(spec: &Json) -> Environment {
    let text = || json!({"type": "string"});
    let resource =
        json!({"type": "object", "properties": {"group": text(), "version": text(), "resource": text()}});
    let kind = json!({"type": "object", "properties": {"group": text(), "version": text(), "kind": text()}});
    let texts = json!({"type": "array", "items": text()});
    let request = json!({"type": "object", "properties": {
        "kind": kind, "resource": resource, "subResource": text(), "requestKind": kind, "requestResource": resource,
        "requestSubResource": text(), "name": text(), "namespace": text(), "operation": text(),
        "userInfo": {"type": "object", "properties": {"username": text(), "uid": text(), "groups": texts,
            "extra": {"type": "object", "additionalProperties": texts}}},
        "dryRun": {"type": "boolean"},
    }});
    let labels = json!({"type": "object", "additionalProperties": text()});
    let namespace = json!({"type": "object", "properties": {
        "metadata": {"type": "object", "properties": {
            "name": text(), "generateName": text(), "namespace": text(), "labels": labels, "annotations": labels,
            "UID": text(), "creationTimestamp": {"type": "string", "format": "date-time"},
            "deletionGracePeriodSeconds": {"type": "integer"},
            "deletionTimestamp": {"type": "string", "format": "date-time"}, "generation": {"type": "integer"},
            "resourceVersion": text(), "finalizers": texts,
        }},
        "spec": {"type": "object", "properties": {"finalizers": texts}},
        "status": {"type": "object", "properties": {"phase": text()}},
    }});
    let request = declare(&request, "kubernetes.AdmissionRequest", false).unwrap();
    let namespace = declare(&namespace, "kubernetes.Namespace", false).unwrap();
    let authorizer = |name: &str| {
        let name = format!("kubernetes.authorization.{name}");
        Type::Object(Arc::new(registry_cel::ObjectType::without_fields(&name)))
    };
    let mut environment = Environment::kubernetes()
        .with_variable("object", Type::Dyn)
        .with_variable("oldObject", Type::Dyn)
        .with_variable("request", request.cel_type().clone())
        .with_variable("namespaceObject", namespace.cel_type().clone())
        .with_variable("authorizer", authorizer("Authorizer"))
        .with_variable("authorizer.requestResource", authorizer("ResourceCheck"));
    if spec.get("paramKind").is_some() {
        environment = environment.with_variable("params", Type::Dyn);
    }
    for variable in spec["variables"].as_array().into_iter().flatten() {
        let name = variable["name"].as_str().unwrap();
        let of = environment
            .compile(variable["expression"].as_str().unwrap(), &Budget::default())
            .map_or(Type::Dyn, |program| program.output_type().clone());
        environment = environment.with_variable(&format!("variables.{name}"), of);
    }
    environment
}

/// Returns the message with which a policy denies an object; `None` if it admits it.
fn deny(spec: &Json, object: &Json) -> Option<String> {
    let environment = environment(spec);
    let names = object["apiVersion"].as_str().and_then(|names| names.split_once('/'));
    let (group, version) = names.unwrap_or(("", "v1"));
    let kind = object["kind"].as_str().unwrap_or("ConfigMap");
    let resource = format!("{}s", kind.to_lowercase());
    let kind = json!({"group": group, "version": version, "kind": kind});
    let resource = json!({"group": group, "version": version, "resource": resource});
    let request = json!({
        "kind": kind, "resource": resource, "requestKind": kind, "requestResource": resource,
        "name": object["metadata"]["name"], "namespace": "celcorpus", "operation": "CREATE", "dryRun": true,
        "userInfo": {"username": "admin", "groups": ["system:masters", "system:authenticated"]},
    });
    let namespace = json!({
        "metadata": {"name": "celcorpus", "labels": {"corpus": "cel", "kubernetes.io/metadata.name": "celcorpus"}},
        "spec": {"finalizers": ["kubernetes"]}, "status": {"phase": "Active"},
    });
    let mut object = object.clone();
    object["metadata"]["namespace"] = json!("celcorpus");
    let programs: Vec<(String, Result<Program, CompileFailure>)> = spec["variables"]
        .as_array()
        .into_iter()
        .flatten()
        .map(|variable| {
            let name = format!("variables.{}", variable["name"].as_str().unwrap());
            (name, environment.compile(variable["expression"].as_str().unwrap(), &Budget::default()))
        })
        .collect();
    let validations: Vec<_> = spec["validations"].as_array().into_iter().flatten().collect();
    let compiled: Vec<_> = validations
        .iter()
        .map(|validation| {
            let compile = |name: &str| {
                validation[name].as_str().map(|source| environment.compile(source, &Budget::default()))
            };
            (compile("expression").unwrap(), compile("messageExpression"))
        })
        .collect();
    let mut activation = environment.activation();
    activation.bind_dynamic("object", &object);
    activation.bind_dynamic("oldObject", &Json::Null);
    activation.bind_dynamic("request", &request);
    activation.bind_dynamic("namespaceObject", &namespace);
    activation.bind_value("authorizer", AuthorizerValue::new_value(Arc::new(AllowUsers)));
    let resource = Check { resource: "configmaps".to_owned(), ..Check::default() };
    let resource = AuthorizerValue::request_resource(Arc::new(AllowUsers), resource);
    activation.bind_value("authorizer.requestResource", resource);
    for (name, program) in &programs {
        let Ok(program) = program else {
            return Some("a variable does not compile".to_owned());
        };
        match program.evaluate(&activation, &CostBudget::default()) {
            Ok(value) => activation.bind_value(name, value),
            Err(error) => {
                let name_in_messages = name.trim_start_matches("variables.");
                let message =
                    format!("composited variable \"{name_in_messages}\" fails to evaluate: {error}");
                activation.bind_error(name, EvaluationError::Failed(message));
            }
        }
    }
    let denials = validations.iter().zip(&compiled).filter_map(|(validation, (program, message))| {
        deny_one(validation, program, message.as_ref(), &activation)
    });
    denials.into_iter().next()
}

fn deny_one<'a>(
    validation: &Json,
    program: &'a Result<Program, CompileFailure>,
    message: Option<&'a Result<Program, CompileFailure>>,
    activation: &Activation<'a>,
) -> Option<String> {
    let source = validation["expression"].as_str().unwrap().trim();
    let program = match program {
        Ok(program) => program,
        Err(failure) => return Some(format!("expression '{source}' resulted in error: {failure}")),
    };
    match program.evaluate(activation, &CostBudget::default()) {
        Err(error) => return Some(format!("expression '{source}' resulted in error: {error}")),
        Ok(value) if value.as_bool() == Some(true) => return None,
        Ok(_) => {}
    }
    let text = message.and_then(|message| {
        let value = message.as_ref().ok()?.evaluate(activation, &CostBudget::default()).ok()?;
        let text = value.as_str()?.trim().to_owned();
        (!text.is_empty() && !text.contains('\n') && text.len() <= 5 * 1024).then_some(text)
    });
    let written = validation["message"].as_str().map(|message| message.trim().to_owned());
    Some(text.or(written).unwrap_or_else(|| format!("failed expression: {source}")))
}
