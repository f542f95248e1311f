use super::legacy::storage_version_hash;
use super::*;

fn headers(accept: &str) -> HeaderMap {
    let mut headers = HeaderMap::new();
    headers.insert(http::header::ACCEPT, accept.parse().unwrap());
    headers
}

#[test]
fn storage_version_hashes_are_kubernetes_own() {
    assert_eq!(storage_version_hash("", "v1", "ConfigMap"), "qFsyl6wFWjQ=");
    assert_eq!(storage_version_hash("apps", "v1", "Deployment"), "8aSe+NMegvE=");
}

fn prefers(headers: &HeaderMap) -> bool {
    aggregated_form(headers, false).is_some()
}

#[test]
fn the_aggregated_form_is_given_when_it_is_wanted_most() {
    let v2 = "application/json;g=apidiscovery.k8s.io;v=v2;as=APIGroupDiscoveryList";
    let v2beta1 = "application/json;g=apidiscovery.k8s.io;v=v2beta1;as=APIGroupDiscoveryList";
    assert!(prefers(&headers(v2)));
    assert!(prefers(&headers(&format!("{v2},{v2beta1},application/json"))));
    assert!(!prefers(&headers(&format!("{v2beta1},application/json"))));
    assert!(!prefers(&headers(&format!("application/json,{v2}"))));
    assert!(!prefers(&headers("*/*")));
    let binary = AggregatedForm { format: Format::Protobuf, is_own: false };
    assert_eq!(aggregated_form(&headers(AGGREGATED_PROTOBUF), false), Some(binary));
    let own = AggregatedForm { format: Format::Json, is_own: true };
    assert_eq!(aggregated_form(&headers(&format!("{v2};profile=nopeer,{v2}")), false), Some(own));
}

#[test]
fn documents_are_tagged() {
    let document = Document::json(&json!({ "paths": [] }));
    let first = document.cacheable_response(&HeaderMap::new(), AGGREGATED);
    assert_eq!(first.status(), StatusCode::OK);
    assert_eq!(first.headers()[http::header::CONTENT_TYPE], AGGREGATED);
    let mut again = HeaderMap::new();
    again.insert(http::header::IF_NONE_MATCH, first.headers()[http::header::ETAG].clone());
    assert_eq!(document.cacheable_response(&again, AGGREGATED).status(), StatusCode::NOT_MODIFIED);
    again.insert(http::header::IF_NONE_MATCH, "\"other\"".parse().unwrap());
    assert_eq!(document.cacheable_response(&again, AGGREGATED).status(), StatusCode::OK);
}

#[test]
fn the_paths_of_documents_are_recognized() {
    let parsed = [
        ("/", Some(DiscoveryPath::Root)),
        ("/api/", Some(DiscoveryPath::Core)),
        ("/api/v1", Some(DiscoveryPath::Version("", "v1"))),
        ("/apis", Some(DiscoveryPath::Named)),
        ("/apis/apps", Some(DiscoveryPath::Group("apps"))),
        ("/apis/apps/v1/", Some(DiscoveryPath::Version("apps", "v1"))),
        ("/apis/apps/v1/deployments", None),
        ("/api/v1/pods", None),
        ("/healthz", None),
        ("", Some(DiscoveryPath::Root)),
    ];
    for (path, expected) in parsed {
        assert_eq!(DiscoveryPath::parse(path), expected, "{path}");
    }
}
