use serde_json::json;

use crate::authentication::jwt;

use super::configuration::AuthenticationConfiguration;
use super::*;

const ISSUER: &str = "https://issuer.example.com";

/// Returns a configuration with one issuer, changed.
fn configuration(change: impl FnOnce(&mut Value)) -> Value {
    let mut configuration = json!({
        "apiVersion": "apiserver.config.k8s.io/v1",
        "kind": "AuthenticationConfiguration",
        "jwt": [{
            "issuer": { "url": ISSUER, "audiences": ["orlop"] },
            "claimMappings": { "username": { "claim": "sub", "prefix": "oidc:" } },
        }],
    });
    change(&mut configuration);
    configuration
}

fn compile(configuration: &Value) -> Result<Vec<IssuerRules>, String> {
    let parsed = AuthenticationConfiguration::parse(configuration.to_string().as_bytes())
        .map_err(|error| error.to_string())?;
    let disallowed = ["https://kubernetes.default.svc".to_owned()];
    validation::compile(&parsed, &disallowed).map_err(|errors| errors.to_string())
}

fn refusal(change: impl FnOnce(&mut Value)) -> String {
    compile(&configuration(change)).map(|_| ()).expect_err("a configuration that is not valid")
}

/// Returns the user of claims by these mappings and rules.
fn user(jwt: &Value, claims: &Value) -> Result<registry_core::context::UserInfo, String> {
    let rules = compile(&configuration(|whole| {
        for (field, value) in jwt.as_object().unwrap() {
            whole["jwt"][0][field] = value.clone();
        }
    }));
    mapping::user(&rules.unwrap()[0], claims.as_object().unwrap()).map_err(|error| error.to_string())
}

#[test]
fn a_configuration_is_read_strictly() {
    assert_eq!(compile(&configuration(|_| ())).unwrap().len(), 1);
    assert_eq!(compile(&configuration(|whole| whole["jwt"] = Value::Null)).unwrap().len(), 0);
    for (change, reason) in [
        (json!({"apiVersion": "apiserver.config.k8s.io/v2"}), "no kind"),
        (json!({"kind": "Config"}), "no kind"),
        (json!({"jwks": []}), "unknown field `jwks`"),
        (json!({"jwt": [{"issuer": {"uri": "x"}}]}), "unknown field `uri`"),
    ] {
        let refused = refusal(|whole| {
            for (field, value) in change.as_object().unwrap() {
                whole[field] = value.clone();
            }
        });
        assert!(refused.contains(reason), "{refused}");
    }
    let twice = b"apiVersion: apiserver.config.k8s.io/v1\nkind: AuthenticationConfiguration\nkind: AuthenticationConfiguration\n";
    assert!(AuthenticationConfiguration::parse(twice).is_err());
    assert!(AuthenticationConfiguration::parse(b" ").is_err());
}

#[test]
fn issuers_follow_the_rules() {
    for (field, value, reason) in [
        ("url", json!(""), "jwt[0].issuer.url: Required value"),
        ("url", json!("http://issuer.example.com"), "URL scheme must be https"),
        ("url", json!("https://a:b@issuer.example.com"), "must not contain a username"),
        ("url", json!("https://issuer.example.com?a=b"), "must not contain a query"),
        ("url", json!("https://issuer.example.com#a"), "must not contain a fragment"),
        ("url", json!("https://kubernetes.default.svc"), "must not overlap with disallowed issuers"),
        ("discoveryURL", json!("https://issuer.example.com/"), "must be different from URL"),
        ("audiences", json!([]), "at least one jwt[0].issuer.audiences is required"),
        ("audiences", json!(["a", "b"]), "must be MatchAny for multiple audiences"),
        ("audiences", json!(["a", ""]), "jwt[0].issuer.audiences[1]: Required value"),
        ("audienceMatchPolicy", json!("MatchAll"), "must be empty or MatchAny"),
        (
            "certificateAuthority",
            json!("-----BEGIN CERTIFICATE-----\nx\n-----END CERTIFICATE-----\n"),
            "<omitted>",
        ),
        ("egressSelectorType", json!("etcd"), "egress selector must be either controlplane or cluster"),
    ] {
        let refused = refusal(|whole| whole["jwt"][0]["issuer"][field] = value.clone());
        assert!(refused.contains(reason), "{field}: {refused}");
    }
    let refused = refusal(|whole| {
        let issuer = whole["jwt"][0].clone();
        whole["jwt"] = json!([issuer, issuer]);
    });
    assert!(refused.contains("jwt[1].issuer.url: Duplicate value"), "{refused}");
    let refused = refusal(|whole| whole["jwt"] = json!(vec![whole["jwt"][0].clone(); 65]));
    assert!(refused.contains("Too many: 65"), "{refused}");
    let refused =
        refusal(|whole| whole["anonymous"] = json!({"enabled": false, "conditions": [{"path": "/livez"}]}));
    assert!(refused.contains("enabled should be set to true"), "{refused}");
}

