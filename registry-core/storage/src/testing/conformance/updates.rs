//! Guaranteed updates: closures, hints, preconditions.

use crate::error::StorageError;
use crate::interface::{UpdateAction, UpdateOutcome};
use crate::testing::widget::{Update, increment};
use crate::testing::{Fixture, Widget};
use registry_meta::{Preconditions, StatusError};

pub(super) async fn an_update_changes_the_newest_state(fixture: Fixture) {
    let created = fixture.create(&Widget::named("a").count(1)).await;
    let updated = fixture.update("a", &mut increment(), None).await.unwrap();
    assert_eq!((updated.outcome, Widget::decode(&updated.object).count), (UpdateOutcome::Changed, 2));
    assert!(updated.object.revision > created.revision);
    assert_eq!(fixture.get("a").await.unwrap().json(), updated.object.json());
}

pub(super) async fn equal_values_are_not_written(fixture: Fixture) {
    let widget = Widget::named("a").count(1);
    let created = fixture.create(&widget).await;
    for hint in [None, Some(created.clone())] {
        let mut same = Update::new(|_| Ok(widget.write()));
        let updated = fixture.update("a", &mut same, hint).await.unwrap();
        assert_eq!(updated.outcome, UpdateOutcome::Unchanged);
        assert_eq!((updated.object.revision, updated.object.json()), (created.revision, created.json()));
    }
    assert_eq!(fixture.get("a").await.unwrap().revision, created.revision);
}

pub(super) async fn an_absent_object_is_created_only_if_accepted(fixture: Fixture) {
    let refused = fixture.update("a", &mut increment(), None).await;
    assert!(
        matches!(&refused, Err(StorageError::NotFound { key }) if *key == fixture.key("a")),
        "{refused:?}"
    );
    let upsert = || {
        Update::or_create(|widget| {
            let count = widget.map_or(0, |widget: Widget| widget.count) + 1;
            Ok(Widget::named("a").count(count).write())
        })
    };
    let created = fixture.update("a", &mut upsert(), None).await.unwrap();
    assert_eq!(created.outcome, UpdateOutcome::Created);
    let changed = fixture.update("a", &mut upsert(), None).await.unwrap();
    assert_eq!((changed.outcome, Widget::decode(&changed.object).count), (UpdateOutcome::Changed, 2));
    // The object of the hint is gone: it is created again, from nothing.
    let hint = fixture.get("a").await;
    fixture.delete("a").await.unwrap();
    let created = fixture.update("a", &mut upsert(), hint).await.unwrap();
    assert_eq!((created.outcome, Widget::decode(&created.object).count), (UpdateOutcome::Created, 1));
}

pub(super) async fn an_update_may_delete_or_keep(fixture: Fixture) {
    let created = fixture.create(&Widget::named("a").count(4)).await;
    let kept = fixture.update("a", &mut Update::new(|_| Ok(UpdateAction::Keep)), None).await.unwrap();
    assert_eq!((kept.outcome, kept.object.revision), (UpdateOutcome::Unchanged, created.revision));
    let changed = fixture.update("a", &mut increment(), None).await.unwrap().object;
    let mut keep = Update::new(|_| Ok(UpdateAction::Keep));
    let kept = fixture.update("a", &mut keep, Some(created)).await.unwrap();
    assert_eq!(kept.object.revision, changed.revision, "a stale hint is not what is kept");
    let gone = fixture.update("a", &mut Update::new(|_| Ok(UpdateAction::Delete)), None).await.unwrap();
    assert_eq!((gone.outcome, Widget::decode(&gone.object).count), (UpdateOutcome::Deleted, 5));
    assert!(gone.object.revision > changed.revision && fixture.get("a").await.is_none());
}

