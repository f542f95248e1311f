use serde_json::json;

use super::*;

#[test]
fn undecodable_bodies_are_shown_in_part() {
    assert_eq!(summary(b""), "<empty>");
    assert_eq!(summary(b"[1,2]"), "5b312c325d");
    assert_eq!(summary(b"{\"apiVersion\": \"v1\", "), "{\"apiVersion\": \"v1\", ");
    let long = [b'{'; 31];
    assert_eq!(summary(&long), format!("{} ...", "{".repeat(30)));
    let failure = unrecognized("ConfigMap", b"\"x\"", Format::Json, &no_struct(&json!("x")));
    assert_eq!(
        failure.message,
        "the object provided is unrecognized (must be of type ConfigMap): couldn't get version/kind; json parse error: json: cannot unmarshal string into Go value of type struct { APIVersion string \"json:\\\"apiVersion,omitempty\\\"\"; Kind string \"json:\\\"kind,omitempty\\\"\" } (227822)"
    );
}

#[tokio::test]
async fn bodies_are_bounded() {
    let fits = Body::from(vec![b' '; BODY_LIMIT_BYTES]);
    assert_eq!(read_body(fits).await.unwrap().len(), BODY_LIMIT_BYTES);
    let too_large = read_body(Body::from(vec![b' '; BODY_LIMIT_BYTES + 1])).await.unwrap_err();
    assert_eq!(
        (too_large.code, too_large.message.as_str()),
        (413, "Request entity too large: limit is 3145728")
    );
}
