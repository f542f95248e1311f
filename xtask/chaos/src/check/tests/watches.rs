//! The events of watches, beside the writes.

use super::*;

#[test]
fn a_missed_event_is_refused() {
    refuses("the change at revision 13 was not delivered", |history| {
        let other = Watch {
            events: vec![event(140, Change::Added, "a", version(16, &[6]))],
            ..history.watches[0].clone()
        };
        history.watches.push(Watch { from: 12, reflector: 501, ..other });
    });
}

#[test]
fn a_bookmark_beyond_a_missed_event_is_refused() {
    refuses("the change at revision 16 was not delivered", |history| {
        let events = vec![event(140, Change::Bookmark, "", version(16, &[]))];
        let from = 15;
        history.watches.push(Watch { from, events, ..history.watches[0].clone() });
    });
}

#[test]
fn an_event_that_comes_twice_is_refused() {
    refuses("revision 14 after 14", |history| {
        let repeated = history.watches[1].events[0].clone();
        history.watches[1].events.insert(1, repeated);
    });
}

#[test]
fn events_in_the_wrong_order_are_refused() {
    refuses("revision 11 after 12", |history| history.watches[0].events.swap(0, 1));
}

#[test]
fn a_watch_that_begins_too_early_is_refused() {
    refuses("revision 11 after 11", |history| history.watches[0].from = 11);
}

#[test]
fn an_event_of_the_wrong_type_is_refused() {
    refuses("a modified, and did not exist before", |history| {
        history.watches[0].events[0].change = Change::Modified;
    });
    refuses("a added, and existed before", |history| {
        history.watches[0].events[1].change = Change::Added;
    });
}

#[test]
fn a_deletion_that_shows_an_old_version_is_refused() {
    refuses("a deleted, and shows another version than the last one", |history| {
        history.watches[1].events[1].entries = entries(&[1, 2]);
    });
}

#[test]
fn an_event_before_its_write_is_refused() {
    refuses("an event of configmaps/chaos at revision 16 is stale", |history| {
        history.watches[1].events[3].at = 106;
    });
}

#[test]
fn a_reflector_that_does_not_reach_the_end_is_refused() {
    refuses("reflector 500 of configmaps/chaos did not reach revision 16, but 15", |history| {
        history.watches[1].events.pop();
    });
}

// --- invariants
