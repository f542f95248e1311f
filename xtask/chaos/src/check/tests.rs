//! Histories that are right, and histories that are known to be wrong, each of which has to be refused.

use super::check;
use crate::history::{
    Action, Answer, Asked, Change, Entries, Event, Goal, History, List, PatchForm, Read, Refusal, Refused,
    Scope, Version, WRITER, Watch, Write,
};

mod rules;
mod watches;

const SCOPE: &str = "configmaps/chaos";

/// The entries after these writes, of which each sets an entry of its own, and the last one is the writer.
fn entries(writers: &[u64]) -> Entries {
    let own = writers.iter().map(|writer| (format!("client-{writer}"), writer.to_string()));
    let last = writers.last().map(|writer| (WRITER.to_owned(), writer.to_string()));
    own.chain(last).collect()
}

fn version(revision: u64, writers: &[u64]) -> Version {
    Version { revision, entries: entries(writers), assigned: Vec::new() }
}

fn done(revision: u64, writers: &[u64]) -> Answer {
    Answer::Done { version: Some(version(revision, writers)) }
}

fn unknown() -> Answer {
    Answer::Unknown { reason: "timeout".to_owned() }
}

fn refused(refusal: Refusal) -> Answer {
    Answer::Refused { refusal }
}

fn create(id: u64) -> Action {
    Action::Create { entries: entries(&[id]) }
}

fn patch(id: u64) -> Action {
    Action::Patch { form: PatchForm::Merge, entries: entries(&[id]) }
}

fn write(id: u64, (start, end): (u64, u64), object: &str, action: Action, answer: Answer) -> Write {
    let (scope, object) = (SCOPE.to_owned(), object.to_owned());
    Write { id, client: 0, server: 0, scope, object, start, end, action, answer }
}

fn read((start, end): (u64, u64), object: &str, version: Option<Version>) -> Read {
    Read { client: 0, server: 0, scope: SCOPE.to_owned(), object: object.to_owned(), start, end, version }
}

fn list((start, end): (u64, u64), asked: Asked, revision: u64, items: &[(&str, Version)]) -> List {
    let items = items.iter().map(|(name, version)| ((*name).to_owned(), version.clone())).collect();
    List { client: 0, server: 0, scope: SCOPE.to_owned(), start, end, asked, revision, items }
}

fn event(at: u64, change: Change, object: &str, version: Version) -> Event {
    let Version { revision, entries, assigned } = version;
    Event { at, change, revision, object: object.to_owned(), entries, assigned }
}

