use bytes::Bytes;
use serde_json::json;

use super::*;

/// Returns an event of a complete request.
pub(in crate::audit) fn event(level: AuditLevel) -> Event {
    let user = UserInfo {
        name: "alice".to_owned(),
        groups: vec!["devs".to_owned()],
        extra: vec![("scopes".to_owned(), vec!["view".to_owned()])],
        ..UserInfo::default()
    };
    let object_ref = ResourceRequest {
        version: "v1".to_owned(),
        namespace: "a".to_owned(),
        resource: "configmaps".to_owned(),
        ..ResourceRequest::default()
    };
    let facts = RequestFacts {
        level,
        omits_managed_fields: false,
        audit_id: "id".to_owned(),
        request_uri: "/api/v1/namespaces/a/configmaps?x=\"".to_owned(),
        verb: "create",
        user,
        source_ips: vec!["192.0.2.1".parse().unwrap()],
        user_agent: "agent".to_owned(),
        object_ref: Some(object_ref),
        received: "2026-01-02T03:04:05.0000067Z".parse().unwrap(),
    };
    let stage_time = facts.received;
    let facts = Arc::new(facts);
    let stage = Stage::ResponseComplete;
    Event {
        facts,
        stage,
        stage_time,
        impersonated: None,
        impersonation_constraint: None,
        recorded: Recorded::default(),
        code: Some(201),
    }
}

fn parsed(event: &Event) -> Value {
    let mut line = Vec::new();
    event.write_line(&mut line);
    assert_eq!(line.split(|byte| *byte == b'\n').count(), 2, "one line");
    serde_json::from_slice(&line).unwrap()
}

#[test]
fn an_event_has_kubernetes_fields() {
    let mut event = event(AuditLevel::Request);
    event.recorded.identity.name = "b".to_owned();
    event.recorded.annotations = vec![("z".into(), "1".into()), ("a".into(), "".into())];
    event.recorded.request_object = Some(Bytes::from_static(b"{\n \"a\": \"x \\\" \\\\\"}\n"));
    event.recorded.response_status = Some(json!({
        "kind": "Status", "apiVersion": "v1", "metadata": {"continue": "c"}, "status": "Failure",
        "reason": "Conflict", "message": "m", "details": {}, "code": 409,
    }));
    assert_eq!(
        parsed(&event),
        json!({
            "kind": "Event", "apiVersion": "audit.k8s.io/v1", "level": "Request", "auditID": "id",
            "stage": "ResponseComplete", "requestURI": "/api/v1/namespaces/a/configmaps?x=\"", "verb": "create",
            "user": {"username": "alice", "groups": ["devs"], "extra": {"scopes": ["view"]}},
            "sourceIPs": ["192.0.2.1"], "userAgent": "agent",
            "objectRef": {"resource": "configmaps", "namespace": "a", "name": "b", "apiVersion": "v1"},
            "responseStatus": {
                "metadata": {}, "status": "Failure", "message": "m", "reason": "Conflict", "details": {}, "code": 201,
            },
            "requestObject": {"a": "x \" \\"},
            "requestReceivedTimestamp": "2026-01-02T03:04:05.000006Z",
            "stageTimestamp": "2026-01-02T03:04:05.000006Z",
            "annotations": {"a": "", "z": "1"},
        })
    );
}

#[test]
fn texts_of_clients_are_escaped_wherever_they_stand() {
    let texts =
        ["", "a", "\"", "\\", "a\nb", "\u{1}", "\u{1f}", "\u{7f}", "é\u{2028}", "x\",\"level\":\"None"];
    for text in texts {
        let mut event = event(AuditLevel::Metadata);
        let facts = Arc::make_mut(&mut event.facts);
        facts.user_agent = format!("-{text}");
        facts.user.groups = vec![text.to_owned(), "other".to_owned()];
        facts.user.extra = vec![(text.to_owned(), vec![text.to_owned()])];
        event.recorded.annotations = vec![(text.into(), text.into())];
        let whole = parsed(&event);
        assert_eq!(whole["level"], "Metadata");
        assert_eq!(whole["userAgent"], format!("-{text}"));
        assert_eq!(whole["user"]["groups"], json!([text, "other"]));
        assert_eq!(whole["user"]["extra"], json!({ text: [text] }));
        assert_eq!(whole["annotations"], json!({ text: text }));
    }
}

#[test]
fn managed_fields_are_omitted_on_request() {
    let mut event = event(AuditLevel::RequestResponse);
    let object = json!({"kind": "ConfigMap", "metadata": {"name": "a", "managedFields": []}});
    for (whole, expected) in [
        (object.clone(), json!({"kind": "ConfigMap", "metadata": {"name": "a"}})),
        (
            json!({"kind": "ConfigMapList", "items": [object]}),
            json!({"kind": "ConfigMapList", "items": [{"kind": "ConfigMap", "metadata": {"name": "a"}}]}),
        ),
        (
            json!({"kind": "Table", "rows": [{"object": object}]}),
            json!({"kind": "Table", "rows": [{"object": {"kind": "ConfigMap", "metadata": {"name": "a"}}}]}),
        ),
    ] {
        event.recorded.response_object = Some(whole.to_string().into());
        Arc::make_mut(&mut event.facts).omits_managed_fields = false;
        assert_eq!(parsed(&event)["responseObject"], whole);
        Arc::make_mut(&mut event.facts).omits_managed_fields = true;
        assert_eq!(parsed(&event)["responseObject"], expected);
    }
}

#[test]
fn the_legacy_format_is_one_quoted_line() {
    let mut event = event(AuditLevel::Metadata);
    event.impersonated = Some(Arc::new(UserInfo { name: "bob".to_owned(), ..UserInfo::default() }));
    assert_eq!(
        event.text(),
        "2026-01-02T03:04:05.0000067Z AUDIT: id=\"id\" stage=\"ResponseComplete\" ip=\"192.0.2.1\" \
         method=\"create\" user=\"alice\" groups=\"\\\"devs\\\"\" as=\"bob\" asgroups=\"<lookup>\" \
         user-agent=\"agent\" namespace=\"a\" uri=\"/api/v1/namespaces/a/configmaps?x=\\\"\" response=\"201\""
    );
}

#[test]
fn the_constraint_of_an_impersonation_is_part_of_the_event() {
    let mut event = event(AuditLevel::Metadata);
    assert!(parsed(&event).get("authenticationMetadata").is_none());
    event.impersonation_constraint = Some("impersonate:user-info".into());
    let expected = json!({ "impersonationConstraint": "impersonate:user-info" });
    assert_eq!(parsed(&event)["authenticationMetadata"], expected);
}
