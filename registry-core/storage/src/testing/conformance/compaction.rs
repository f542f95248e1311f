//! Behaviour after compaction.

use crate::error::{StorageError, WatchError};
use crate::interface::{ListRequest, WatchRequest};
use crate::testing::widget::increment;
use crate::testing::{Fixture, Watcher, Widget};
use registry_meta::ResourceVersionMatch;

use super::names;

impl Fixture {
    /// Writes until a store with its own history has dropped it, then compacts.
    async fn forget(&self) {
        self.update("w000", &mut increment(), None).await.unwrap();
        let now = self.engine.current_revision().await.unwrap();
        self.engine.compact(now).await.unwrap();
    }
}

pub(super) async fn a_continued_list_is_told_how_to_go_on(fixture: Fixture) {
    fixture.create_many(5).await;
    let request = ListRequest { limit: 2, ..ListRequest::default() };
    let page = fixture.list(&request).await;
    fixture.create(&Widget::named("w0015")).await;
    fixture.create(&Widget::named("w0025")).await;
    fixture.forget().await;
    let next = ListRequest { continue_token: page.continue_token.clone(), ..request.clone() };
    let refused = fixture.store.list(&fixture.prefix, &next).await;
    let continue_token = match refused {
        Err(StorageError::Compacted { fresh_continue: Some(token), .. }) => Some(token),
        // A store that keeps snapshots for pages may still have it.
        Ok(kept) => return assert_eq!((names(&kept)[0].as_str(), kept.revision), ("w002", page.revision)),
        other => panic!("what was compacted is refused with a fresh token, not {other:?}"),
    };
    let fresh = fixture.list(&ListRequest { continue_token, ..request }).await;
    assert_eq!(names(&fresh), ["w0015", "w002"], "from the same place, in the newest state");
    assert!(fresh.revision > page.revision);
    let rest = ListRequest { continue_token: fresh.continue_token, ..ListRequest::default() };
    assert_eq!(names(&fixture.list(&rest).await), ["w0025", "w003", "w004"]);
}

pub(super) async fn compacted_revisions_are_refused(fixture: Fixture) {
    let old = fixture.create_many(1).await;
    fixture.forget().await;
    fixture.forget().await;
    let exact = ListRequest {
        revision: Some(old),
        revision_match: Some(ResourceVersionMatch::Exact),
        ..ListRequest::default()
    };
    match fixture.store.list(&fixture.prefix, &exact).await {
        Err(StorageError::Compacted { requested, fresh_continue: None, .. }) => assert_eq!(requested, old),
        Ok(kept) => assert_eq!(kept.revision, old),
        other => panic!("what was compacted is refused, not {other:?}"),
    }
    let request = WatchRequest { revision: Some(old), ..WatchRequest::default() };
    match fixture.store.watch(&fixture.prefix, &request).await {
        Err(StorageError::Compacted { .. }) => {}
        Err(other) => panic!("what was compacted is refused, not {other:?}"),
        Ok(stream) => match Watcher::over(stream, old).item().await {
            Some(Err(WatchError::Compacted { .. })) => {}
            // A store that keeps its own history may still have it.
            Some(Ok(event)) => assert!(format!("{event:?}").starts_with("Modified")),
            other => panic!("what was compacted is refused, not {other:?}"),
        },
    }
    // The newest state is unaffected by compaction.
    let object = fixture.get("w000").await.unwrap();
    assert_eq!(Widget::decode(&object).count, 2);
    let mut watcher = Watcher::after(fixture.store.as_ref(), &fixture.prefix, object.revision).await;
    fixture.update("w000", &mut increment(), None).await.unwrap();
    assert_eq!(watcher.change().await.0, "MODIFIED");
}