pub(super) async fn refusals_reach_the_caller(fixture: Fixture) {
    let created = fixture.create(&Widget::named("a")).await;
    let refused = fixture.update("a", &mut Update::new(|_| Err(StatusError::bad_request("no"))), None).await;
    assert!(matches!(&refused, Err(StorageError::Rejected(status)) if status.message == "no"), "{refused:?}");
    assert_eq!(fixture.get("a").await.unwrap().revision, created.revision);
}

pub(super) async fn preconditions_are_checked(fixture: Fixture) {
    let created = fixture.create(&Widget::named("a")).await;
    let update = async |preconditions: Preconditions, hint| {
        fixture.store.guaranteed_update(&fixture.key("a"), &preconditions, &mut increment(), hint).await
    };
    let uid = |uid: &str| Preconditions { uid: Some(uid.to_owned()), ..Preconditions::default() };
    let version = |revision: u64| Preconditions {
        resource_version: Some(revision.to_string()),
        ..Preconditions::default()
    };
    for hint in [None, Some(created.clone())] {
        let refused = update(uid("other"), hint).await.unwrap_err();
        assert_eq!(
            refused.to_string(),
            "Precondition failed: UID in precondition: other, UID in object meta: uid-of-a"
        );
    }
    let changed = update(version(created.revision), None).await.unwrap().object;
    // The hint meets the precondition, the newest state does not.
    let refused = update(version(created.revision), Some(created.clone())).await.unwrap_err();
    assert_eq!(
        refused.to_string(),
        format!(
            "Precondition failed: ResourceVersion in precondition: {}, ResourceVersion in object meta: {}",
            created.revision, changed.revision
        )
    );
    // The newest state meets the precondition, the hint does not.
    update(version(changed.revision), Some(created)).await.unwrap();
    update(uid("uid-of-a"), None).await.unwrap();
}

pub(super) async fn a_good_hint_spares_nothing_but_the_read(fixture: Fixture) {
    let created = fixture.create(&Widget::named("a").count(1)).await;
    let mut update = increment();
    let updated = fixture.update("a", &mut update, Some(created)).await.unwrap();
    assert_eq!((updated.outcome, update.calls), (UpdateOutcome::Changed, 1));
    assert_eq!(Widget::decode(&updated.object).count, 2);
    let mut update = increment();
    let again = fixture.update("a", &mut update, Some(updated.object)).await.unwrap();
    assert_eq!((Widget::decode(&again.object).count, update.calls), (3, 1));
}

/// A refusal, a conflict or an unchanged result is never based on a stale hint alone.
pub(super) async fn a_stale_hint_never_decides(fixture: Fixture) {
    let stale = fixture.create(&Widget::named("a").count(1)).await;
    fixture.update("a", &mut increment(), None).await.unwrap();
    let mut update = increment();
    let updated = fixture.update("a", &mut update, Some(stale.clone())).await.unwrap();
    assert_eq!(
        (Widget::decode(&updated.object).count, update.calls),
        (3, 2),
        "a conflict: again from the newest"
    );
    let mut picky = Update::new(|widget: Option<Widget>| {
        let widget = widget.unwrap();
        if widget.count < 3 {
            Err(StatusError::bad_request("too small"))
        } else {
            Ok(widget.count(9).write())
        }
    });
    let updated = fixture.update("a", &mut picky, Some(stale.clone())).await.unwrap();
    assert_eq!(Widget::decode(&updated.object).count, 9, "a refusal: again from the newest");
    let old = Widget::decode(&stale);
    let mut back = Update::new(|_| Ok(old.write()));
    let updated = fixture.update("a", &mut back, Some(stale.clone())).await.unwrap();
    assert_eq!(updated.outcome, UpdateOutcome::Changed, "equal to the hint, but not to the newest");
    assert_eq!(Widget::decode(&fixture.get("a").await.unwrap()).count, 1);
    fixture.delete("a").await.unwrap();
    let gone = fixture.update("a", &mut increment(), Some(stale)).await;
    assert!(matches!(gone, Err(StorageError::NotFound { .. })), "{gone:?}");
}
