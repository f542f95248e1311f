//! The rules of a configuration, and what is made of it: issuers with compiled expressions.

use std::collections::{BTreeMap, HashSet};
use std::sync::Arc;

use registry_core::api::validation::{ErrorList, FieldError, FieldPath};
use registry_core::cel::{
    Activation, DeclType, Environment, Field, ListKind, ObjectType, Program, Shape, Type,
};

use registry_core::context::Budget;

use super::checks::{check_extra_key, check_issuer};
use super::configuration::{
    AuthenticationConfiguration, ClaimMappings, ClaimValidationRule, JwtAuthenticator, PrefixedClaim,
    UserValidationRule,
};

/// Maximum number of issuers.
const MAX_ISSUERS: usize = 64;

/// An issuer, and what its tokens say.
#[derive(Debug)]
pub(in crate::authentication) struct IssuerRules {
    pub(super) url: String,
    pub(super) discovery_url: Option<String>,
    /// PEM; the authorities of the system if it is empty.
    pub(super) certificate_authority: String,
    /// The network of the issuer, or an empty text if it is reached without a proxy.
    pub(super) egress_selector_type: String,
    pub(super) audiences: Vec<String>,
    pub(super) username: Mapping,
    pub(super) groups: Option<Mapping>,
    pub(super) uid: Option<Mapping>,
    pub(super) extra: Vec<(String, Program)>,
    /// Claims and the values that they must have.
    pub(super) required: Vec<(String, String)>,
    pub(super) claim_rules: Vec<Rule>,
    pub(super) user_rules: Vec<Rule>,
    pub(super) has_expressions: bool,
    /// Whether an expression may contain an escaped name.
    pub(super) uses_escapes: bool,
    environments: Arc<Environments>,
}

/// The source of a part of the user.
#[derive(Debug)]
pub(super) enum Mapping {
    Claim { name: String, prefix: String },
    Expression(Program),
}

/// An expression that must be true.
#[derive(Debug)]
pub(super) struct Rule {
    pub(super) expression: String,
    pub(super) message: String,
    pub(super) program: Program,
}

#[derive(Debug)]
struct Environments {
    claims: Environment,
    user: Environment,
}

/// Compiles the expressions of one issuer.
struct Compiler<'e> {
    environments: &'e Environments,
    errors: ErrorList,
    has_expressions: bool,
    uses_escapes: bool,
    sees_email: bool,
    sees_email_verified: bool,
}

// === impl IssuerRules ===

impl IssuerRules {
    pub(super) fn claims_activation<'a>(&self) -> Activation<'a> {
        self.environments.claims.activation()
    }

    pub(super) fn user_activation<'a>(&self) -> Activation<'a> {
        self.environments.user.activation()
    }
}

/// Returns the type of users in expressions.
pub(super) fn user_type() -> DeclType {
    let text = DeclType::new(Shape::String);
    let texts = || DeclType::new(Shape::List(Arc::new(DeclType::new(Shape::String)), ListKind::Atomic));
    let field = |name: &str, declared: DeclType| (name.into(), Field { json_name: name.into(), declared });
    let fields = BTreeMap::from([
        field("username", text.clone()),
        field("uid", text),
        field("groups", texts()),
        field("extra", DeclType::new(Shape::Map(Arc::new(texts())))),
    ]);
    DeclType::new(Shape::Object(Arc::new(ObjectType::new("kubernetes.UserInfo", fields))))
}

// === impl Environments ===

impl Environments {
    fn new() -> Self {
        let claims = Type::map(Type::String, Type::Dyn);
        let user = user_type();
        Self {
            claims: Environment::kubernetes().with_variable("claims", claims),
            user: Environment::kubernetes().with_variable("user", user.cel_type().clone()),
        }
    }
}

/// Checks a configuration, and compiles its expressions. `disallowed` are the issuers of service accounts' tokens.
///
/// # Errors
/// Fails with all errors if there are any.
pub(in crate::authentication) fn compile(
    configuration: &AuthenticationConfiguration,
    disallowed: &[String],
) -> Result<Vec<IssuerRules>, ErrorList> {
    let mut errors = ErrorList::default();
    let root = FieldPath::new("jwt");
    if configuration.jwt.len() > MAX_ISSUERS {
        return Err(FieldError::too_many(root, configuration.jwt.len(), MAX_ISSUERS).into());
    }
    let environments = Arc::new(Environments::new());
    let mut rules = Vec::new();
    let (mut urls, mut discovery_urls) = (HashSet::new(), HashSet::new());
    for (index, jwt) in configuration.jwt.iter().enumerate() {
        let path = root.index(index);
        let (own, compiled) = issuer_rules(jwt, disallowed, &environments, &path);
        errors.append(own);
        rules.extend(compiled);
        let issuer = path.child("issuer");
        if !urls.insert(jwt.issuer.url.as_str()) {
            errors.push(FieldError::duplicate(issuer.child("url"), jwt.issuer.url.clone()));
        }
        let discovery = jwt.issuer.discovery_url.as_str();
        if !discovery.is_empty() && !discovery_urls.insert(discovery) {
            errors.push(FieldError::duplicate(issuer.child("discoveryURL"), discovery));
        }
    }
    if let Some(anonymous) = configuration.anonymous.as_ref().filter(|anonymous| !anonymous.enabled)
        && !anonymous.conditions.is_empty()
    {
        let path = FieldPath::new("anonymous").child("conditions");
        let paths: Vec<&str> = anonymous.conditions.iter().map(|condition| condition.path.as_str()).collect();
        let detail = "enabled should be set to true when conditions are defined";
        errors.push(FieldError::invalid(path, paths, detail));
    }
    if errors.is_empty() { Ok(rules) } else { Err(errors) }
}