/// Six writes of two objects, with reads, lists and a reflector that saw everything:
///
/// | time | revision | |
/// |---|---|---|
/// | 10 | 11 | write 1 creates a |
/// | 30 | 12 | write 2 replaces a |
/// | 50 | 13 | write 3 creates b, without an answer |
/// | 70 | 14 | write 4 patches a |
/// | 90 | 15 | write 5 deletes a |
/// | 110 | 16 | write 6 creates a |
fn good() -> History {
    let replace = Action::Replace { expected: version(11, &[1]), entries: entries(&[1, 2]), creates: false };
    let delete = Action::Delete { expected: Some(version(14, &[1, 2, 4])) };
    let writes = vec![
        write(1, (10, 20), "a", create(1), done(11, &[1])),
        write(2, (30, 40), "a", replace.clone(), done(12, &[1, 2])),
        write(3, (50, 60), "b", create(3), unknown()),
        write(4, (70, 80), "a", patch(4), done(14, &[1, 2, 4])),
        write(5, (90, 100), "a", delete, Answer::Done { version: None }),
        write(6, (110, 120), "a", create(6), done(16, &[6])),
        write(7, (42, 48), "a", replace, refused(Refusal::Conflict)),
        write(8, (42, 48), "a", create(8), refused(Refusal::AlreadyExists)),
        write(9, (102, 108), "a", patch(9), refused(Refusal::NotFound)),
        write(10, (130, 140), "a", create(10), unknown()),
    ];
    let reads = vec![
        read((5, 8), "a", None),
        read((11, 19), "a", None),
        read((21, 25), "a", Some(version(11, &[1]))),
        read((65, 68), "b", Some(version(13, &[3]))),
        read((102, 108), "a", None),
    ];
    let lists = vec![
        list((41, 49), Asked::Consistent, 12, &[("a", version(12, &[1, 2]))]),
        list((81, 85), Asked::Paged, 14, &[("a", version(14, &[1, 2, 4])), ("b", version(13, &[3]))]),
        list((86, 89), Asked::Any, 14, &[("a", version(14, &[1, 2, 4])), ("b", version(13, &[3]))]),
        list((86, 89), Asked::Exact { at: 11 }, 11, &[("a", version(11, &[1]))]),
        list((150, 160), Asked::Consistent, 16, &[("a", version(16, &[6])), ("b", version(13, &[3]))]),
    ];
    let bookmark = event(105, Change::Bookmark, "", version(15, &[]));
    let first = vec![
        event(22, Change::Added, "a", version(11, &[1])),
        event(42, Change::Modified, "a", version(12, &[1, 2])),
        event(62, Change::Added, "b", version(13, &[3])),
    ];
    let second = vec![
        event(82, Change::Modified, "a", version(14, &[1, 2, 4])),
        event(102, Change::Deleted, "a", version(15, &[1, 2, 4])),
        bookmark,
        event(122, Change::Added, "a", version(16, &[6])),
    ];
    let watch = |from, events| {
        let (scope, ended) = (SCOPE.to_owned(), "end".to_owned());
        Watch { reflector: 500, server: 0, scope, from, events, ended }
    };
    History {
        scopes: vec![Scope {
            name: SCOPE.to_owned(),
            quota: Some(2),
            from: 10,
            time_to_live: None,
            refused: Vec::new(),
        }],
        writes,
        reads,
        lists,
        watches: vec![watch(10, first), watch(13, second)],
        faults: Vec::new(),
        goals: vec![Goal { scope: SCOPE.to_owned(), revision: 16, reflectors: vec![500] }],
        findings: Vec::new(),
    }
}

/// Asserts that a history is refused with a violation that has this text, after it was changed.
#[track_caller]
fn refuses(expected: &str, change: impl FnOnce(&mut History)) {
    let mut history = good();
    change(&mut history);
    let violations: Vec<String> = check(&history).violations.iter().map(ToString::to_string).collect();
    assert!(violations.iter().any(|violation| violation.contains(expected)), "{violations:#?}");
}

#[test]
fn a_right_history_is_accepted() {
    assert_eq!(check(&good()).violations, []);
}

#[test]
fn an_unknown_write_may_take_effect_late_or_never() {
    let mut history = good();
    history.scopes[0].quota = None;
    history.writes.push(write(11, (0, 1), "c", create(11), unknown()));
    history.writes.push(write(12, (0, 1), "c", Action::Delete { expected: None }, unknown()));
    history.reads.push(read((150, 160), "c", None));
    assert_eq!(check(&history).violations, []);
    // Write 11 takes effect after its client has given up.
    history.reads.push(read((170, 180), "c", Some(version(17, &[11]))));
    assert_eq!(check(&history).violations, []);
}

#[test]
fn a_history_that_no_watch_delivered_is_checked_in_part() {
    let mut history = good();
    // The reflector lost the revisions 13 to 15, with the deletion of a.
    history.watches[0].events.pop();
    history.watches[1].from = 15;
    history.watches[1].events.drain(..2);
    history.lists.push(list((103, 107), Asked::NotOlderThan { at: 12 }, 15, &[("b", version(13, &[3]))]));
    assert_eq!(check(&history).violations, []);
    let in_part = format!("{SCOPE}: history was removed before a watch had delivered it");
    assert_eq!(check(&history).in_part, [in_part]);
    history.reads.push(read((43, 44), "a", Some(version(11, &[1]))));
    assert_eq!(check(&history).violations.len(), 1);
}

