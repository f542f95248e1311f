use super::*;

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
