//! Lists: choice of the revision, and division into pages.

use tokio_util::task::AbortOnDropHandle;

use crate::Revision;
use crate::entry::{Attributes, StoredObject};
use crate::error::{CorruptObjects, StorageError};
use crate::interface::{ListPage, ListRequest};
use crate::mvcc::{KeyValue, MvccError, RangeRequest, Ranged};
use registry_meta::ResourceVersionMatch;

use super::state::entry;
use super::{KeyRange, VersionedStore, not_in_the_future, successor};
use crate::continue_token::{self, Position};

/// Approximate size of one read of the engine, in bytes: engines limit by number of objects. With each read, they also count
/// all keys that follow, so that many small reads of a large collection cost more than its objects.
const READ_BYTES: usize = 8 * 1024 * 1024;

/// Maximum size of a page with a limit, in bytes: the page ends early and clients request the next one.
const MAX_PAGE_BYTES: usize = 8 * 1024 * 1024;

/// Maximum number of values that cannot be read in the error of a list.
const MAX_CORRUPT_OBJECTS: usize = 100;

/// A list in progress.
struct Listing<'a> {
    store: &'a VersionedStore,
    request: &'a ListRequest,
    range: KeyRange,
    /// The first key of the next read.
    start: String,
    /// The revision shown; set by the first read unless the request sets it.
    revision: Option<Revision>,
    /// Whether the request has a continue token.
    continued: bool,
    items: Vec<StoredObject>,
    /// Size of the items' JSON, in bytes.
    item_bytes: usize,
    /// The last key examined.
    last_key: Option<String>,
    /// The values that cannot be read, if the store reports them.
    corrupt: CorruptObjects,
    /// Number of objects read, and number of those tested by a selector.
    fetched: usize,
    evaluated: usize,
    /// Number of keys that the last read left unread.
    left: u64,
    /// The next read, started while the results of the last one are processed.
    ahead: Option<AbortOnDropHandle<Result<Ranged, MvccError>>>,
}

/// See [`Interface::list`](crate::Interface::list).
pub(super) async fn list(
    store: &VersionedStore,
    prefix: &str,
    request: &ListRequest,
) -> Result<ListPage, StorageError> {
    let range = KeyRange::with_prefix(prefix);
    let position = position(&range, request)?;
    let continued = !range.exact && request.continue_token.is_some();
    let mut listing = Listing {
        store,
        request,
        start: position.start,
        revision: position.revision,
        continued,
        range,
        items: Vec::new(),
        item_bytes: 0,
        last_key: None,
        corrupt: CorruptObjects::default(),
        fetched: 0,
        evaluated: 0,
        left: 0,
        ahead: None,
    };
    listing.fill().await?;
    store.metrics.listed(listing.fetched, listing.evaluated, listing.items.len());
    if !listing.corrupt.objects.is_empty() {
        return Err(StorageError::CorruptList(listing.corrupt));
    }
    listing.into_page()
}

/// Returns the start of the list and the revision that it must show.
fn position(range: &KeyRange, request: &ListRequest) -> Result<Position, StorageError> {
    let asked = request.revision.filter(|revision| *revision > 0);
    if let (Some(token), false) = (&request.continue_token, range.exact) {
        if asked.is_some() {
            return Err(continue_token::with_resource_version(token));
        }
        return continue_token::decode(token, &range.start);
    }
    let revision = match request.revision_match {
        Some(ResourceVersionMatch::Exact) => asked,
        Some(ResourceVersionMatch::NotOlderThan) => None,
        // Default without a match: with a limit, the revision is exact.
        None if request.limit > 0 && !range.exact => asked,
        None => None,
    };
    Ok(Position { start: range.start.clone(), revision })
}

// === impl Listing ===

