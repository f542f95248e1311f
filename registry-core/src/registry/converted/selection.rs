//! Lists, watches and deletions that select by fields which only the spoke's objects have: a remote conversion may move any
//! field. The hub's storage selects by names and labels, and the converted objects are selected by their fields.
//!
//! Kubernetes concept: the storage of one version of a custom resource, whose objects are converted before they are
//! selected.

use futures::{Stream, StreamExt as _, TryStreamExt as _, stream};

use crate::api::selector::FieldSelector;
use crate::api::{DeleteOptions, ListOptions, ResourceVersionMatch, StatusError};
use crate::context::RequestContext;
use crate::registry::object_adapter::AdaptedAdmission;
use crate::registry::store::{CollectionDeletion, check_field_selector};
use crate::rest::{Lister, ValidateObject, Watcher};
use crate::storage::{ListPage, Predicate, Rest, StoredObject, WatchError, WatchEvent, WatchStream};

use super::VersionAdapter;
use super::shown::{Full, Shown};

/// The fields that all versions have.
const NAMES: [&str; 2] = ["metadata.name", "metadata.namespace"];
/// Minimum number of the hub's objects that are converted for a page.
const MIN_PAGE_OBJECTS: u64 = 500;
/// Maximum number of concurrent deletions of a `deletecollection`.
const DELETERS: usize = 8;

/// A selection of a spoke's objects.
pub(super) struct Selection {
    /// The options for the hub's storage.
    pub(super) hub: ListOptions,
    /// The requirements on the converted objects; `None` if the hub's storage decides alone.
    pub(super) converted: Option<Predicate>,
}

/// Time after which a client may try again if there are more.
const RETRY_SECONDS: u32 = 5;

/// A watch by the fields of converted objects.
struct SelectedWatch {
    adapter: VersionAdapter,
    predicate: Predicate,
    shown: Shown,
}

// === impl VersionAdapter ===

impl VersionAdapter {
    /// Translates the selection of a request: with the hub's names of selected fields, and without the requirements that the
    /// hub cannot judge.
    ///
    /// # Errors
    /// 400 if the spoke does not offer a field.
    pub(super) fn selection(&self, options: &ListOptions) -> Result<Selection, StatusError> {
        check_field_selector(&self.spoke, &options.field_selector)?;
        let mut hub = options.clone();
        if self.is_remote() {
            let requirements = &mut hub.field_selector.requirements;
            let is_own = |path: &str| !NAMES.contains(&path);
            let own: Vec<_> = requirements.extract_if(.., |wanted| is_own(&wanted.path)).collect();
            let fields = FieldSelector { requirements: own };
            let converted = (!fields.is_empty()).then(|| Predicate { fields, ..Predicate::default() });
            return Ok(Selection { hub, converted });
        }
        for requirement in &mut hub.field_selector.requirements {
            if let Some(field) = self.conversion.hub_field(&self.spoke, &requirement.path) {
                field.clone_into(&mut requirement.path);
            }
        }
        Ok(Selection { hub, converted: None })
    }

    /// Lists the selected objects, at most `limit` of them if the options have one.
    pub(super) async fn selected_page<T: Lister + ?Sized>(
        &self,
        hub: &T,
        context: &RequestContext,
        options: &ListOptions,
        predicate: &Predicate,
    ) -> Result<ListPage, StatusError> {
        if options.limit == 0 {
            let page = self.page(hub.list_in_parts(context, options).await?).await?;
            return Ok(selected(page, predicate));
        }
        let wanted = usize::try_from(options.limit).unwrap_or(usize::MAX);
        let mut options = ListOptions { limit: options.limit.max(MIN_PAGE_OBJECTS), ..options.clone() };
        let mut found: Option<ListPage> = None;
        loop {
            context.budget.check()?;
            let page = self.page(hub.list(context, &options).await?).await?;
            let missing = wanted - found.as_ref().map_or(0, |found| found.items.len());
            let matching =
                page.items.iter().enumerate().filter(|(_, entry)| predicate.matches(&entry.attributes));
            let last = matching.map(|(place, _)| place).nth(missing.saturating_sub(1));
            let (taken, is_full) = last.map_or((page.items.len(), false), |place| (place + 1, true));
            let next = if taken < page.items.len() {
                token_after(hub, context, &options, &page, taken).await?
            } else {
                page.continue_token.clone()
            };
            let mut page = page;
            page.items.truncate(taken);
            let page = selected(ListPage { continue_token: None, ..page }, predicate);
            let mut all = match found.take() {
                None => page,
                Some(mut all) => {
                    all.items.extend(page.items);
                    all
                }
            };
            match next {
                Some(next) if !is_full => {
                    options.continue_token = Some(next);
                    options.resource_version = None;
                    options.resource_version_match = None;
                    found = Some(all);
                }
                next => {
                    all.continue_token = next;
                    return Ok(all);
                }
            }
        }
    }

    /// Deletes the selected objects, and returns them. Not atomic, as the hub's deletion.
    pub(super) async fn delete_selected(
        &self,
        context: &RequestContext,
        admission: &dyn ValidateObject,
        options: &DeleteOptions,
        selection: (&ListOptions, &Predicate),
    ) -> Result<ListPage, StatusError> {
        let (Some(lister), Some(deleter)) = (&self.hub.lister, &self.hub.deleter) else {
            return Err(StatusError::internal("the objects of this kind cannot be listed and deleted"));
        };
        let admission = &AdaptedAdmission { adapter: self, external: admission };
        let deleter = deleter.as_ref();
        let deletion = CollectionDeletion { deleter, context, admission, options, workers: DELETERS };
        deletion.warn(&*self.conversion.hub.strategy);
        let page = self.selected_page(lister.as_ref(), context, selection.0, selection.1).await?;
        deletion.delete(page.clone()).await?;
        Ok(page)
    }

