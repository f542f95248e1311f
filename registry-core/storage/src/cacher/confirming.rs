//! Confirms that the values behind the objects of a cache can still be read, after the configuration has changed that they
//! are read by: a key may be gone. Until all can be read, reads of the newest state of an object and writes go to the store,
//! so that they fail where it decides so; lists and watches are still served from the cache, as kube-apiserver does.

use std::time::Duration;

use crate::error::StorageError;
use crate::interface::{Interface, ListRequest};
use crate::notice::Notice;

use super::feed::PAGE_OBJECTS;
use super::state::CacheState;

/// Interval between attempts to read all values.
const INTERVAL: Duration = Duration::from_mins(1);

/// Runs until its task is aborted.
pub(super) async fn run(inner: &dyn Interface, state: &CacheState, prefix: &str) {
    let mut confirmed = inner.transformation_changed(None).await;
    let mut unread = Notice::default();
    loop {
        let mut number = inner.transformation_changed(Some(confirmed)).await;
        state.set_confirmed(false);
        while let Err(error) = read_all(inner, prefix).await {
            unread.log(|times| {
                tracing::warn!(
                    prefix, times, %error, "not all values can be read with the changed configuration: reads of \
                    single objects go to the store"
                );
            });
            let changed = inner.transformation_changed(Some(number));
            number = tokio::time::timeout(INTERVAL, changed).await.unwrap_or(number);
        }
        confirmed = number;
        state.set_confirmed(true);
    }
}

/// Reads all values, page by page.
async fn read_all(inner: &dyn Interface, prefix: &str) -> Result<(), StorageError> {
    let mut request = ListRequest { limit: PAGE_OBJECTS, ..ListRequest::default() };
    loop {
        let page = inner.list(prefix, &request).await?;
        if page.continue_token.is_none() {
            return Ok(());
        }
        request.continue_token = page.continue_token;
    }
}
