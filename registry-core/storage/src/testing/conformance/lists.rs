//! Lists: order, prefixes, selectors, revisions.

use crate::error::StorageError;
use crate::interface::ListRequest;
use crate::testing::widget::{with_color, with_label};
use crate::testing::{Fixture, Widget};
use crate::{Predicate, Revision};
use registry_meta::ResourceVersionMatch;

use super::names;

fn at(revision: Revision, revision_match: Option<ResourceVersionMatch>, limit: u64) -> ListRequest {
    ListRequest { revision: Some(revision), revision_match, limit, ..ListRequest::default() }
}

pub(super) async fn lists_are_ordered_and_keep_to_their_prefix(fixture: Fixture) {
    let empty = fixture.list(&ListRequest::default()).await;
    assert!(empty.items.is_empty() && empty.revision > 0 && empty.continue_token.is_none());
    for name in ["b/2", "a", "b/1", "b", "b-b", "c"] {
        fixture.create(&Widget::named(name)).await;
    }
    let all = fixture.list(&ListRequest::default()).await;
    assert_eq!(names(&all), ["a", "b", "b-b", "b/1", "b/2", "c"]);
    assert!(all.continue_token.is_none() && all.remaining.is_none());
    let below = fixture.store.list(&fixture.key("b/"), &ListRequest::default()).await.unwrap();
    assert_eq!(names(&below), ["b/1", "b/2"]);
}

pub(super) async fn an_exact_key_lists_one_object(fixture: Fixture) {
    for name in ["a", "ab", "a/b"] {
        fixture.create(&Widget::named(name).color("red")).await;
    }
    let list = async |predicate: Predicate| {
        let request = ListRequest { predicate, limit: 1, ..ListRequest::default() };
        fixture.store.list(&fixture.key("a"), &request).await.unwrap()
    };
    let found = list(Predicate::default()).await;
    assert_eq!(names(&found), ["a"]);
    assert!(found.continue_token.is_none());
    assert_eq!(names(&list(with_color("red")).await), ["a"]);
    assert!(list(with_color("blue")).await.items.is_empty());
}

pub(super) async fn selectors_select(fixture: Fixture) {
    fixture.create(&Widget::named("a").label("app", "web").color("red")).await;
    fixture.create(&Widget::named("b").label("app", "db").color("red")).await;
    fixture.create(&Widget::named("c").color("blue")).await;
    let list = async |predicate| fixture.list(&ListRequest { predicate, ..ListRequest::default() }).await;
    assert_eq!(names(&list(with_label("app", "web")).await), ["a"]);
    let red = list(with_color("red")).await;
    assert_eq!(names(&red), ["a", "b"]);
    assert_eq!(red.items[1].attributes.label("app"), Some("db"));
    assert_eq!(red.items[1].attributes.field("spec.color"), "red");
    let both =
        Predicate { labels: with_label("app", "db").labels, fields: with_color("red").fields, shard: None };
    assert_eq!(names(&list(both).await), ["b"]);
}

pub(super) async fn a_list_shows_the_revision_asked_for(fixture: Fixture) {
    let first = fixture.create(&Widget::named("a").count(1)).await.revision;
    fixture.create(&Widget::named("b")).await;
    let last = fixture.replace(&Widget::named("a").count(2)).await.revision;
    let exact = fixture.list(&at(first, Some(ResourceVersionMatch::Exact), 0)).await;
    assert_eq!((names(&exact), exact.revision), (vec!["a".to_owned()], first));
    assert_eq!(Widget::decode(&exact.items[0]).count, 1);
    for request in [
        at(first, Some(ResourceVersionMatch::NotOlderThan), 0),
        at(first, Some(ResourceVersionMatch::NotOlderThan), 5),
        at(first, None, 0),
        at(last, None, 0),
    ] {
        let newer = fixture.list(&request).await;
        assert!(Some(newer.revision) >= request.revision, "not older than asked for: {request:?}");
        assert!(!names(&newer).is_empty());
    }
    let any = fixture.list(&at(0, None, 0)).await;
    assert!(any.revision > 0);
    // With a limit and no match, the revision is exact.
    let legacy = fixture.list(&at(first, None, 5)).await;
    assert_eq!((names(&legacy), legacy.revision), (vec!["a".to_owned()], first));
    let newest = fixture.list(&ListRequest::default()).await;
    assert_eq!((names(&newest).len(), Widget::decode(&newest.items[0]).count), (2, 2));
    assert!(newest.revision >= last);
}

pub(super) async fn the_future_is_refused(fixture: Fixture) {
    let future = fixture.create(&Widget::named("a")).await.revision + 1_000_000;
    for revision_match in [None, Some(ResourceVersionMatch::Exact), Some(ResourceVersionMatch::NotOlderThan)]
    {
        let refused = fixture.store.list(&fixture.prefix, &at(future, revision_match, 0)).await;
        assert!(
            matches!(refused, Err(StorageError::FutureRevision { requested, .. }) if requested == future),
            "{revision_match:?}: {refused:?}"
        );
    }
}
