use registry_core::api::GroupVersionKind;

use super::*;

fn get(openapi: &OpenApi, url: &str) -> Option<Response<Body>> {
    let (parts, ()) = http::Request::get(url).body(()).unwrap().into_parts();
    let path = parts.uri.path().to_owned();
    openapi.get(&path, &parts).map(|result| result.unwrap())
}

#[test]
fn the_index_is_there_and_nothing_beside_it() {
    let openapi = OpenApi::new(Arc::default());
    assert!(openapi.serves("/openapi/v3") && openapi.serves("/openapi/v3/"));
    let index = get(&openapi, "/openapi/v3").unwrap();
    assert_eq!(index.headers()[CONTENT_TYPE], "text/plain; charset=utf-8");
    assert!(!openapi.serves("/openapi/v3/apis/zork/v1"));
    assert!(get(&openapi, "/openapi/v3/apis/zork/v1").is_none());
    assert!(get(&openapi, "/openapi/v32").is_none());
    assert!(get(&openapi, "/openapi/v2").is_none());
}

#[test]
fn schemas_are_named_as_kubernetes_names_them() {
    let name = |group, version, kind| components::name(GroupVersionKind { group, version, kind });
    assert_eq!(name("", "v1", "Pod"), "io.k8s.api.core.v1.Pod");
    assert_eq!(name("rbac.authorization.k8s.io", "v1", "Role"), "io.k8s.api.rbac.v1.Role");
    assert_eq!(name("zoo.example.dev", "v1", "Enclosure"), "dev.example.zoo.v1.Enclosure");
    let root = |group, version| paths::root(GroupVersion { group, version });
    assert_eq!((root("", "v1"), root("apps", "v1")), ("/api/v1".to_owned(), "/apis/apps/v1".to_owned()));
}
