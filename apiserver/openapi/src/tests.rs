use http::header::CONTENT_TYPE;

use super::*;

/// A server without any resources.
struct Nothing;

impl ServedVersions for Nothing {
    fn version(&self, _: &str, _: &str) -> Option<Version<'_>> {
        None
    }

    fn versions(&self) -> Vec<Version<'_>> {
        Vec::new()
    }

    fn remote(&self) -> Vec<(String, &str)> {
        Vec::new()
    }

    fn remote_specs(&self) -> Vec<Arc<RemoteSpec>> {
        Vec::new()
    }
}

fn get(documents: &ServerDocuments, url: &str) -> Option<Response> {
    let (parts, ()) = http::Request::get(url).body(()).unwrap().into_parts();
    let path = parts.uri.path().to_owned();
    documents.get(&path, &parts, &Nothing, || None).map(|result| result.unwrap())
}

#[test]
fn the_index_is_there_and_nothing_beside_it() {
    let documents = ServerDocuments::default();
    assert!(serves("/openapi/v3", &Nothing) && serves("/openapi/v3/", &Nothing));
    let index = get(&documents, "/openapi/v3").unwrap();
    assert_eq!(index.headers()[CONTENT_TYPE], "text/plain; charset=utf-8");
    assert!(!serves("/openapi/v3/apis/zork/v1", &Nothing));
    let nothing = get(&documents, "/openapi/v3/apis/zork/v1").unwrap();
    assert_eq!((nothing.status(), nothing.headers().get(CONTENT_TYPE)), (StatusCode::NOT_FOUND, None));
    assert!(get(&documents, "/openapi/v32").is_none());
    assert_eq!(get(&documents, "/openapi/v2").unwrap().headers()[CONTENT_TYPE], "application/json");
}
