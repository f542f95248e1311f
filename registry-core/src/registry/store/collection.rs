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
        let workers = self.options.delete_collection_workers;
        let mut listed: Option<ListPage> = None;
        let mut listed_bytes = 0;
        loop {
            let page = self.list(context, &selection).await?;
            delete_listed(self, context, admission, options, page.items.clone(), workers).await?;
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

/// Deletes listed objects with limited concurrency, until one deletion fails. Those that are gone already count as deleted.
pub(in crate::registry) async fn delete_listed(
    deleter: &dyn GracefulDeleter,
    context: &RequestContext,
    admission: &dyn ValidateObject,
    options: &DeleteOptions,
    objects: Vec<StoredObject>,
    workers: usize,
) -> Result<(), StatusError> {
    let delete = |entry: StoredObject| async move {
        let name = entry.key.rsplit('/').next().unwrap_or_default();
        match deleter.delete(context, name, admission, options).await {
            Err(failure) if !failure.is_not_found() => Err(failure),
            _ => Ok(()),
        }
    };
    stream::iter(objects).map(delete).buffer_unordered(workers.max(1)).try_collect().await
}
