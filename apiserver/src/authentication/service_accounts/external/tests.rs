use rcgen::PublicKeyData as _;

use super::messages::{Key, Timestamp};
use super::*;

fn header(json: &str) -> Result<String, String> {
    check_header(&BASE64_URL_SAFE_NO_PAD.encode(json)).map_err(|error| error.to_string())
}

#[test]
fn a_header_has_a_type_a_key_and_an_algorithm_and_nothing_else() {
    assert_eq!(header(r#"{"alg":"ES256","kid":"a","typ":"JWT"}"#), Ok("a".to_owned()));
    let long = format!(r#"{{"alg":"ES256","kid":"{}","typ":"JWT"}}"#, "a".repeat(1025));
    for (json, reason) in [
        ("{", "while parsing header JSON: "),
        (r#"{"alg":"ES256","kid":"a","typ":"JWT","crit":["b"]}"#, "unknown field `crit`"),
        (r#"{"alg":"ES256","kid":"a"}"#, "bad type"),
        (r#"{"alg":"ES256","typ":"JWT"}"#, "key id missing"),
        (&long, "key id longer than 1 kb"),
        (r#"{"alg":"none","kid":"a","typ":"JWT"}"#, "bad signing algorithm \"none\""),
        (r#"{"alg":"HS256","kid":"a","typ":"JWT"}"#, "bad signing algorithm \"HS256\""),
    ] {
        let refused = header(json).unwrap_err();
        assert!(refused.contains(reason), "{refused}");
    }
    assert!(check_header("{}").unwrap_err().to_string().contains("while unwrapping header"));
}

fn answer(keys: Vec<Key>) -> FetchKeysResponse {
    FetchKeysResponse {
        keys,
        data_timestamp: Some(Timestamp { seconds: 7, nanos: 0 }),
        refresh_hint_seconds: 10,
    }
}

fn key(id: &str, algorithm: &'static rcgen::SignatureAlgorithm) -> Key {
    let pair = rcgen::KeyPair::generate_for(algorithm).unwrap();
    Key { id: id.to_owned(), public: pair.subject_public_key_info(), exclude_from_oidc_discovery: false }
}

#[test]
fn keys_have_the_ids_that_the_program_gives_them() {
    let mut hidden = key("b", &rcgen::PKCS_ECDSA_P384_SHA384);
    hidden.exclude_from_oidc_discovery = true;
    let unusable = key("c", &rcgen::PKCS_ED25519);
    let all = vec![key("a", &rcgen::PKCS_ECDSA_P256_SHA256), hidden, unusable];
    let (keys, data_seconds) = KeySet::new(answer(all)).unwrap();
    assert_eq!(data_seconds, 7);
    assert!(keys.has("a") && keys.has("b") && !keys.has("c"));
    assert_eq!(keys.fitting(None).count(), 2);
    assert_eq!(keys.fitting(Some("b")).map(VerifyingKey::algorithm).collect::<Vec<_>>(), ["ES384"]);
    let published = keys.published();
    assert_eq!(published.len(), 1);
    assert_eq!(published[0].jwk()["kid"], "a");
}

#[test]
fn an_answer_that_is_no_set_of_keys_is_refused() {
    let good = || vec![key("a", &rcgen::PKCS_ECDSA_P256_SHA256)];
    let refused = |answer: FetchKeysResponse| KeySet::new(answer).err().unwrap().to_string();
    assert_eq!(refused(answer(Vec::new())), "found no keys");
    assert_eq!(refused(answer(vec![Key::default()])), "found invalid public key id \"\"");
    let long = Key { id: "a".repeat(1025), ..good().remove(0) };
    assert!(refused(answer(vec![long])).starts_with("found invalid public key id"));
    let empty = Key { public: Vec::new(), ..good().remove(0) };
    assert_eq!(refused(answer(vec![empty])), "found empty public key");
    assert_eq!(refused(answer(vec![good().remove(0); MAX_KEYS + 1])), "found more than 1024 keys");
    for seconds in [0, -1, i64::MIN] {
        let hint = FetchKeysResponse { refresh_hint_seconds: seconds, ..answer(good()) };
        assert_eq!(refused(hint), format!("found invalid refresh hint ({seconds}s)"));
    }
    for time in [None, Some(Timestamp { seconds: 0, nanos: -1 })] {
        assert_eq!(
            refused(FetchKeysResponse { data_timestamp: time, ..answer(good()) }),
            "invalid data timestamp"
        );
    }
    let forever = FetchKeysResponse { refresh_hint_seconds: i64::MAX, ..answer(good()) };
    assert!(KeySet::new(forever).unwrap().0.until_refresh() <= MAX_REFRESH);
}
