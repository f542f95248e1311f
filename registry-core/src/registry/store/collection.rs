//! Deletion of collections.

use async_trait::async_trait;
use futures::{StreamExt, TryStreamExt, stream};

use crate::api::{DeleteOptions, ListOptions, StatusError};
use crate::context::RequestContext;
use crate::resource::ObjectStrategy;
use crate::rest::{CollectionDeleter, GracefulDeleter, Lister, ValidateObject};
use crate::storage::{ListPage, StoredObject};

use super::Store;

/// Page size of the list.
const PAGE_OBJECTS: u64 = 10_000;

/// Maximum total size of the deleted objects kept for the response, in bytes. It reads the others from the store, which
/// still has them at the list's revision.
const MAX_ANSWER_BYTES: usize = 16 * 1024 * 1024;

#[async_trait]
impl CollectionDeleter for Store {
    /// Not atomic: if it fails, some of the objects may be deleted.
    async fn delete_collection(
        &self,
        context: &RequestContext,
        admission: &dyn ValidateObject,
        options: &DeleteOptions,
        selection: &ListOptions,
    ) -> Result<ListPage, StatusError> {
        let workers = self.options.delete_collection_workers;
        let deletion = CollectionDeletion { deleter: self, context, admission, options, workers };
        deletion.warn(self.strategy());
        let mut selection = selection.clone();
        let one_page = selection.limit > 0;
        if !one_page {
            selection.limit = PAGE_OBJECTS;
        }
        let mut listed: Option<ListPage> = None;
        let mut listed_bytes = 0;
        loop {
            let page = self.list(context, &selection).await?;
            deletion.delete(page.clone()).await?;
            if one_page {
                return Ok(page);
            }
            let next = page.continue_token.clone();
            let has_more = listed.as_ref().is_some_and(|all| all.rest.is_some());
            listed_bytes += page.items.iter().map(|entry| entry.json().len()).sum::<usize>();
            let mut all = match listed.take() {
                None => ListPage { continue_token: None, remaining: None, ..page },
                Some(all) if has_more => all,
                Some(mut all) => {
                    all.items.extend(page.items);
                    all
                }
            };
            let Some(next) = next else { return Ok(all) };
            if listed_bytes > MAX_ANSWER_BYTES && all.rest.is_none() {
                all.rest = Some(self.rest(context, &selection, next.clone())?);
            }
            listed = Some(all);
            selection.continue_token = Some(next);
            selection.resource_version = None;
            selection.resource_version_match = None;
        }
    }
}

/// The deletion of all objects of a list, each for itself. If one deletion fails, some of the objects may be deleted.
pub(in crate::registry) struct CollectionDeletion<'a> {
    pub(in crate::registry) deleter: &'a dyn GracefulDeleter,
    pub(in crate::registry) context: &'a RequestContext,
    pub(in crate::registry) admission: &'a dyn ValidateObject,
    pub(in crate::registry) options: &'a DeleteOptions,
    /// Maximum number of concurrent deletions; at least 1.
    pub(in crate::registry) workers: usize,
}

// === impl CollectionDeletion ===

impl CollectionDeletion<'_> {
    /// Warns the client once, as for the deletion of one object.
    pub(in crate::registry) fn warn(&self, strategy: &dyn ObjectStrategy) {
        for warning in strategy.warnings_on_delete(self.options) {
            self.context.warn(warning);
        }
    }

    /// Deletes the objects of a page, until one deletion fails. Those that are gone already count as deleted.
    pub(in crate::registry) async fn delete(&self, page: ListPage) -> Result<(), StatusError> {
        let mut parts = page.into_parts();
        while let Some(part) = parts.try_next().await? {
            let deleting = stream::iter(part).map(|entry| self.delete_one(entry));
            deleting.buffer_unordered(self.workers.max(1)).try_collect::<()>().await?;
        }
        Ok(())
    }

    async fn delete_one(&self, entry: StoredObject) -> Result<(), StatusError> {
        let name = entry.key.rsplit('/').next().unwrap_or_default();
        match self.deleter.delete_listed(self.context, name, self.admission, self.options).await {
            Err(failure) if !failure.is_not_found() => Err(failure),
            _ => Ok(()),
        }
    }
}