#[test]
fn mappings_and_rules_follow_the_rules() {
    let expression = |expression: &str| json!({ "expression": expression });
    for (field, value, reason) in [
        (
            "claimMappings",
            json!({"username": {}}),
            "username: Required value: claim or expression is required",
        ),
        ("claimMappings", json!({"username": {"claim": "sub"}}), "username.prefix: Required value"),
        (
            "claimMappings",
            json!({"username": {"claim": "sub", "expression": "claims.sub"}}),
            "can't both be set",
        ),
        ("claimMappings", json!({"username": expression("claims.")}), "compilation failed"),
        ("claimMappings", json!({"username": expression("user.name")}), "undeclared reference"),
        (
            "claimMappings",
            json!({"username": expression("claims.email")}),
            "claims.email_verified must be used",
        ),
        (
            "claimMappings",
            json!({"username": {"expression": "claims.sub", "prefix": "x"}}),
            "may not be specified when expression is set",
        ),
        ("claimValidationRules", json!([{}]), "claim or expression is required"),
        ("claimValidationRules", json!([expression("claims.sub")]), "must evaluate to bool"),
        ("claimValidationRules", json!([{"claim": "a"}, {"claim": "a"}]), "Duplicate value"),
        (
            "claimValidationRules",
            json!([{"claim": "a", "message": "m"}]),
            "may not be specified when claim is set",
        ),
        ("userValidationRules", json!([expression("user.nosuch == ''")]), "undefined field"),
        ("userValidationRules", json!([expression("true"), expression("true")]), "Duplicate value"),
    ] {
        let refused = refusal(|whole| whole["jwt"][0][field] = value.clone());
        assert!(refused.contains(reason), "{value}: {refused}");
    }
    for (key, reason) in [
        ("", "Required value"),
        ("foo", "must be a domain-prefixed path"),
        ("Example.com/foo", "must be lowercase"),
        ("kubernetes.io/foo", "reserved for Kubernetes use"),
        ("a.k8s.io/foo", "reserved for Kubernetes use"),
    ] {
        let extra = json!([{ "key": key, "valueExpression": "claims.sub" }]);
        let refused = refusal(|whole| whole["jwt"][0]["claimMappings"]["extra"] = extra);
        assert!(refused.contains(reason), "{key}: {refused}");
    }
}

#[test]
fn claims_name_the_user() {
    let named = user(&json!({}), &json!({"sub": "jane", "jti": "t1"})).unwrap();
    assert_eq!(named.name, "oidc:jane");
    let credential = ("authentication.kubernetes.io/credential-id".to_owned(), vec!["JTI=t1".to_owned()]);
    assert_eq!((named.groups.len(), named.extra), (0, vec![credential]));

    let mappings = json!({ "claimMappings": {
        "username": { "expression": "claims.email_verified ? claims.email : 'x'" },
        "groups": { "expression": "claims.roles.map(r, 'role:' + r)" },
        "uid": { "claim": "id" },
        "extra": [
            { "key": "example.com/tenant", "valueExpression": "claims.acme__dot__com.tenant" },
            { "key": "example.com/none", "valueExpression": "claims.?nothing.orValue('')" },
        ],
    }});
    let claims = json!({
        "email": "jane@example.com", "email_verified": true, "roles": ["a", "b"], "id": "7", "acme.com": {"tenant": "t"},
    });
    let named = user(&mappings, &claims).unwrap();
    assert_eq!((named.name.as_str(), named.uid.as_str()), ("jane@example.com", "7"));
    assert_eq!(named.groups, ["role:a", "role:b"]);
    assert_eq!(named.extra, [("example.com/tenant".to_owned(), vec!["t".to_owned()])]);

    let by_claim = json!({ "claimMappings": {
        "username": { "claim": "email", "prefix": "" },
        "groups": { "claim": "roles", "prefix": "g:" },
    }});
    let named = user(&by_claim, &json!({"email": "j", "roles": "one"})).unwrap();
    assert_eq!((named.name.as_str(), named.groups), ("j", vec!["g:one".to_owned()]));
}

