//! Lists, and pages of lists, from snapshots.

use std::ops::Bound;

use crate::continue_token::{self, Position};
use crate::error::StorageError;
use crate::interface::{ListPage, ListRequest};
use crate::mvcc::prefix_end;
use registry_meta::ResourceVersionMatch;

use super::Cacher;
use super::snapshots::Snapshot;
use super::state::CacheState;

/// The source of a list.
pub(super) struct Source {
    snapshot: Snapshot,
    /// The start of the page, if it is not the first.
    position: Option<Position>,
}

// === impl Cacher ===

impl Cacher {
    /// Returns the snapshot that serves a list; `None` sends it to the store.
    pub(super) async fn snapshot_for(
        &self,
        prefix: &str,
        request: &ListRequest,
    ) -> Result<Option<Source>, StorageError> {
        if !self.state.is_filled() || !self.state.holds_objects() {
            return Ok(None);
        }
        if let Some(token) = &request.continue_token {
            // The store returns the proper error for this.
            if request.revision.is_some() {
                return Ok(None);
            }
            let position = continue_token::decode(token, prefix)?;
            let snapshot = position.revision.and_then(|revision| self.state.pages.at(revision));
            return Ok(snapshot.map(|snapshot| Source { snapshot, position: Some(position) }));
        }
        let exact = request.revision_match == Some(ResourceVersionMatch::Exact)
            || (request.revision_match.is_none()
                && request.limit > 0
                && request.revision.is_some_and(|revision| revision > 0));
        match request.revision {
            None if !self.catch_up().await? => return Ok(None),
            None => {}
            Some(revision) if exact => {
                let now = self.state.snapshot().filter(|now| now.revision == revision);
                let snapshot = now.or_else(|| self.state.pages.at(revision));
                return Ok(snapshot.map(|snapshot| Source { snapshot, position: None }));
            }
            Some(revision) if !self.catch_up_with_named(revision).await? => return Ok(None),
            Some(_) => {}
        }
        Ok(self.state.snapshot().map(|snapshot| Source { snapshot, position: None }))
    }
}

// === impl CacheState ===

impl CacheState {
    /// Returns one page of a snapshot.
    pub(super) fn page(
        &self,
        source: Source,
        prefix: &str,
        request: &ListRequest,
    ) -> Result<ListPage, StorageError> {
        let Source { snapshot, position } = source;
        let mut page = ListPage { revision: snapshot.revision, ..ListPage::default() };
        if !prefix.ends_with('/') {
            let found = snapshot.objects.get(prefix).filter(|object| request.predicate.selects(object));
            page.items.extend(found.cloned());
            return Ok(page);
        }
        let end = prefix_end(prefix);
        let start = position.as_ref().map_or(prefix, |position| position.start.as_str());
        let range = (Bound::Included(start), Bound::Excluded(end.as_str()));
        let everything = request.predicate.is_everything();
        // As in Kubernetes' cache, a list of any available state is complete, regardless of the limit.
        let whole = request.revision == Some(0) && position.is_none();
        let limit = if whole { 0 } else { usize::try_from(request.limit).unwrap_or(usize::MAX) };
        let mut fetched = 0;
        let mut objects = snapshot.objects.range::<_, str>(range).map(|(_, object)| object);
        for object in objects.by_ref() {
            if limit > 0 && page.items.len() == limit {
                // There are more objects, which need not match: the next page begins after this key.
                let last = page.items.last().map_or(prefix, |last| &*last.key);
                let successor = format!("{last}\0");
                page.continue_token =
                    Some(continue_token::encode(&successor, prefix, Some(snapshot.revision))?);
                page.remaining = request.predicate.has_no_selector().then(|| 1 + objects.count() as u64);
                self.pages.keep(&snapshot);
                break;
            }
            fetched += 1;
            if everything || request.predicate.selects(object) {
                page.items.push(object.clone());
            }
        }
        self.metrics.listed(fetched, page.items.len());
        Ok(page)
    }
}
