use super::*;

fn get(openapi: &OpenApi, url: &str) -> Option<Response<Body>> {
    let (parts, ()) = http::Request::get(url).body(()).unwrap().into_parts();
    let path = parts.uri.path().to_owned();
    openapi.get(&path, &parts).map(|result| result.unwrap())
}

#[test]
fn the_index_is_there_and_nothing_beside_it() {
    let openapi = OpenApi::new(Arc::default(), || None);
    assert!(openapi.serves("/openapi/v3") && openapi.serves("/openapi/v3/"));
    let index = get(&openapi, "/openapi/v3").unwrap();
    assert_eq!(index.headers()[CONTENT_TYPE], "text/plain; charset=utf-8");
    assert!(!openapi.serves("/openapi/v3/apis/zork/v1"));
    let nothing = get(&openapi, "/openapi/v3/apis/zork/v1").unwrap();
    assert_eq!((nothing.status(), nothing.headers().get(CONTENT_TYPE)), (StatusCode::NOT_FOUND, None));
    assert!(get(&openapi, "/openapi/v32").is_none());
    assert_eq!(get(&openapi, "/openapi/v2").unwrap().headers()[CONTENT_TYPE], "application/json");
}
