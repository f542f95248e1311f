//! Reads through a spoke.

use std::sync::Arc;

use async_trait::async_trait;
use futures::StreamExt;

use crate::api::{GetOptions, ListOptions, StatusError};
use crate::context::RequestContext;
use crate::registry::store::check_field_selector;
use crate::resource::conversion::ConversionError;
use crate::rest::{Answer, Getter, Lister, Watcher};
use crate::storage::{EncodingBudget, ListPage, Rest, StoredObject, WatchError, WatchEvent, WatchStream};

use super::{Converted, VersionAdapter};

/// Number of objects of a list that are converted before yielding to other tasks.
const CONVERTED_AT_ONCE: usize = 64;

#[async_trait]
impl<T: Getter + ?Sized> Getter for Converted<T> {
    async fn get(
        &self,
        context: &RequestContext,
        name: &str,
        options: &GetOptions,
    ) -> Result<Answer, StatusError> {
        match self.hub.get(context, name, options).await? {
            Answer::Stored(entry) => Ok(Answer::Stored(self.adapter.read(&entry, &self.kept)?)),
            other => self.adapter.answer(other),
        }
    }
}

#[async_trait]
impl<T: Lister + ?Sized> Lister for Converted<T> {
    async fn list(&self, context: &RequestContext, options: &ListOptions) -> Result<ListPage, StatusError> {
        let options = self.adapter.selection(options)?;
        let page = self.hub.list(context, &options).await?;
        let adapter = self.adapter.clone();
        let kept = self.kept.clone();
        page_of(page, move |entry| adapter.read(entry, &kept)).await
    }

    async fn list_in_parts(
        &self,
        context: &RequestContext,
        options: &ListOptions,
    ) -> Result<ListPage, StatusError> {
        let options = self.adapter.selection(options)?;
        let page = self.hub.list_in_parts(context, &options).await?;
        let adapter = self.adapter.clone();
        let kept = self.kept.clone();
        page_of(page, move |entry| adapter.read(entry, &kept)).await
    }

    fn list_kind(&self) -> &'static str {
        self.adapter.spoke.list_kind
    }
}

#[async_trait]
impl<T: Watcher + ?Sized> Watcher for Converted<T> {
    async fn watch(
        &self,
        context: &RequestContext,
        options: &ListOptions,
    ) -> Result<WatchStream, StatusError> {
        let adapter = self.adapter.clone();
        let kept = self.kept.clone();
        let events = self.hub.watch(context, &adapter.selection(options)?).await?;
        Ok(events.map(move |event| adapter.event(event?, &kept)).boxed())
    }
}

// === impl VersionAdapter ===

impl VersionAdapter {
    /// Translates list options for the hub's storage: with the hub's names of selected fields.
    pub(super) fn selection(&self, options: &ListOptions) -> Result<ListOptions, StatusError> {
        check_field_selector(&self.spoke, &options.field_selector)?;
        let mut options = options.clone();
        for requirement in &mut options.field_selector.requirements {
            if let Some(field) = self.conversion.hub_field(&self.spoke, &requirement.path) {
                field.clone_into(&mut requirement.path);
            }
        }
        Ok(options)
    }

    /// Converts a page returned by the hub's storage.
    pub(super) async fn page(&self, page: ListPage) -> Result<ListPage, StatusError> {
        let adapter = self.clone();
        page_of(page, move |entry| adapter.entry(entry)).await
    }

    /// Returns a stored object converted to the spoke; the conversion is shared by all readers of this entry.
    fn shared(
        &self,
        entry: &StoredObject,
        kept: &Arc<EncodingBudget>,
    ) -> Result<StoredObject, ConversionError> {
        let made = entry.in_version(self.spoke.group_version(), kept, || self.try_entry(entry).ok());
        // A failed conversion is repeated to get its error.
        made.map_or_else(|| self.try_entry(entry), Ok)
    }

    fn read(&self, entry: &StoredObject, kept: &Arc<EncodingBudget>) -> Result<StoredObject, StatusError> {
        self.shared(entry, kept).map_err(|error| self.conversion_failed(&error))
    }

    fn event(&self, event: WatchEvent, kept: &Arc<EncodingBudget>) -> Result<WatchEvent, WatchError> {
        let convert = |entry: &_| {
            let converted = self.shared(entry, kept);
            converted.map_err(|error| WatchError::Corrupt {
                key: entry.key.to_string(),
                reason: error.to_string(),
            })
        };
        Ok(match event {
            WatchEvent::Added(entry) => WatchEvent::Added(convert(&entry)?),
            WatchEvent::Modified(entry) => WatchEvent::Modified(convert(&entry)?),
            WatchEvent::Deleted(entry) => WatchEvent::Deleted(convert(&entry)?),
            bookmark @ WatchEvent::Bookmark { .. } => bookmark,
        })
    }
}

/// Converts a page. Fails if one object cannot be converted, as in Kubernetes.
async fn page_of(
    mut page: ListPage,
    convert: impl Fn(&StoredObject) -> Result<StoredObject, StatusError> + Clone + Send + Sync + 'static,
) -> Result<ListPage, StatusError> {
    for some in page.items.chunks_mut(CONVERTED_AT_ONCE) {
        for entry in some {
            *entry = convert(entry)?;
        }
        tokio::task::yield_now().await;
    }
    page.rest = page.rest.map(|rest| {
        Rest::new(move || {
            let convert = convert.clone();
            rest.stream().map(move |items| items?.iter().map(&convert).collect()).boxed()
        })
    });
    Ok(page)
}
