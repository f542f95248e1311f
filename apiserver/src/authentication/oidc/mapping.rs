//! The user that verified claims name.

use std::collections::BTreeMap;

use registry_core::cel::{Activation, CostBudget, PER_CALL_LIMIT, Program, Value as CelValue, escape};
use registry_core::context::{Budget, UserInfo};
use serde_json::{Map, Value, json};

use super::error::{ClaimError, ExpressionError, TextError};
use super::validation::{IssuerRules, Mapping, Rule, user_type};

/// The key of the token's id among the user's extra attributes.
const CREDENTIAL_ID: &str = "authentication.kubernetes.io/credential-id";

/// Returns the user of claims.
///
/// # Errors
/// Returns the reason why the claims name none, or are not accepted by a rule.
pub(super) fn user(rules: &IssuerRules, claims: &Map<String, Value>) -> Result<UserInfo, ClaimError> {
    let seen = rules.has_expressions.then(|| Value::Object(seen(claims, rules.uses_escapes)));
    let claims = Claims { raw: claims, seen: seen.as_ref() };
    let name = username(rules, &claims)?;
    let groups = groups(rules, &claims)?;
    let uid = uid(rules, &claims)?;
    let extra = extra(rules, &claims)?;
    for (claim, wanted) in &rules.required {
        let value = claims.raw.get(claim).ok_or_else(|| ClaimError::Missing(claim.clone()))?;
        let value = value.as_str().ok_or_else(|| ClaimError::NotText(claim.clone()))?;
        if value != wanted {
            let (found, wanted) = (value.to_owned(), wanted.clone());
            return Err(ClaimError::OtherValue { claim: claim.clone(), found, wanted });
        }
    }
    let of_claims = |program: &Program| claims.evaluate(rules, program);
    check(&rules.claim_rules, of_claims).map_err(in_expression("claim validation expression"))?;
    let user = UserInfo { name, uid, groups, extra: extra.into_iter().collect() };
    check_user(rules, &user)?;
    Ok(user)
}

fn in_expression(place: &'static str) -> impl Fn(ExpressionError) -> ClaimError + Copy {
    move |source| ClaimError::Expression { place, source }
}

/// Claims, as they are and as expressions see them.
struct Claims<'c> {
    raw: &'c Map<String, Value>,
    seen: Option<&'c Value>,
}

// === impl Claims ===

impl Claims<'_> {
    fn evaluate(&self, rules: &IssuerRules, program: &Program) -> Result<Value, ExpressionError> {
        let mut activation = rules.claims_activation();
        if let Some(seen) = self.seen {
            activation.bind_dynamic("claims", seen);
        }
        evaluate(program, &activation)
    }

    /// Returns a claim that is a string.
    fn text(&self, name: &str) -> Result<&str, TextError> {
        self.raw.get(name).ok_or(TextError::Missing)?.as_str().ok_or(TextError::NotText)
    }
}

fn evaluate<'a>(program: &'a Program, activation: &Activation<'a>) -> Result<Value, ExpressionError> {
    let request = Budget::default();
    let budget = CostBudget::new(PER_CALL_LIMIT).within(&request);
    let value: CelValue<'a> = program.evaluate(activation, &budget)?;
    match value {
        CelValue::Bytes(_) | CelValue::Duration(_) | CelValue::Timestamp(_) | CelValue::Optional(_) => {
            Err(ExpressionError::NotTexts)
        }
        value => value.to_json(&budget)?.ok_or(ExpressionError::UnknownType),
    }
}

/// Returns the claims as expressions see them: `__dot__` and other escapes stand for what names cannot have.
fn seen(claims: &Map<String, Value>, uses_escapes: bool) -> Map<String, Value> {
    if !uses_escapes {
        return claims.clone();
    }
    let mut seen = Map::new();
    for (name, value) in claims {
        let value = with_escapes(value);
        if let Some(escaped) = escape(name).filter(|escaped| escaped != name) {
            seen.entry(escaped).or_insert_with(|| value.clone());
        }
        seen.insert(name.clone(), value);
    }
    seen
}

fn with_escapes(value: &Value) -> Value {
    match value {
        Value::Object(fields) => Value::Object(seen(fields, true)),
        Value::Array(items) => Value::Array(items.iter().map(with_escapes).collect()),
        other => other.clone(),
    }
}

fn username(rules: &IssuerRules, claims: &Claims<'_>) -> Result<String, ClaimError> {
    let (claim, prefix) = match &rules.username {
        Mapping::Expression(program) => {
            let failed = in_expression("username claim expression");
            return match claims.evaluate(rules, program).map_err(failed)? {
                Value::String(name) if name.is_empty() => Err(ClaimError::EmptyUsername),
                Value::String(name) => Ok(name),
                _ => Err(failed(ExpressionError::NotText("username"))),
            };
        }
        Mapping::Claim { name, prefix } => (name, prefix),
    };
    let failed = |source: TextError| ClaimError::Username { claim: claim.clone(), source };
    let name = claims.text(claim).map_err(failed)?;
    if name.is_empty() {
        return Err(failed(TextError::Empty));
    }
    if claim == "email" {
        match claims.raw.get("email_verified") {
            None | Some(Value::Bool(true)) => {}
            Some(Value::Bool(false)) => return Err(ClaimError::EmailNotVerified),
            Some(_) => return Err(ClaimError::EmailVerifiedType),
        }
    }
    Ok(format!("{prefix}{name}"))
}

