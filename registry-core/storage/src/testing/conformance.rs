//! Checks of every guarantee of [`Interface`](crate::Interface).

use crate::Revision;
use crate::entry::StoredObject;
use crate::error::StorageError;
use crate::interface::{AnyDeletion, ListPage, ListRequest, Updated};
use registry_meta::Preconditions;

use super::widget::Update;
use super::{Check, Fixture, Widget, checks};

mod compaction;
mod lists;
mod pages;
mod races;
mod reads;
mod updates;
mod watches;
mod writes;

/// Checks that may run concurrently over one engine.
pub(super) const CHECKS: &[Check<Fixture>] = checks![
    writes::created_objects_are_read_back,
    writes::a_taken_key_is_not_created,
    writes::everyone_tells_the_same_revisions,
    writes::values_at_rest_carry_no_revision,
    writes::a_deletion_returns_the_last_state,
    writes::deletions_check_preconditions,
    writes::deletions_are_validated_against_the_newest_state,
    writes::objects_expire,
    writes::large_values_are_kept,
    writes::unicode_is_kept,
    updates::an_update_changes_the_newest_state,
    updates::equal_values_are_not_written,
    updates::an_absent_object_is_created_only_if_accepted,
    updates::an_update_may_delete_or_keep,
    updates::refusals_reach_the_caller,
    updates::preconditions_are_checked,
    updates::a_good_hint_spares_nothing_but_the_read,
    updates::a_stale_hint_never_decides,
    races::no_update_is_lost,
    races::one_creation_wins,
    races::one_deletion_wins,
    races::an_update_and_a_deletion_do_not_both_win,
    reads::the_future_is_refused,
    reads::an_absent_object_is_none,
    reads::objects_are_counted,
    reads::unreadable_objects_are_reported,
    lists::lists_are_ordered_and_keep_to_their_prefix,
    lists::an_exact_key_lists_one_object,
    lists::selectors_select,
    lists::a_list_shows_the_revision_asked_for,
    lists::the_future_is_refused,
    pages::pages_show_one_revision_while_writes_go_on,
    pages::the_remaining_count_is_sent_only_without_a_selector,
    pages::a_selector_still_fills_pages,
    pages::tokens_are_the_ones_of_kubernetes,
    pages::bad_tokens_are_refused,
    watches::a_watch_begins_with_what_is_there,
    watches::initial_events_end_with_a_bookmark,
    watches::bookmarks_come_when_asked_for,
    watches::without_initial_events_only_changes_come,
    watches::a_watch_goes_on_from_a_revision,
    watches::selectors_see_objects_come_and_go,
    watches::a_deletion_shows_the_last_state,
    watches::an_exact_key_is_watched_alone,
    watches::large_initial_states_come_whole,
    watches::a_watch_of_the_future_waits_or_is_refused,
    watches::every_event_comes_exactly_once,
];

/// Checks that compact the engine.
pub(super) const SERIAL_CHECKS: &[Check<Fixture>] =
    checks![compaction::a_continued_list_is_told_how_to_go_on, compaction::compacted_revisions_are_refused,];

impl Fixture {
    fn key(&self, name: &str) -> String {
        format!("{}{name}", self.prefix)
    }

    /// Creates a widget under its name.
    async fn create(&self, widget: &Widget) -> StoredObject {
        self.store.create(&self.key(&widget.name), widget.value(), None).await.unwrap()
    }

    /// Creates widgets `w000`, `w001`, …; returns the last revision.
    async fn create_many(&self, count: u64) -> Revision {
        let mut revision = 0;
        for number in 0..count {
            let color = if number % 10 == 0 { "red" } else { "blue" };
            let widget = Widget::named(&format!("w{number:03}")).color(color).count(number);
            revision = self.create(&widget).await.revision;
        }
        revision
    }

    /// Replaces a widget unconditionally.
    async fn replace(&self, widget: &Widget) -> StoredObject {
        let mut update = Update::new(|_| Ok(widget.write()));
        self.update(&widget.name, &mut update, None).await.unwrap().object
    }

    async fn update(
        &self,
        name: &str,
        update: &mut dyn crate::TryUpdate,
        hint: Option<StoredObject>,
    ) -> Result<Updated, StorageError> {
        self.store.guaranteed_update(&self.key(name), &Preconditions::default(), update, hint).await
    }

    async fn delete(&self, name: &str) -> Result<StoredObject, StorageError> {
        self.store.delete(&self.key(name), &Preconditions::default(), &mut AnyDeletion, None).await
    }

    async fn get(&self, name: &str) -> Option<StoredObject> {
        self.store.get(&self.key(name), None).await.unwrap()
    }

    async fn list(&self, request: &ListRequest) -> ListPage {
        self.store.list(&self.prefix, request).await.unwrap()
    }
}

/// Returns the names of a page's widgets.
fn names(page: &ListPage) -> Vec<String> {
    page.items.iter().map(|object| Widget::decode(object).name).collect()
}
