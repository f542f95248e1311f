//! Creation, deletion, expiry, and values at rest.

use std::time::Duration;

use crate::entry::StoredObject;
use crate::error::StorageError;
use crate::interface::{AnyDeletion, ListRequest, ValidateDeletion};
use crate::testing::widget::increment;
use crate::testing::{Fixture, Watcher, Widget};
use registry_meta::{Preconditions, StatusError};

/// Allows the deletion of widgets with at least this count.
struct AtLeast(u64);

#[async_trait::async_trait]
impl ValidateDeletion for AtLeast {
    async fn validate_deletion(&mut self, current: &StoredObject) -> Result<(), StatusError> {
        if Widget::decode(current).count >= self.0 {
            Ok(())
        } else {
            Err(StatusError::bad_request("too small"))
        }
    }
}

pub(super) async fn created_objects_are_read_back(fixture: Fixture) {
    let widget = Widget::named("a").label("app", "web").color("red").count(3);
    let created = fixture.create(&widget).await;
    assert_eq!(Widget::decode(&created), widget);
    assert_eq!((&*created.key, created.attributes.label("app")), (fixture.key("a").as_str(), Some("web")));
    let read = fixture.get("a").await.unwrap();
    assert_eq!((read.json(), read.revision, &read.key), (created.json(), created.revision, &created.key));
    assert_eq!(read.tail(), created.tail());
}

pub(super) async fn a_taken_key_is_not_created(fixture: Fixture) {
    let first = fixture.create(&Widget::named("a").count(1)).await;
    let second = fixture.store.create(&fixture.key("a"), Widget::named("a").count(2).value(), None).await;
    assert!(matches!(&second, Err(StorageError::Exists { key }) if *key == fixture.key("a")), "{second:?}");
    assert_eq!(fixture.get("a").await.unwrap().revision, first.revision);
}

pub(super) async fn everyone_tells_the_same_revisions(fixture: Fixture) {
    let start = fixture.store.current_revision().await.unwrap();
    let mut watcher = Watcher::after(fixture.store.as_ref(), &fixture.prefix, start).await;
    let created = fixture.create(&Widget::named("a")).await;
    assert!(created.revision > start);
    assert_eq!(watcher.change().await.2, created.revision);
    let updated = fixture.update("a", &mut increment(), None).await.unwrap().object;
    assert!(updated.revision > created.revision);
    assert_eq!(watcher.change().await.2, updated.revision);
    let listed = fixture.list(&ListRequest::default()).await;
    assert_eq!(listed.items[0].revision, updated.revision);
    assert!(listed.revision >= updated.revision);
    assert_eq!(fixture.get("a").await.unwrap().revision, updated.revision);
    let deleted = fixture.delete("a").await.unwrap();
    assert!(deleted.revision > updated.revision);
    assert_eq!(watcher.change().await.2, deleted.revision);
    assert!(fixture.store.current_revision().await.unwrap() >= deleted.revision);
}

pub(super) async fn values_at_rest_carry_no_revision(fixture: Fixture) {
    let widget = Widget::named("a").count(1);
    fixture.create(&widget).await;
    fixture.update("a", &mut increment(), None).await.unwrap();
    let at_rest = fixture.engine.get(&fixture.key("a")).await.unwrap().key_value.unwrap().value;
    assert_eq!(at_rest, widget.count(2).value().bytes);
}

pub(super) async fn a_deletion_returns_the_last_state(fixture: Fixture) {
    let created = fixture.create(&Widget::named("a").count(7)).await;
    let deleted = fixture.delete("a").await.unwrap();
    assert_eq!(Widget::decode(&deleted), Widget::named("a").count(7));
    assert!(deleted.revision > created.revision);
    assert!(fixture.get("a").await.is_none());
    let again = fixture.delete("a").await;
    assert!(matches!(again, Err(StorageError::NotFound { .. })), "{again:?}");
}