fn groups(rules: &IssuerRules, claims: &Claims<'_>) -> Result<Vec<String>, ClaimError> {
    let (name, prefix) = match &rules.groups {
        None => return Ok(Vec::new()),
        Some(Mapping::Expression(program)) => {
            let texts = claims.evaluate(rules, program).and_then(texts);
            return texts.map_err(in_expression("group claim expression"));
        }
        Some(Mapping::Claim { name, prefix }) => (name, prefix),
    };
    let failed = || ClaimError::GroupsType(name.clone());
    let prefixed = |group: &Value| group.as_str().map(|group| format!("{prefix}{group}")).ok_or_else(failed);
    match claims.raw.get(name) {
        None if is_distributed(claims.raw, name) => Err(ClaimError::Distributed(name.clone())),
        None => Ok(Vec::new()),
        Some(Value::Array(groups)) => groups.iter().map(prefixed).collect(),
        Some(group) => Ok(vec![prefixed(group)?]),
    }
}

/// Whether a token refers to another place for a claim. Its user would lack groups without notice.
fn is_distributed(claims: &Map<String, Value>, name: &str) -> bool {
    claims.get("_claim_names").is_some_and(|names| names.get(name).is_some())
}

fn uid(rules: &IssuerRules, claims: &Claims<'_>) -> Result<String, ClaimError> {
    match &rules.uid {
        None => Ok(String::new()),
        Some(Mapping::Claim { name, .. }) => {
            let failed = |source| ClaimError::Uid { claim: name.clone(), source };
            claims.text(name).map(str::to_owned).map_err(failed)
        }
        Some(Mapping::Expression(program)) => {
            let failed = in_expression("uid claim expression");
            match claims.evaluate(rules, program).map_err(failed)? {
                Value::String(uid) => Ok(uid),
                _ => Err(failed(ExpressionError::NotText("uid"))),
            }
        }
    }
}

fn extra(rules: &IssuerRules, claims: &Claims<'_>) -> Result<BTreeMap<String, Vec<String>>, ClaimError> {
    let mut extra = BTreeMap::new();
    if let Ok(id) = claims.text("jti")
        && !id.is_empty()
    {
        extra.insert(CREDENTIAL_ID.to_owned(), vec![format!("JTI={id}")]);
    }
    for (key, program) in &rules.extra {
        let values = claims.evaluate(rules, program).and_then(texts);
        let values = values.map_err(|source| ClaimError::Extra { key: key.clone(), source })?;
        if !values.is_empty() {
            extra.insert(key.clone(), values);
        }
    }
    Ok(extra)
}

/// Returns a text or a list of texts, without empty ones.
fn texts(value: Value) -> Result<Vec<String>, ExpressionError> {
    let texts: Vec<String> = match value {
        Value::Null => Vec::new(),
        Value::String(text) => vec![text],
        Value::Array(all) => {
            let text = |value| {
                if let Value::String(text) = value { Ok(text) } else { Err(ExpressionError::NotTexts) }
            };
            all.into_iter().map(text).collect::<Result<_, _>>()?
        }
        _ => return Err(ExpressionError::NotTexts),
    };
    Ok(texts.into_iter().filter(|text| !text.is_empty()).collect())
}

fn check(
    rules: &[Rule],
    evaluate: impl Fn(&Program) -> Result<Value, ExpressionError>,
) -> Result<(), ExpressionError> {
    for rule in rules {
        match evaluate(&rule.program)? {
            Value::Bool(true) => {}
            Value::Bool(false) => {
                let (expression, message) = (rule.expression.clone(), rule.message.clone());
                return Err(ExpressionError::Refused { expression, message });
            }
            _ => return Err(ExpressionError::NotBoolean),
        }
    }
    Ok(())
}

fn check_user(rules: &IssuerRules, user: &UserInfo) -> Result<(), ClaimError> {
    if rules.user_rules.is_empty() {
        return Ok(());
    }
    let extra: Map<String, Value> =
        user.extra.iter().map(|(key, values)| (key.clone(), json!(values))).collect();
    let extra = seen(&extra, rules.uses_escapes);
    let user = json!({ "username": user.name, "uid": user.uid, "groups": user.groups, "extra": extra });
    let declared = user_type();
    let of_user = |program: &Program| {
        let mut activation = rules.user_activation();
        activation.bind_json("user", &user, &declared);
        evaluate(program, &activation)
    };
    check(&rules.user_rules, of_user).map_err(in_expression("user info validation rule"))
}
