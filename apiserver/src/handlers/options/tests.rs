use registry_core::api::{PropagationPolicy, ResourceVersionMatch};
use serde_json::json;

use super::*;

fn with_query<T>(text: &str, read: impl Fn(Query<'_>) -> T) -> T {
    let uri: http::Uri = format!("/x?{text}").parse().unwrap();
    read(Query::from_uri(&uri))
}

#[test]
fn create_options_name_what_is_wrong() {
    let read = |text: &str| with_query(text, |query| write_options(query, "CreateOptions"));
    assert_eq!(read("").unwrap(), CreateOptions::default());
    assert!(read("dryRun=All").unwrap().dry_run.is_on());
    assert_eq!(read("fieldValidation=Strict").unwrap().field_validation, FieldValidation::Strict);
    assert_eq!(
        read("dryRun=zork").unwrap_err().message,
        "CreateOptions.meta.k8s.io \"\" is invalid: dryRun: Unsupported value: [\"zork\"]: supported values: \"All\""
    );
    assert_eq!(read("dryRun=").unwrap_err().code, 422);
    assert_eq!(
        read("fieldValidation=zork").unwrap_err().message,
        "CreateOptions.meta.k8s.io \"\" is invalid: fieldValidation: Unsupported value: \"zork\": supported values: \"\", \"Ignore\", \"Strict\", \"Warn\""
    );
    assert_eq!(read(&format!("fieldManager={}", "m".repeat(129))).unwrap_err().code, 422);
    assert_eq!(read(&format!("fieldManager={}", "m".repeat(128))).unwrap().field_manager.len(), 128);
}

#[test]
fn field_managers_are_printable_and_of_bounded_length() {
    let read = |manager: &str| {
        with_query(&format!("fieldManager={manager}"), |query| write_options(query, "CreateOptions"))
    };
    let refused = |manager: &str| {
        let message = read(manager).unwrap_err().message;
        message.strip_prefix("CreateOptions.meta.k8s.io \"\" is invalid: ").unwrap().to_owned()
    };
    assert_eq!(refused(&"%C3%A9".repeat(65)), "fieldManager: Too long: may not be more than 128 bytes");
    assert_eq!(read(&"%C3%A9".repeat(64)).unwrap().field_manager, "é".repeat(64));
    assert_eq!(read("a+e%CC%81%F0%9F%98%80%E2%82%AC").unwrap().field_manager, "a e\u{301}😀€");
    let first = r#"fieldManager: Invalid value: "a\x01b\u200b": invalid character U+0001 (at position 1)"#;
    let second = r#"fieldManager: Invalid value: "a\x01b\u200b": invalid character U+200B (at position 3)"#;
    assert_eq!(refused("a%01b%E2%80%8B"), format!("[{first}, {second}]"));
    for invisible in ["%C2%A0", "%C2%AD", "%E2%80%A8", "%EE%80%80", "%0A", "%7F"] {
        assert!(refused(invisible).contains("invalid character U+"), "{invisible}");
    }
}

#[test]
fn patch_options_depend_on_apply() {
    let read = |text, apply| with_query(text, |query| patch_options(query, apply));
    assert_eq!(
        read("", true).unwrap_err().message,
        "PatchOptions.meta.k8s.io \"\" is invalid: fieldManager: Required value: is required for apply patch"
    );
    assert_eq!(read("force=true", false).unwrap_err().code, 422);
    assert!(read("force=true&fieldManager=m", true).unwrap().force);
}

#[test]
fn list_options_are_checked_together() {
    let read = |text, purpose| with_query(text, |query| list_options(query, purpose));
    let list = |text| read(text, ListPurpose::List);
    let message = |text| list(text).unwrap_err().message;
    let page = list("limit=5&continue=abc&resourceVersion=0").unwrap();
    assert_eq!((page.limit, page.continue_token.as_deref()), (5, Some("abc")));
    assert_eq!(list("limit=-1").unwrap().limit, 0);
    assert_eq!(message("limit=zork"), "strconv.ParseInt: parsing \"zork\": invalid syntax");
    assert!(
        list("continue=abc&resourceVersion=7").is_ok(),
        "an invalid continue token is reported first, by the store"
    );
    let exact = list("resourceVersion=7&resourceVersionMatch=Exact").unwrap();
    assert_eq!(exact.resource_version_match, Some(ResourceVersionMatch::Exact));
    assert_eq!(
        message("resourceVersionMatch=zork"),
        "ListOptions.meta.k8s.io \"\" is invalid: [resourceVersionMatch: Forbidden: resourceVersionMatch is forbidden unless resourceVersion is provided, resourceVersionMatch: Unsupported value: \"zork\": supported values: \"Exact\", \"NotOlderThan\", \"\"]"
    );
    assert_eq!(
        message("resourceVersion=0&resourceVersionMatch=Exact"),
        "ListOptions.meta.k8s.io \"\" is invalid: resourceVersionMatch: Forbidden: resourceVersionMatch \"exact\" is forbidden for resourceVersion \"0\""
    );
    assert_eq!(
        message("resourceVersion=zork&resourceVersionMatch=NotOlderThan"),
        "invalid resource version: resourceVersion: Invalid value: \"zork\": strconv.ParseUint: parsing \"zork\": invalid syntax"
    );
    let watch = read("resourceVersion=zork", ListPurpose::Watch).unwrap_err();
    assert_eq!((watch.code, watch.reason.as_str()), (500, ""));
    assert!(list("sendInitialEvents=true&resourceVersionMatch=NotOlderThan").is_err());
    let streaming = "sendInitialEvents=true&resourceVersionMatch=NotOlderThan&allowWatchBookmarks=1";
    assert_eq!(read(streaming, ListPurpose::Watch).unwrap().send_initial_events, Some(true));
    assert!(read("sendInitialEvents=true", ListPurpose::Watch).is_err());
}

#[test]
fn delete_options_come_from_body_or_query() {
    let options = json!({
        "apiVersion": "v1", "kind": "DeleteOptions", "gracePeriodSeconds": -1, "zork": 1,
        "propagationPolicy": "Foreground", "preconditions": {"uid": "u", "resourceVersion": "7"},
        "ignoreStoreReadErrorWithClusterBreakingPotential": true,
    });
    let options = delete_options(options, false).unwrap();
    assert!(!options.ignore_store_read_error, "the feature is disabled");
    assert_eq!(options.grace_period_seconds, Some(1));
    assert_eq!(options.propagation_policy, Some(PropagationPolicy::Foreground));
    assert_eq!(options.preconditions.resource_version.as_deref(), Some("7"));

    let query = |text| with_query(text, |query| delete_options_of_query(query, false));
    assert_eq!(query("orphanDependents=true").unwrap().propagation_policy, Some(PropagationPolicy::Orphan));
    assert_eq!(query("gracePeriodSeconds=0").unwrap().grace_period_seconds, Some(0));
    let preconditions = query("uid=u&resourceVersion=0").unwrap().preconditions;
    assert_eq!(preconditions.uid.as_deref(), Some("u"));
    assert_eq!(preconditions.resource_version.as_deref(), Some("0"));
    assert_eq!(query("uid=&dryRun=All").unwrap().preconditions.uid, None);
    assert_eq!(query("propagationPolicy=Orphan&orphanDependents=true").unwrap_err().code, 422);
    assert_eq!(query("propagationPolicy=zork").unwrap_err().code, 422);
    assert_eq!(delete_options(json!({"gracePeriodSeconds": "x"}), false).unwrap_err().code, 400);
}

#[test]
fn errors_of_the_store_are_ignored_without_other_options() {
    let option = "ignoreStoreReadErrorWithClusterBreakingPotential";
    assert!(delete_options(json!({option: true}), true).unwrap().ignore_store_read_error);
    let query = format!("{option}=true");
    assert!(
        with_query(&query, |query| delete_options_of_query(query, true)).unwrap().ignore_store_read_error
    );
    assert_eq!(
        delete_options(json!({option: true, "dryRun": ["All"], "gracePeriodSeconds": 0}), true)
            .unwrap_err()
            .message,
        format!(
            "DeleteOptions.meta.k8s.io \"\" is invalid: [{option}: Invalid value: true: cannot be set together with \
             .dryRun, {option}: Invalid value: true: cannot be set together with .gracePeriodSeconds]"
        )
    );
    assert!(delete_options(json!({option: false, "dryRun": ["All"]}), true).is_ok());
}
