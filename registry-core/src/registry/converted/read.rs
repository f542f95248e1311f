//! Reads through a spoke.

use std::sync::Arc;

use async_trait::async_trait;
use futures::{StreamExt, TryStreamExt as _};

use crate::api::{GetOptions, ListOptions, Object, StatusError};
use crate::codec::stored;
use crate::context::RequestContext;
use crate::resource::conversion::ConversionError;
use crate::rest::{Answer, Getter, Lister, Watcher};
use crate::storage::{
    CorruptObject, Entry, ListPage, Rest, Revision, StoredObject, Unreadable, WatchError, WatchEvent,
    WatchStream,
};

use super::selection::Selection;
use super::{Converted, VersionAdapter};

/// Number of objects of a list that are converted before yielding to other tasks.
const CONVERTED_AT_ONCE: usize = 64;
/// Maximum number of objects of one remote conversion.
const REMOTE_AT_ONCE: usize = 500;
/// Maximum size of the objects of one remote conversion, unless a single one is larger.
const REMOTE_BYTES: usize = 4 << 20;

#[async_trait]
impl<T: Getter + ?Sized> Getter for Converted<T> {
    async fn get(
        &self,
        context: &RequestContext,
        name: &str,
        options: &GetOptions,
    ) -> Result<Answer, StatusError> {
        self.adapter.answer(self.hub.get(context, name, options).await?).await
    }
}

#[async_trait]
impl<T: Lister + ?Sized> Lister for Converted<T> {
    async fn list(&self, context: &RequestContext, options: &ListOptions) -> Result<ListPage, StatusError> {
        let Selection { hub, converted } = self.adapter.selection(options)?;
        match converted {
            None => self.adapter.page(self.hub.list(context, &hub).await?).await,
            // Converted objects are selected in parts, whatever the caller can use.
            Some(predicate) => {
                let page = self.adapter.selected_page(self.hub.as_ref(), context, &hub, &predicate).await?;
                whole(page).await
            }
        }
    }

    async fn list_in_parts(
        &self,
        context: &RequestContext,
        options: &ListOptions,
    ) -> Result<ListPage, StatusError> {
        let Selection { hub, converted } = self.adapter.selection(options)?;
        match converted {
            None => self.adapter.page(self.hub.list_in_parts(context, &hub).await?).await,
            Some(predicate) => self.adapter.selected_page(self.hub.as_ref(), context, &hub, &predicate).await,
        }
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
        let Selection { hub, converted } = adapter.selection(options)?;
        if let Some(predicate) = converted {
            return adapter.selected_watch(self.hub.as_ref(), context, &hub, predicate).await;
        }
        let events = self.hub.watch(context, &hub).await?;
        if adapter.is_remote() {
            let converted = events.then(move |event| {
                let adapter = adapter.clone();
                async move { adapter.converted_event(event?).await }
            });
            return Ok(converted.boxed());
        }
        Ok(events.map(move |event| adapter.event(event?)).boxed())
    }

    fn is_converting(&self) -> bool {
        self.adapter.remote.is_busy()
    }
}

// === impl VersionAdapter ===

impl VersionAdapter {
    /// Converts a page returned by the hub's storage. Fails if one object cannot be converted, as in Kubernetes.
    pub(super) async fn page(&self, mut page: ListPage) -> Result<ListPage, StatusError> {
        self.convert_all(&mut page.items).await?;
        let adapter = self.clone();
        page.rest = page.rest.map(|rest| {
            Rest::new(move || {
                let adapter = adapter.clone();
                let parts = rest.stream().then(move |items| {
                    let adapter = adapter.clone();
                    async move {
                        let mut items = items?;
                        adapter.convert_all(&mut items).await?;
                        Ok(items)
                    }
                });
                parts.boxed()
            })
        });
        Ok(page)
    }

    /// Converts a stored object.
    pub(super) async fn read(&self, entry: &StoredObject) -> Result<StoredObject, StatusError> {
        let mut entries = [entry.clone()];
        self.convert_all(&mut entries).await?;
        let [entry] = entries;
        Ok(entry)
    }

    pub(super) async fn convert_all(&self, entries: &mut [StoredObject]) -> Result<(), StatusError> {
        let converted = if self.is_remote() {
            self.convert_remotely(entries).await
        } else {
            self.convert_here(entries).await
        };
        converted.map_err(|error| self.conversion_failed(&error))
    }

    /// Converts objects by functions of this process. Each is converted once for all its readers.
    async fn convert_here(&self, entries: &mut [StoredObject]) -> Result<(), ConversionError> {
        let is_long = entries.len() > CONVERTED_AT_ONCE;
        for some in entries.chunks_mut(CONVERTED_AT_ONCE) {
            for entry in some {
                *entry = self.shared(entry)?;
            }
            if is_long {
                tokio::task::yield_now().await;
            }
        }
        Ok(())
    }

