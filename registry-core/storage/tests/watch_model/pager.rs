//! Lists of past states, of any available state, and of successive pages.

use registry_meta::ResourceVersionMatch;
use registry_storage::interface::{ListPage, ListRequest};
use registry_storage::testing::Widget;
use registry_storage::{Interface, Revision, StorageError};

use super::history::{History, Objects, insist};

/// A client that lists.
#[derive(Default)]
pub(crate) struct Pager {
    /// The list being paged: its revision, the objects so far, and the continue token.
    paged: Option<(Revision, Objects, String)>,
    /// The newest revision seen.
    newest: Revision,
}

// === impl Pager ===

impl Pager {
    pub(crate) async fn list_any(&mut self, store: &dyn Interface, history: &History) {
        let request = ListRequest { revision: Some(0), limit: 1, ..ListRequest::default() };
        let page = insist(|| store.list(crate::PREFIX, &request)).await.unwrap();
        assert!(page.revision >= self.newest, "time does not run backwards");
        self.newest = page.revision;
        // A cache returns the complete list, a store applies the limit.
        if page.continue_token.is_none() {
            assert_eq!(objects(&page), history.at(page.revision), "at {}", page.revision);
        }
    }

    pub(crate) async fn list_exact(&mut self, store: &dyn Interface, history: &History, ago: u64) {
        let revision = history.ago(ago);
        let request = ListRequest {
            revision: Some(revision),
            revision_match: Some(ResourceVersionMatch::Exact),
            ..ListRequest::default()
        };
        match insist(|| store.list(crate::PREFIX, &request)).await {
            Ok(page) => {
                assert_eq!((page.revision, objects(&page)), (revision, history.at(revision)));
            }
            Err(StorageError::Compacted { .. }) => assert!(revision < history.compacted),
            Err(error) => panic!("{error}"),
        }
    }

    pub(crate) async fn page(&mut self, store: &dyn Interface, history: &History, limit: u64) {
        let paged = self.paged.take();
        let continue_token = paged.as_ref().map(|(.., token)| token.clone());
        let request = ListRequest { limit, continue_token, ..ListRequest::default() };
        let page = match insist(|| store.list(crate::PREFIX, &request)).await {
            Ok(page) => page,
            Err(StorageError::Compacted { .. }) => {
                let revision = paged.expect("the newest state is there").0;
                assert!(revision < history.compacted, "{revision} is there to be had");
                return;
            }
            Err(error) => panic!("{error}"),
        };
        let (revision, mut so_far) = if let Some((revision, so_far, _)) = paged {
            (revision, so_far)
        } else {
            assert!(page.revision >= history.newest, "a list shows what was acknowledged before it");
            self.newest = page.revision;
            (page.revision, Objects::new())
        };
        assert_eq!(page.revision, revision, "all pages are of one revision");
        so_far.extend(objects(&page));
        match page.continue_token {
            Some(token) => self.paged = Some((revision, so_far, token)),
            None => assert_eq!(so_far, history.at(revision), "at {revision}"),
        }
    }
}

fn objects(page: &ListPage) -> Objects {
    let items = page.items.iter();
    items.map(|item| (item.key.to_string(), (item.revision, Widget::decode(item)))).collect()
}