#[test]
fn a_stored_history_is_the_same_when_it_is_read() {
    let directory = tempfile::tempdir().unwrap();
    let path = directory.path().join("history.jsonl");
    good().write(&path).unwrap();
    assert_eq!(format!("{:?}", History::read(&path).unwrap()), format!("{:?}", good()));
}

// --- linearizability

#[test]
fn a_lost_write_is_refused() {
    refuses("not linearizable", |history| {
        history.reads.push(read((121, 125), "a", None));
    });
}

#[test]
fn a_stale_read_is_refused_by_the_order_of_operations_alone() {
    refuses("a: not linearizable", |history| {
        history.reads.push(read((43, 44), "a", Some(version(11, &[1]))));
    });
}

#[test]
fn a_read_of_the_future_is_refused() {
    refuses("a: not linearizable", |history| {
        history.reads.push(read((43, 44), "a", Some(version(14, &[1, 2, 4]))));
    });
}

#[test]
fn reads_that_go_back_during_a_write_are_refused() {
    refuses("a: not linearizable", |history| {
        history.reads.push(read((71, 73), "a", Some(version(14, &[1, 2, 4]))));
        history.reads.push(read((74, 76), "a", Some(version(12, &[1, 2]))));
    });
}

#[test]
fn two_successful_creations_are_refused() {
    refuses("a: not linearizable", |history| {
        history.writes.push(write(11, (21, 29), "a", create(11), done(17, &[11])));
    });
}

#[test]
fn a_conflict_without_a_cause_is_refused() {
    refuses("a: not linearizable", |history| {
        let action =
            Action::Replace { expected: version(12, &[1, 2]), entries: entries(&[1, 2, 11]), creates: false };
        history.writes.push(write(11, (43, 44), "a", action, refused(Refusal::Conflict)));
    });
}

#[test]
fn a_missing_object_that_exists_is_refused() {
    refuses("a: not linearizable", |history| {
        history.writes.push(write(11, (43, 44), "a", patch(11), refused(Refusal::NotFound)));
    });
}

#[test]
fn a_deletion_against_its_precondition_is_refused() {
    refuses("a: not linearizable", |history| {
        let delete = history.writes.iter_mut().find(|write| write.id == 5).unwrap();
        delete.action = Action::Delete { expected: Some(version(12, &[1, 2])) };
    });
}

#[test]
fn a_patch_that_undoes_another_write_is_refused() {
    refuses("a: not linearizable", |history| {
        let patch = history.writes.iter_mut().find(|write| write.id == 4).unwrap();
        patch.answer = done(14, &[1, 4]);
    });
}

// --- revisions and real time

#[test]
fn a_revision_that_goes_back_is_refused() {
    refuses(
        "write 11 of configmaps/chaos/c began when revision 12 was known, and has revision 10",
        |history| {
            history.writes.push(write(11, (43, 44), "c", create(11), done(10, &[11])));
        },
    );
}

#[test]
fn a_stale_list_of_an_empty_scope_is_refused() {
    refuses("began when revision 16 was known, and has revision 14", |history| {
        let mut stale = list((130, 135), Asked::Consistent, 14, &[]);
        stale.scope = "configmaps/other".to_owned();
        history.lists.push(stale);
    });
}

#[test]
fn a_stale_read_beside_a_write_of_another_object_is_refused() {
    // No operation of b alone contradicts it: write 3 may take effect late.
    refuses("is stale", |history| {
        history.reads.push(read((63, 64), "b", None));
    });
}

#[test]
fn a_revision_of_two_changes_is_refused() {
    refuses("revision 16 is two changes", |history| {
        history.writes.push(write(11, (115, 125), "c", create(11), done(16, &[11])));
    });
}