    /// Returns a stored object converted by a function of this process; the conversion is shared by all readers of this
    /// entry.
    fn shared(&self, entry: &StoredObject) -> Result<StoredObject, ConversionError> {
        let convert = || {
            let object = self.spoke.convert_stored_here(decoded(entry)?)?;
            self.with_key_of(entry, &object)
        };
        let made = entry.in_version(self.spoke.group_version(), &self.kept, || convert().ok());
        // A failed conversion is repeated to get its error.
        made.map_or_else(convert, Ok)
    }

    /// Converts objects outside of this process, many at once: those that were not converted within the last second.
    async fn convert_remotely(&self, entries: &mut [StoredObject]) -> Result<(), ConversionError> {
        let mut missing: Vec<&mut StoredObject> = Vec::new();
        for entry in entries {
            match self.remote.get(entry) {
                Some(known) => *entry = known,
                None => missing.push(entry),
            }
        }
        let mut missing = missing.as_mut_slice();
        while !missing.is_empty() {
            let (some, others) = missing.split_at_mut(batch_len(missing));
            missing = others;
            let objects = some.iter().map(|entry| decoded(entry)).collect::<Result<Vec<_>, _>>()?;
            let converted = self.spoke.convert_stored(objects).await?;
            if converted.len() != some.len() {
                return Err(ConversionError::OtherNumber);
            }
            for (entry, object) in some.iter_mut().zip(converted) {
                let made = self.with_key_of(entry, &object)?;
                self.remote.keep(entry, &made);
                **entry = made;
            }
        }
        Ok(())
    }

    /// Converts an object outside of this process, if it was not converted within the last second.
    pub(super) async fn read_remotely(&self, entry: &StoredObject) -> Result<StoredObject, ConversionError> {
        let mut entries = [entry.clone()];
        self.convert_remotely(&mut entries).await?;
        let [converted] = entries;
        Ok(converted)
    }

    /// Converts the last state of an object that a watcher has, with the revision at which it ceased to be selected.
    pub(super) async fn departed(
        &self,
        last: &StoredObject,
        revision: Revision,
    ) -> Result<StoredObject, WatchError> {
        let converted = self.read_remotely(last).await.map_err(|error| corrupt(last, &error))?;
        let object = decoded(&converted).map_err(|error| corrupt(last, &error))?;
        self.entry_at(last, revision, &object).map_err(|error| corrupt(last, &error))
    }

    /// Returns a converted object as stored. Its key and revision remain the hub's.
    fn with_key_of(&self, entry: &StoredObject, object: &Object) -> Result<StoredObject, ConversionError> {
        self.entry_at(entry, entry.revision, object)
    }

    /// Returns a converted object as stored at a revision. A remote conversion may move the fields that it is selected by.
    fn entry_at(
        &self,
        entry: &StoredObject,
        revision: Revision,
        object: &Object,
    ) -> Result<StoredObject, ConversionError> {
        let encoded = stored::encode(object, self.spoke.schema().field_order());
        let (line, item_offset) = stored::with_resource_version(&encoded, revision)?;
        let attributes =
            if self.is_remote() { self.spoke.attributes(object) } else { entry.attributes.clone() };
        Ok(Arc::new(Entry::new(Arc::clone(&entry.key), revision, line, item_offset, attributes)))
    }

    /// Converts an event by functions of this process.
    fn event(&self, event: WatchEvent) -> Result<WatchEvent, WatchError> {
        let Some(entry) = event.object() else { return Ok(event) };
        let converted = self.shared(entry).map_err(|error| corrupt(entry, &error))?;
        Ok(event.with_object(converted))
    }

    /// Converts an event.
    pub(super) async fn converted_event(&self, event: WatchEvent) -> Result<WatchEvent, WatchError> {
        let Some(entry) = event.object() else { return Ok(event) };
        let converted = self.remote.converted(entry, self).await.map_err(|error| corrupt(entry, &error))?;
        Ok(event.with_object(converted))
    }
}

/// Returns a page with all its objects in memory.
async fn whole(mut page: ListPage) -> Result<ListPage, StatusError> {
    if let Some(rest) = page.rest.take() {
        page.items.extend(rest.stream().try_concat().await?);
    }
    Ok(page)
}

/// Returns how many of these entries are converted by the next call: at least one.
fn batch_len(entries: &[&mut StoredObject]) -> usize {
    let mut bytes = 0;
    let fitting = entries.iter().take(REMOTE_AT_ONCE).take_while(|entry| {
        bytes += entry.json().len();
        bytes <= REMOTE_BYTES
    });
    fitting.count().clamp(1, entries.len().max(1))
}

fn corrupt(entry: &StoredObject, error: &ConversionError) -> WatchError {
    let reason = Unreadable::Conversion(Arc::new(error.clone()));
    WatchError::Corrupt(CorruptObject { key: entry.key.to_string(), revision: entry.revision, reason })
}

fn decoded(entry: &StoredObject) -> Result<Object, ConversionError> {
    Ok(stored::decode(entry.json())?)
}