    /// Watches the selected objects.
    pub(super) async fn selected_watch<T: Watcher + ?Sized>(
        &self,
        hub: &T,
        context: &RequestContext,
        options: &ListOptions,
        predicate: Predicate,
    ) -> Result<WatchStream, StatusError> {
        let since = options.resource_version.filter(|revision| *revision > 0);
        let is_initial = options.send_initial_events.unwrap_or(since.is_none());
        let mut options = options.clone();
        let mut shown = Shown::new(&self.shown);
        if !is_initial {
            let (revision, present) = self.shown_at(context, &options, &predicate, since).await?;
            shown = present;
            options.resource_version = Some(since.unwrap_or(revision));
            options.send_initial_events = options.send_initial_events.or(Some(false));
        }
        let events = hub.watch(context, &options).await?;
        Ok(SelectedWatch { adapter: self.clone(), predicate, shown }.stream(events).boxed())
    }

    /// Returns the objects that a watcher has whose watch begins at a revision (`None`: now), and the revision.
    async fn shown_at(
        &self,
        context: &RequestContext,
        options: &ListOptions,
        predicate: &Predicate,
        revision: Option<u64>,
    ) -> Result<(u64, Shown), StatusError> {
        let Some(lister) = &self.hub.lister else {
            return Err(StatusError::internal("the objects of this kind cannot be listed"));
        };
        let options = ListOptions {
            label_selector: options.label_selector.clone(),
            field_selector: options.field_selector.clone(),
            shard_selector: options.shard_selector.clone(),
            resource_version: revision,
            resource_version_match: revision.map(|_| ResourceVersionMatch::Exact),
            ..ListOptions::default()
        };
        let page = lister.list_in_parts(context, &options).await?;
        let mut shown = Shown::new(&self.shown);
        let revision = page.revision;
        let mut parts = page.into_parts();
        while let Some(part) = parts.try_next().await? {
            self.show(&mut shown, part, predicate).await?;
        }
        Ok((revision, shown))
    }

    async fn show(
        &self,
        shown: &mut Shown,
        stored: Vec<StoredObject>,
        predicate: &Predicate,
    ) -> Result<(), StatusError> {
        let mut converted = stored.clone();
        self.convert_all(&mut converted).await?;
        let pairs = stored.into_iter().zip(converted);
        for (stored, _) in pairs.filter(|(_, converted)| predicate.matches(&converted.attributes)) {
            shown.insert_former(&stored).map_err(|Full| {
                let text = "the watches by fields of this version have too many objects";
                StatusError::too_many_requests(text, RETRY_SECONDS)
            })?;
        }
        Ok(())
    }
}

/// Returns the token of the page after the first objects of this one.
async fn token_after<T: Lister + ?Sized>(
    hub: &T,
    context: &RequestContext,
    options: &ListOptions,
    page: &ListPage,
    taken: usize,
) -> Result<Option<String>, StatusError> {
    let mut options = ListOptions { limit: u64::try_from(taken).unwrap_or(u64::MAX), ..options.clone() };
    if options.continue_token.is_none() {
        options.resource_version = Some(page.revision);
        options.resource_version_match = Some(ResourceVersionMatch::Exact);
    }
    Ok(hub.list(context, &options).await?.continue_token)
}

/// Returns a page of converted objects without those that are not selected.
fn selected(mut page: ListPage, predicate: &Predicate) -> ListPage {
    page.items.retain(|entry| predicate.matches(&entry.attributes));
    page.remaining = None;
    let predicate = predicate.clone();
    page.rest = page.rest.map(|rest| {
        Rest::new(move || {
            let predicate = predicate.clone();
            let parts = rest.stream().map_ok(move |mut part: Vec<StoredObject>| {
                part.retain(|entry| predicate.matches(&entry.attributes));
                part
            });
            parts.boxed()
        })
    });
    page
}

// === impl SelectedWatch ===

impl SelectedWatch {
    /// Returns the events of the hub as the watcher sees them.
    fn stream(self, events: WatchStream) -> impl Stream<Item = Result<WatchEvent, WatchError>> + Send {
        stream::try_unfold((self, events), |(mut watch, mut events)| async move {
            while let Some(event) = events.next().await {
                if let Some(seen) = watch.see(event?).await? {
                    return Ok(Some((seen, (watch, events))));
                }
            }
            Ok(None)
        })
    }

    /// Converts an event, if it concerns the watcher.
    async fn see(&mut self, event: WatchEvent) -> Result<Option<WatchEvent>, WatchError> {
        let Some(stored) = event.object().cloned() else { return Ok(Some(event)) };
        if let WatchEvent::Deleted(_) = &event {
            if !self.shown.remove(&stored.key) {
                return Ok(None);
            }
            return self.adapter.converted_event(event).await.map(Some);
        }
        // The conversion may take so long that the history forgets it.
        let last = self.shown.last(&stored.key);
        let converted = self.adapter.converted_event(event).await?;
        let Some(object) = converted.object().cloned() else { return Ok(Some(converted)) };
        if self.predicate.matches(&object.attributes) {
            let is_new = self.shown.insert(&stored).map_err(|Full| WatchError::Compacted {
                requested: stored.revision,
                oldest: stored.revision.saturating_add(1),
            })?;
            return Ok(Some(if is_new { WatchEvent::Added(object) } else { WatchEvent::Modified(object) }));
        }
        if !self.shown.remove(&stored.key) {
            return Ok(None);
        }
        // Without its last state the present one says which object it is.
        let last = self.adapter.departed(last.as_ref().unwrap_or(&stored), stored.revision).await?;
        Ok(Some(WatchEvent::Deleted(last)))
    }
}