#[test]
fn a_version_with_two_contents_is_refused() {
    refuses("revision 12 is two changes", |history| {
        history.lists.push(list((150, 160), Asked::Exact { at: 12 }, 12, &[("a", version(12, &[1]))]));
    });
}

// --- reasons of versions

#[test]
fn a_refused_write_with_effect_is_refused() {
    refuses("write 3 took effect, and was answered with Refused", |history| {
        let create = history.writes.iter_mut().find(|write| write.id == 3).unwrap();
        create.answer = refused(Refusal::AlreadyExists);
    });
}

#[test]
fn a_write_with_two_effects_is_refused() {
    refuses("write 3 took effect twice", |history| {
        let watch = history.watches.last_mut().unwrap();
        watch.events.push(event(130, Change::Modified, "b", version(17, &[3])));
    });
}

#[test]
fn a_version_of_nobody_is_refused() {
    refuses("no client wrote", |history| {
        let watch = history.watches.last_mut().unwrap();
        watch.events.push(event(130, Change::Modified, "b", version(17, &[99])));
    });
}

#[test]
fn a_lost_update_is_refused() {
    // Write 4 was applied to the version before write 2.
    refuses("a at revision 14: write 4 cannot make", |history| {
        history.lists.retain(|list| list.revision != 14);
        for event in history.watches[1].events.iter_mut().take(2) {
            event.entries = entries(&[1, 4]);
        }
        let patch = history.writes.iter_mut().find(|write| write.id == 4).unwrap();
        patch.answer = done(14, &[1, 4]);
    });
}

#[test]
fn an_acknowledged_deletion_without_effect_is_refused() {
    refuses("1 deletions; 2 were acknowledged", |history| {
        let action = Action::Delete { expected: None };
        history.writes.push(write(11, (122, 125), "a", action, Answer::Done { version: None }));
    });
}

#[test]
fn a_deletion_of_nobody_is_refused() {
    refuses("1 deletions; 0 were acknowledged, 0 possible", |history| {
        let watch = history.watches.last_mut().unwrap();
        watch.events.push(event(130, Change::Deleted, "b", version(17, &[3])));
    });
}

#[test]
fn an_object_that_expires_too_early_is_refused() {
    let expire = |time| {
        move |history: &mut History| {
            history.scopes[0].time_to_live = Some(time);
            history.writes.retain(|write| write.id != 5);
            history.writes.retain(|write| matches!(write.action, Action::Create { .. }) || write.id < 5);
        }
    };
    let mut history = good();
    expire(92)(&mut history);
    assert_eq!(check(&history).violations, []);
    refuses("deleted after 92 ns, its time to live is 93", expire(93));
}

// --- lists

#[test]
fn a_server_that_shows_an_older_state_is_refused() {
    refuses("returned revision 11, older than 14", |history| {
        history.lists.push(list((90, 95), Asked::Any, 11, &[("a", version(11, &[1]))]));
    });
}

// --- watches

#[test]
fn the_finding_of_a_client_is_a_violation() {
    refuses("objects remain", |history| history.findings.push("objects remain".to_owned()));
}

#[test]
fn a_list_without_an_object_is_refused() {
    refuses("b of revision 13 is missing", |history| {
        history.lists.push(list((86, 89), Asked::Exact { at: 14 }, 14, &[("a", version(14, &[1, 2, 4]))]));
    });
}

#[test]
fn pages_of_two_states_are_refused() {
    // The first page shows a at revision 12, the second one a later state.
    refuses("a has revision 12, the state has Some(14)", |history| {
        let items = [("a", version(12, &[1, 2])), ("b", version(13, &[3]))];
        history.lists.push(list((86, 89), Asked::Exact { at: 14 }, 14, &items));
    });
}

#[test]
fn a_list_of_another_revision_is_refused() {
    refuses("returned revision 11, older than 12", |history| {
        history.lists.push(list((41, 49), Asked::NotOlderThan { at: 12 }, 11, &[("a", version(11, &[1]))]));
    });
}