#[test]
fn claims_that_do_not_fit_name_nobody() {
    let username = |expression: &str| json!({"claimMappings": {"username": {"expression": expression}}});
    let by_email = json!({"claimMappings": {"username": {"claim": "email", "prefix": ""}}});
    let groups = json!({"claimMappings": {
        "username": {"claim": "sub", "prefix": ""}, "groups": {"claim": "groups", "prefix": ""},
    }});
    let required = json!({"claimValidationRules": [{"claim": "hd", "requiredValue": "example.com"}]});
    let rule = json!({"claimValidationRules": [{"expression": "claims.hd == 'example.com'", "message": "wrong domain"}]});
    let of_user = json!({"userValidationRules": [
        {"expression": "!user.username.startsWith('oidc:system:')", "message": "reserved"},
    ]});
    for (jwt, claims, reason) in [
        (json!({}), json!({}), "claim not present"),
        (json!({}), json!({"sub": 7}), "it is not a string"),
        (json!({}), json!({"sub": ""}), "it is empty"),
        (username("claims.sub"), json!({"sub": ""}), "empty username via CEL"),
        (username("claims.sub"), json!({"sub": 7}), "must return a string"),
        (username("claims.sub"), json!({}), "no such key"),
        (by_email.clone(), json!({"email": "j", "email_verified": false}), "email not verified"),
        (by_email, json!({"email": "j", "email_verified": "true"}), "email_verified"),
        (groups.clone(), json!({"sub": "j", "groups": [1]}), "parse groups claim"),
        (groups.clone(), json!({"sub": "j", "groups": {"a": "b"}}), "parse groups claim"),
        (groups, json!({"sub": "j", "_claim_names": {"groups": "src"}}), "distributed"),
        (required.clone(), json!({"sub": "j"}), "required claim hd not present"),
        (required.clone(), json!({"sub": "j", "hd": "other"}), "value does not match"),
        (required, json!({"sub": "j", "hd": ["example.com"]}), "parse claim hd"),
        (rule, json!({"sub": "j", "hd": "other"}), "failed: wrong domain"),
        (of_user, json!({"sub": "system:admin"}), "failed: reserved"),
    ] {
        let refused = user(&jwt, &claims).expect_err(reason);
        assert!(refused.starts_with("oidc: ") && refused.contains(reason), "{refused}");
    }
}

