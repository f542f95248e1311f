//! Deletion of collections.

use async_trait::async_trait;
use futures::{StreamExt, TryStreamExt, stream};

use crate::api::{DeleteOptions, ListOptions, StatusError};
use crate::context::RequestContext;
use crate::rest::{CollectionDeleter, GracefulDeleter, Lister, ValidateObject};
use crate::storage::{ListPage, StoredObject};

use super::Store;

/// Page size of the list.
const PAGE_OBJECTS: u64 = 10_000;

/// Maximum total size of the deleted objects kept for the response, in bytes. It reads the others from the store, which
/// still has them at the list's revision.
/// the list's revision.
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
        for warning in self.strategy().warnings_on_delete(options) {
            context.warn(warning);
        }
        let mut selection = selection.clone();
        let one_page = selection.limit > 0;
        if !one_page {
            selection.limit = PAGE_OBJECTS;
        }
        let mut listed: Option<ListPage> = None;
        let mut listed_bytes = 0;
        loop {
            let page = self.list(context, &selection).await?;
            self.delete_all(context, admission, options, &page.items).await?;
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

impl Store {
    /// Deletes the objects with limited concurrency, until one deletion fails.
    async fn delete_all(
        &self,
        context: &RequestContext,
        admission: &dyn ValidateObject,
        options: &DeleteOptions,
        objects: &[StoredObject],
    ) -> Result<(), StatusError> {
        let workers = self.options.delete_collection_workers.max(1);
        stream::iter(objects.to_vec())
            .map(|entry| self.delete_listed(context, admission, options, entry))
            .buffer_unordered(workers)
            .try_collect::<()>()
            .await
    }

    /// Deletes a listed object; succeeds if it is already gone.
    async fn delete_listed(
        &self,
        context: &RequestContext,
        admission: &dyn ValidateObject,
        options: &DeleteOptions,
        entry: StoredObject,
    ) -> Result<(), StatusError> {
        let name = entry.key.rsplit('/').next().unwrap_or_default();
        match self.delete(context, name, admission, options).await {
            Err(failure) if !failure.is_not_found() => Err(failure),
            _ => Ok(()),
        }
    }
}