impl Listing<'_> {
    /// Reads until the page is full or nothing is left.
    async fn fill(&mut self) -> Result<(), StorageError> {
        let mut page = self.max_objects();
        let read_bytes = self.max_bytes().min(READ_BYTES);
        loop {
            let full = self.read(page.min(self.store.page_size.objects_of(read_bytes))).await?;
            if full || self.left == 0 {
                return Ok(());
            }
            // A selector dropped objects: read more at once, so that a rare match costs few reads.
            page = page.saturating_mul(2);
        }
    }

    /// Reads once, at most `page` keys. Returns whether the page is full.
    async fn read(&mut self, page: u64) -> Result<bool, StorageError> {
        let ranged = match self.ahead.take() {
            Some(ahead) => {
                ahead.await.unwrap_or_else(|failed| Err(MvccError::Unavailable(failed.to_string().into())))
            }
            None => self.range(page).await,
        };
        let ranged = ranged.map_err(|error| self.interpret(error))?;
        not_in_the_future(self.request.revision, ranged.revision)?;
        self.revision.get_or_insert(ranged.revision);
        self.left = ranged.count;
        self.fetched += ranged.key_values.len();
        self.store.page_size.note(&ranged.key_values);
        if let Some(last) = ranged.key_values.last() {
            self.start = successor(&last.key);
        }
        if self.left > ranged.key_values.len() as u64 && !self.is_full_with(&ranged.key_values) {
            self.read_ahead(page);
        }
        for key_value in ranged.key_values {
            if self.is_full() {
                return Ok(true);
            }
            self.last_key = Some(key_value.key.to_string());
            self.left = self.left.saturating_sub(1);
            match self.take(key_value).await {
                Err(StorageError::Corrupt(object)) if self.store.reports_corrupt_objects => {
                    if self.corrupt.objects.len() == MAX_CORRUPT_OBJECTS {
                        self.corrupt.has_more = true;
                        return Ok(true);
                    }
                    self.corrupt.objects.push(object);
                }
                taken => taken?,
            }
        }
        Ok(self.is_full())
    }

    async fn range(&self, limit: u64) -> Result<Ranged, MvccError> {
        let range = RangeRequest { start: &self.start, end: &self.range.end, limit, revision: self.revision };
        self.store.engine.range(range).await
    }

    /// Starts the next read, so that the engine works while this list processes its results.
    fn read_ahead(&mut self, limit: u64) {
        let engine = self.store.engine.clone();
        let revision = self.revision;
        let start = self.start.clone();
        let end = self.range.end.clone();
        self.ahead = Some(AbortOnDropHandle::new(tokio::spawn(async move {
            engine.range(RangeRequest { start: &start, end: &end, limit, revision }).await
        })));
    }

    async fn take(&mut self, key_value: KeyValue) -> Result<(), StorageError> {
        let KeyValue { key, value, mod_revision, .. } = key_value;
        let predicate = &self.request.predicate;
        if predicate.is_everything() && !self.request.with_attributes {
            let value = self.store.plain(&key, value, mod_revision).await?;
            self.push(entry(key, &value, mod_revision, Attributes::default())?);
            return Ok(());
        }
        let object = self.store.entry_with_attributes(key, value, mod_revision).await?;
        self.evaluated += usize::from(!predicate.is_everything());
        if predicate.selects(&object) {
            self.push(object);
        }
        Ok(())
    }

    fn push(&mut self, object: StoredObject) {
        self.item_bytes += object.json().len();
        self.items.push(object);
    }

    fn is_full(&self) -> bool {
        self.items.len() as u64 >= self.max_objects() || self.item_bytes >= self.max_bytes()
    }

    /// Whether the page is full if all these objects are selected.
    fn is_full_with(&self, key_values: &[KeyValue]) -> bool {
        let bytes: usize = key_values.iter().map(|key_value| key_value.value.len()).sum();
        (self.items.len() + key_values.len()) as u64 >= self.max_objects()
            || self.item_bytes + bytes >= self.max_bytes()
    }

    fn max_objects(&self) -> u64 {
        match self.request.limit {
            0 => u64::MAX,
            limit => limit,
        }
    }

    fn max_bytes(&self) -> usize {
        match (self.request.max_bytes, self.request.limit) {
            (Some(max_bytes), _) => max_bytes,
            (None, 0) => usize::MAX,
            (None, _) => MAX_PAGE_BYTES,
        }
    }

    /// If the list's revision was compacted, adds a token that continues in the newest state.
    fn interpret(&self, error: MvccError) -> StorageError {
        match error {
            MvccError::Compacted { requested, oldest } if self.continued => {
                let fresh_continue = continue_token::encode(&self.start, &self.range.start, None).ok();
                StorageError::Compacted { requested, oldest, fresh_continue }
            }
            other => other.into(),
        }
    }

    fn into_page(self) -> Result<ListPage, StorageError> {
        let revision = self.revision.unwrap_or_default();
        let mut page = ListPage { revision, items: self.items, ..ListPage::default() };
        if self.left > 0
            && !self.range.exact
            && let Some(last) = &self.last_key
        {
            let token = continue_token::encode(&successor(last), &self.range.start, Some(revision))?;
            page.continue_token = Some(token);
            page.remaining = self.request.predicate.has_no_selector().then_some(self.left);
        }
        Ok(page)
    }
}