#[test]
fn time_and_audience_are_checked() {
    let wanted = ["orlop".to_owned(), "other".to_owned()];
    let now = "1970-01-01T00:16:40Z".parse::<jiff::Timestamp>().unwrap();
    let check_at = |claims: Value, now| claims::check(claims.as_object().unwrap(), &wanted, now);
    let check = |claims: Value| check_at(claims, now);
    for good in
        [json!({"aud": "orlop", "exp": 1_000}), json!({"aud": ["x", "other"], "exp": 1_001.5, "nbf": 1_060})]
    {
        assert_eq!(check(good.clone()), Ok(()), "{good}");
    }
    for bad in [
        json!({"aud": "orlop"}),
        json!({"aud": "orlop", "exp": null}),
        json!({"aud": "orlop", "exp": 999}),
        json!({"aud": "orlop", "exp": "2000"}),
        json!({"aud": "orlop", "exp": 2_000, "nbf": 1_061}),
        json!({"aud": "orlop", "exp": 2_000, "nbf": "0"}),
        json!({"exp": 2_000}),
        json!({"aud": [], "exp": 2_000}),
        json!({"aud": {"orlop": "orlop"}, "exp": 2_000}),
        json!({"aud": ["orlop", 1], "exp": 2_000}),
        json!({"aud": "Orlop", "exp": 2_000}),
    ] {
        assert!(check(bad.clone()).is_err(), "{bad}");
    }
    // A token ends at the beginning of its last second.
    let a_moment_later = now + jiff::SignedDuration::from_nanos(1);
    let ends_now = json!({"aud": "orlop", "exp": 1_000});
    assert!(
        check_at(ends_now, a_moment_later).unwrap_err().to_string().starts_with("oidc: token is expired")
    );
    assert_eq!(check_at(json!({"aud": "orlop", "exp": 1_001}), a_moment_later), Ok(()));
    assert!(claims::decode(br#"{"sub":"a","sub":"b"}"#).unwrap().duplicate.is_some());
    assert!(claims::decode(br#"{"a":{"b":1,"b":2}}"#).unwrap().duplicate.is_some());
    assert!(claims::decode(b"[]").is_none());
    assert!(claims::decode("[".repeat(10_000).as_bytes()).is_none());
}

#[test]
fn only_known_keys_and_algorithms_are_used() {
    for name in ["none", "HS256", "ES521", "RS256 ", "rs256", ""] {
        assert!(Algorithm::accepted(name, &Algorithm::ALL).is_err(), "{name}");
    }
    assert!(Algorithm::accepted("ES256", &[Algorithm::Rs256]).is_err());
    for set in [
        json!({"keys": []}),
        json!({"keys": [{"kty": "oct", "k": "c2VjcmV0"}]}),
        json!({"keys": [{"kty": "RSA", "n": "AQAB", "e": "AQAB", "use": "enc"}]}),
        json!({"keys": [{"kty": "EC", "crv": "P-256", "x": "AQ", "y": "AQ"}]}),
        json!({"keys": [{"kty": "RSA", "n": "AQAB", "e": "AQAB", "alg": "HS256"}]}),
    ] {
        assert!(keys::Keys::parse(set.to_string().as_bytes()).is_err(), "{set}");
    }
}

/// The example of RFC 7515, appendix A.4.
#[cfg(feature = "es512")]
#[test]
fn es512_is_verified_with_p521_keys() {
    let key = |curve: &str| {
        json!({"keys": [{
            "kty": "EC", "crv": curve,
            "x": "AekpBQ8ST8a8VcfVOTNl353vSrDCLLJXmPk06wTjxrrjcBpXp5EOnYG_NjFZ6OvLFV1jSfS9tsz4qUxcWceqwQGk",
            "y": "ADSmRA43Z1DSNx_RvcLI87cdL07l6jQyyBXMoxVg_l2Th-x3S1WDhjDly79ajL4Kkd0AZMaZmh9ubmf63e3kyMj2",
        }]})
    };
    let signature = "AdwMgeerwtHoh-l192l60hp9wAHZFVJbLfD_UxMi70cwnZOYaRI1bKPWROc-mZZqwqT2SI-KGDKB34XO0aw_7Xdt\
                     AG8GaSwFKdCAPZgoXD2YBJZCPEX3xKpRwcdOO8KpEHwJjyqOgzDO7iKvU8vcnwNrmxYbSW9ERBXukOXolLzeO_Jn";
    let keys = keys::Keys::parse(key("P-521").to_string().as_bytes()).unwrap();
    let verify = |algorithm, payload: &str, signature: &str| {
        let token = format!("eyJhbGciOiJFUzUxMiJ9.{payload}.{signature}");
        keys.verify(algorithm, &jwt::Unverified::parse(&token).unwrap())
    };
    assert!(verify(Algorithm::Es512, "UGF5bG9hZA", signature));
    assert!(!verify(Algorithm::Es384, "UGF5bG9hZA", signature), "another algorithm");
    assert!(!verify(Algorithm::Es512, "UGF5bG9hYQ", signature), "other claims");
    for bad in ["", "AAAA", &signature[4..], &format!("AAAA{signature}"), &"A".repeat(176)] {
        assert!(!verify(Algorithm::Es512, "UGF5bG9hZA", bad), "{bad}");
    }
    assert!(keys::Keys::parse(key("P-384").to_string().as_bytes()).is_err(), "a point of another curve");
    let mut outside = key("P-521");
    outside["keys"][0]["y"] = outside["keys"][0]["x"].clone();
    assert!(keys::Keys::parse(outside.to_string().as_bytes()).is_err(), "no point of the curve");
}