pub(super) async fn deletions_check_preconditions(fixture: Fixture) {
    let created = fixture.create(&Widget::named("a")).await;
    let delete = async |preconditions: Preconditions| {
        fixture.store.delete(&fixture.key("a"), &preconditions, &mut AnyDeletion, None).await
    };
    let other = Preconditions { uid: Some("other".to_owned()), ..Preconditions::default() };
    assert_eq!(
        delete(other).await.unwrap_err().to_string(),
        "Precondition failed: UID in precondition: other, UID in object meta: uid-of-a"
    );
    let older = Preconditions { resource_version: Some("1".to_owned()), ..Preconditions::default() };
    assert_eq!(
        delete(older).await.unwrap_err().to_string(),
        format!(
            "Precondition failed: ResourceVersion in precondition: 1, ResourceVersion in object meta: {}",
            created.revision
        )
    );
    let fitting = Preconditions {
        uid: Some("uid-of-a".to_owned()),
        resource_version: Some(created.revision.to_string()),
    };
    delete(fitting).await.unwrap();
}

/// A hint does not decide whether a deletion is refused or allowed: the newest state does.
pub(super) async fn deletions_are_validated_against_the_newest_state(fixture: Fixture) {
    let key = fixture.key("a");
    let none = Preconditions::default();
    let old = fixture.create(&Widget::named("a").count(1)).await;
    let refused = fixture.store.delete(&key, &none, &mut AtLeast(2), None).await;
    assert!(matches!(refused, Err(StorageError::Rejected(_))), "{refused:?}");
    fixture.update("a", &mut increment(), None).await.unwrap();
    let refused = fixture.store.delete(&key, &none, &mut AtLeast(3), Some(old.clone())).await;
    assert!(matches!(refused, Err(StorageError::Rejected(_))), "{refused:?}");
    let deleted = fixture.store.delete(&key, &none, &mut AtLeast(2), Some(old.clone())).await.unwrap();
    assert_eq!(Widget::decode(&deleted).count, 2, "the newest state is deleted, not the one of the hint");
    let gone = fixture.store.delete(&key, &none, &mut AnyDeletion, Some(old)).await;
    assert!(matches!(gone, Err(StorageError::NotFound { .. })), "{gone:?}");
    let fresh = fixture.create(&Widget::named("a").count(5)).await;
    let deleted = fixture.store.delete(&key, &none, &mut AtLeast(5), Some(fresh.clone())).await.unwrap();
    assert!(Widget::decode(&deleted).count == 5 && deleted.revision > fresh.revision);
}

pub(super) async fn objects_expire(fixture: Fixture) {
    let key = fixture.key("a");
    let value = Widget::named("a").value();
    let start = fixture.store.current_revision().await.unwrap();
    let mut watcher = Watcher::after(fixture.store.as_ref(), &fixture.prefix, start).await;
    let created = fixture.store.create(&key, value, Some(Duration::from_millis(300))).await.unwrap();
    assert!(fixture.get("a").await.is_some(), "0.3 s are rounded up");
    let [added, gone] = &watcher.changes(2).await[..] else { unreachable!("two were asked for") };
    assert_eq!((added.0, added.2), ("ADDED", created.revision));
    assert!(gone.0 == "DELETED" && gone.2 > created.revision);
    assert!(fixture.get("a").await.is_none());
}

pub(super) async fn large_values_are_kept(fixture: Fixture) {
    let widget = Widget::named("a").text("x".repeat(1_000_000));
    let created = fixture.create(&widget).await;
    assert!(Widget::decode(&created) == widget);
    assert!(Widget::decode(&fixture.get("a").await.unwrap()) == widget);
    let listed = fixture.list(&ListRequest::default()).await;
    assert!(Widget::decode(&listed.items[0]) == widget);
}

pub(super) async fn unicode_is_kept(fixture: Fixture) {
    let widget = Widget::named("日本-ünï").label("größe", "\"ß\"\\\u{1F980}").text("\u{7}\u{2028}\0");
    fixture.create(&widget).await;
    assert_eq!(Widget::decode(&fixture.get("日本-ünï").await.unwrap()), widget);
    fixture.create(&Widget::named("a")).await;
    let page = fixture.list(&ListRequest { limit: 1, ..ListRequest::default() }).await;
    let rest = ListRequest { continue_token: page.continue_token, ..ListRequest::default() };
    assert_eq!(Widget::decode(&fixture.list(&rest).await.items[0]), widget);
}
