//! Lists in pages.

use base64::Engine as _;
use base64::engine::general_purpose::URL_SAFE_NO_PAD;
use serde_json::Value;

use crate::error::{InvalidRequest, StorageError};
use crate::interface::{ListPage, ListRequest};
use crate::testing::widget::with_color;
use crate::testing::{Fixture, Widget};

use super::names;

impl Fixture {
    /// Returns the page after a page.
    async fn after(&self, page: &ListPage, request: &ListRequest) -> ListPage {
        let continue_token = page.continue_token.clone();
        assert!(continue_token.is_some(), "there is another page");
        self.list(&ListRequest { continue_token, ..request.clone() }).await
    }
}

pub(super) async fn pages_show_one_revision_while_writes_go_on(fixture: Fixture) {
    fixture.create_many(10).await;
    let request = ListRequest { limit: 4, ..ListRequest::default() };
    let first = fixture.list(&request).await;
    fixture.delete("w005").await.unwrap();
    fixture.replace(&Widget::named("w006").count(600)).await;
    fixture.create(&Widget::named("w0065")).await;
    let second = fixture.after(&first, &request).await;
    fixture.delete("w009").await.unwrap();
    fixture.create(&Widget::named("z")).await;
    let third = fixture.after(&second, &request).await;
    let all: Vec<_> = [&first, &second, &third].into_iter().flat_map(names).collect();
    assert_eq!(all, (0..10).map(|number| format!("w{number:03}")).collect::<Vec<_>>());
    assert_eq!((second.revision, third.revision), (first.revision, first.revision));
    assert_eq!(Widget::decode(&second.items[2]).count, 6, "what was changed later is shown as it was");
    assert!(third.continue_token.is_none());
    let anew = fixture.list(&ListRequest::default()).await;
    assert!(anew.revision > first.revision && names(&anew).len() == 10);
}

pub(super) async fn the_remaining_count_is_sent_only_without_a_selector(fixture: Fixture) {
    fixture.create_many(10).await;
    let request = ListRequest { limit: 4, ..ListRequest::default() };
    let first = fixture.list(&request).await;
    let second = fixture.after(&first, &request).await;
    let third = fixture.after(&second, &request).await;
    assert_eq!([first.remaining, second.remaining, third.remaining], [Some(6), Some(2), None]);
    let selected = ListRequest { limit: 4, predicate: with_color("blue"), ..ListRequest::default() };
    let page = fixture.list(&selected).await;
    assert_eq!((page.items.len(), page.remaining), (4, None));
    assert!(page.continue_token.is_some());
    let whole = fixture.list(&ListRequest { limit: 10, ..ListRequest::default() }).await;
    assert_eq!((whole.items.len(), whole.remaining, whole.continue_token), (10, None, None));
}

pub(super) async fn a_selector_still_fills_pages(fixture: Fixture) {
    fixture.create_many(60).await;
    let request = ListRequest { limit: 2, predicate: with_color("red"), ..ListRequest::default() };
    let first = fixture.list(&request).await;
    assert_eq!(names(&first), ["w000", "w010"]);
    fixture.create(&Widget::named("w0155").color("red")).await;
    fixture.replace(&Widget::named("w020").color("blue")).await;
    let second = fixture.after(&first, &request).await;
    assert_eq!((names(&second), second.revision), (vec!["w020".into(), "w030".into()], first.revision));
    let third = fixture.after(&second, &request).await;
    assert_eq!(names(&third), ["w040", "w050"]);
    // There are more keys, so there is another page, which is empty and the last.
    assert!(third.continue_token.is_some());
    let last = fixture.after(&third, &request).await;
    assert!(last.items.is_empty() && last.continue_token.is_none());
}

/// A page of kube-apiserver can be continued here, and vice versa.
pub(super) async fn tokens_are_the_ones_of_kubernetes(fixture: Fixture) {
    fixture.create_many(3).await;
    let request = ListRequest { limit: 1, ..ListRequest::default() };
    let page = fixture.list(&request).await;
    let token = URL_SAFE_NO_PAD.decode(page.continue_token.as_deref().unwrap()).unwrap();
    let token: Value = serde_json::from_slice(&token).unwrap();
    assert_eq!(token, serde_json::json!({"v": "meta.k8s.io/v1", "rv": page.revision, "start": "w000\0"}));
    let newest = fixture.create(&Widget::named("w0005")).await.revision;
    let fresh = serde_json::json!({"v": "meta.k8s.io/v1", "rv": -1, "start": "w000\0"}).to_string();
    let fresh = ListRequest { continue_token: Some(URL_SAFE_NO_PAD.encode(fresh)), ..request };
    let page = fixture.list(&fresh).await;
    assert_eq!(names(&page), ["w0005"], "-1 goes on in the newest state");
    assert!(page.revision >= newest);
}

pub(super) async fn bad_tokens_are_refused(fixture: Fixture) {
    let revision = fixture.create_many(2).await;
    let page = fixture.list(&ListRequest { limit: 1, ..ListRequest::default() }).await;
    let with_revision = ListRequest {
        continue_token: page.continue_token.clone(),
        revision: Some(revision),
        ..ListRequest::default()
    };
    let refused = fixture.store.list(&fixture.prefix, &with_revision).await.unwrap_err();
    assert_eq!(refused.to_string(), "specifying resource version is not allowed when using continue");
    let outside = URL_SAFE_NO_PAD.encode(r#"{"v":"meta.k8s.io/v1","rv":1,"start":"../other/a"}"#);
    for token in ["!", "zork", &outside] {
        let request = ListRequest { continue_token: Some(token.to_owned()), ..ListRequest::default() };
        let refused = fixture.store.list(&fixture.prefix, &request).await;
        assert!(
            matches!(&refused, Err(StorageError::InvalidRequest(InvalidRequest::ContinueToken(_)))),
            "{refused:?}"
        );
    }
}