fn issuer_rules(
    jwt: &JwtAuthenticator,
    disallowed: &[String],
    environments: &Arc<Environments>,
    path: &FieldPath,
) -> (ErrorList, Option<IssuerRules>) {
    let mut compiler = Compiler::new(environments);
    compiler.errors.append(check_issuer(&jwt.issuer, disallowed, &path.child("issuer")));
    let rules_path = path.child("claimValidationRules");
    let (required, claim_rules) = compiler.claim_rules(&jwt.claim_validation_rules, &rules_path);
    let mappings = path.child("claimMappings");
    let username = compiler.prefixed(&jwt.claim_mappings.username, &mappings.child("username"), true);
    compiler.sees_email &= !jwt.claim_mappings.username.expression.is_empty();
    let groups = compiler.prefixed(&jwt.claim_mappings.groups, &mappings.child("groups"), false);
    let uid = compiler.uid(&jwt.claim_mappings, &mappings.child("uid"));
    let extra = compiler.extra(&jwt.claim_mappings, &mappings.child("extra"));
    let user_rules = compiler.user_rules(&jwt.user_validation_rules, &path.child("userValidationRules"));
    if compiler.sees_email && !compiler.sees_email_verified {
        let detail = "claims.email_verified must be used in claimMappings.username.expression or \
                      claimMappings.extra[*].valueExpression or claimValidationRules[*].expression when claims.email is \
                      used in claimMappings.username.expression";
        let expression = jwt.claim_mappings.username.expression.clone();
        let path = mappings.child("username").child("expression");
        compiler.errors.push(FieldError::invalid(path, expression, detail));
    }
    let issuer = &jwt.issuer;
    let rules = username.map(|username| IssuerRules {
        url: issuer.url.clone(),
        discovery_url: Some(issuer.discovery_url.clone()).filter(|url| !url.is_empty()),
        certificate_authority: issuer.certificate_authority.clone(),
        egress_selector_type: issuer.egress_selector_type.clone(),
        audiences: issuer.audiences.clone(),
        username,
        groups,
        uid,
        extra,
        required,
        claim_rules,
        user_rules,
        has_expressions: compiler.has_expressions,
        uses_escapes: compiler.uses_escapes,
        environments: environments.clone(),
    });
    (compiler.errors, rules)
}

// === impl Compiler ===

impl<'e> Compiler<'e> {
    fn new(environments: &'e Environments) -> Self {
        Self {
            environments,
            errors: ErrorList::default(),
            has_expressions: false,
            uses_escapes: false,
            sees_email: false,
            sees_email_verified: false,
        }
    }

    /// Compiles an expression. `must_be_bool` is whether it is a rule.
    fn compile(
        &mut self,
        environment: &Environment,
        expression: &str,
        must_be_bool: bool,
        path: FieldPath,
    ) -> Option<Program> {
        self.uses_escapes |= expression.contains("__");
        let invalid = |detail: String| FieldError::invalid(path, expression, detail);
        match environment.compile(expression, &Budget::unlimited()) {
            Err(error) => {
                self.errors.push(invalid(error.to_string()));
                None
            }
            Ok(program) if must_be_bool && *program.output_type() != Type::Bool => {
                self.errors.push(invalid("must evaluate to bool".to_owned()));
                None
            }
            Ok(program) => Some(program),
        }
    }

    /// Compiles an expression over the claims.
    fn claims(&mut self, expression: &str, must_be_bool: bool, path: FieldPath) -> Option<Program> {
        self.has_expressions = true;
        let environments = self.environments;
        self.compile(&environments.claims, expression, must_be_bool, path)
    }

    fn note_verified_email(&mut self, program: Option<&Program>) {
        self.sees_email_verified |= program.is_some_and(|program| selects(program, "claims.email_verified"));
    }

    fn claim_rules(
        &mut self,
        rules: &[ClaimValidationRule],
        path: &FieldPath,
    ) -> (Vec<(String, String)>, Vec<Rule>) {
        let (mut required, mut compiled) = (Vec::new(), Vec::new());
        let (mut known_claims, mut known_expressions) = (HashSet::new(), HashSet::new());
        for (index, rule) in rules.iter().enumerate() {
            let path = path.index(index);
            match (rule.claim.is_empty(), rule.expression.is_empty()) {
                (false, false) => self.errors.push(both(path, rule.claim.as_str())),
                (true, true) => {
                    self.errors.push(FieldError::required(path, "claim or expression is required"));
                }
                (false, true) => {
                    if !rule.message.is_empty() {
                        let detail = "may not be specified when claim is set";
                        let path = path.child("message");
                        self.errors.push(FieldError::invalid(path, rule.message.clone(), detail));
                    }
                    if !known_claims.insert(&rule.claim) {
                        self.errors.push(FieldError::duplicate(path.child("claim"), rule.claim.clone()));
                    }
                    required.push((rule.claim.clone(), rule.required_value.clone()));
                }
                (true, false) => {
                    if !rule.required_value.is_empty() {
                        let detail = "may not be specified when expression is set";
                        let path = path.child("requiredValue");
                        self.errors.push(FieldError::invalid(path, rule.required_value.clone(), detail));
                    }
                    let path = path.child("expression");
                    if !known_expressions.insert(&rule.expression) {
                        self.errors.push(FieldError::duplicate(path, rule.expression.clone()));
                        continue;
                    }
                    let program = self.claims(&rule.expression, true, path);
                    self.note_verified_email(program.as_ref());
                    compiled
                        .extend(program.map(|program| Rule::new(&rule.expression, &rule.message, program)));
                }
            }
        }
        (required, compiled)
    }

    fn prefixed(&mut self, mapping: &PrefixedClaim, path: &FieldPath, is_required: bool) -> Option<Mapping> {
        match (mapping.claim.is_empty(), mapping.expression.is_empty()) {
            (false, false) => {
                self.errors.push(both(path.clone(), ""));
                None
            }
            (true, true) => {
                if is_required {
                    self.errors.push(FieldError::required(path.clone(), "claim or expression is required"));
                }
                None
            }
            (true, false) => {
                if let Some(prefix) = &mapping.prefix {
                    let detail = "may not be specified when expression is set";
                    self.errors.push(FieldError::invalid(path.child("prefix"), prefix.clone(), detail));
                }
                let program = self.claims(&mapping.expression, false, path.child("expression"))?;
                if is_required {
                    self.sees_email |= selects(&program, "claims.email");
                    self.note_verified_email(Some(&program));
                }
                Some(Mapping::Expression(program))
            }
            (false, true) => {
                if mapping.prefix.is_none() {
                    let detail = "prefix is required when claim is set. It can be set to an empty string to disable \
                                  prefixing";
                    self.errors.push(FieldError::required(path.child("prefix"), detail));
                }
                let prefix = mapping.prefix.clone().unwrap_or_default();
                Some(Mapping::Claim { name: mapping.claim.clone(), prefix })
            }
        }
    }

    fn uid(&mut self, mappings: &ClaimMappings, path: &FieldPath) -> Option<Mapping> {
        let uid = &mappings.uid;
        match (uid.claim.is_empty(), uid.expression.is_empty()) {
            (true, true) => None,
            (false, true) => Some(Mapping::Claim { name: uid.claim.clone(), prefix: String::new() }),
            (true, false) => {
                self.claims(&uid.expression, false, path.child("expression")).map(Mapping::Expression)
            }
            (false, false) => {
                self.errors.push(both(path.clone(), ""));
                None
            }
        }
    }

    fn extra(&mut self, mappings: &ClaimMappings, path: &FieldPath) -> Vec<(String, Program)> {
        let mut compiled = Vec::new();
        let mut known = HashSet::new();
        for (index, mapping) in mappings.extra.iter().enumerate() {
            let path = path.index(index);
            let key = mapping.key.as_str();
            self.errors.append(check_extra_key(key, &path.child("key")));
            if !known.insert(key) {
                self.errors.push(FieldError::duplicate(path.child("key"), key));
                continue;
            }
            let path = path.child("valueExpression");
            if mapping.value_expression.is_empty() {
                self.errors.push(FieldError::required(path, ""));
                continue;
            }
            let program = self.claims(&mapping.value_expression, false, path);
            self.note_verified_email(program.as_ref());
            compiled.extend(program.map(|program| (key.to_owned(), program)));
        }
        compiled
    }

    fn user_rules(&mut self, rules: &[UserValidationRule], path: &FieldPath) -> Vec<Rule> {
        let mut compiled = Vec::new();
        let mut known = HashSet::new();
        for (index, rule) in rules.iter().enumerate() {
            let path = path.index(index).child("expression");
            if rule.expression.is_empty() {
                self.errors.push(FieldError::required(path, ""));
            } else if known.insert(&rule.expression) {
                let environments = self.environments;
                let program = self.compile(&environments.user, &rule.expression, true, path);
                compiled.extend(program.map(|program| Rule::new(&rule.expression, &rule.message, program)));
            } else {
                self.errors.push(FieldError::duplicate(path, rule.expression.clone()));
            }
        }
        compiled
    }
}

// === impl Rule ===

impl Rule {
    fn new(expression: &str, message: &str, program: Program) -> Self {
        Self { expression: expression.to_owned(), message: message.to_owned(), program }
    }
}

fn both(path: FieldPath, value: &str) -> FieldError {
    FieldError::invalid(path, value, "claim and expression can't both be set")
}

fn selects(program: &Program, path: &str) -> bool {
    program.referenced_paths().iter().any(|referenced| referenced == path)
}
