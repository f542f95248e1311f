//! Addresses that are given twice, quotas that are exceeded, and writes that a policy denies.

use super::*;

#[test]
fn a_quota_is_not_checked_where_deletions_are_unknown() {
    let mut history = good();
    // The reflector lost the revisions 13 to 15: a may have been deleted once or twice, and b too.
    history.watches[0].events.pop();
    history.watches[1].from = 15;
    history.watches[1].events.drain(..2);
    history.scopes[0].quota = Some(1);
    assert_eq!(check(&history).violations, []);
    assert_eq!(check(&history).in_part.len(), 1);
}

#[test]
fn an_address_of_two_objects_is_refused() {
    refuses("10.0.0.7 is assigned to a and b", |history| {
        history.lists.clear();
        history.reads.clear();
        history.watches.truncate(1);
        history.watches[0].events.clear();
        history.goals[0].revision = 13;
        for id in [1, 3] {
            let write = history.writes.iter_mut().find(|write| write.id == id).unwrap();
            let mut version = version(10 + id, &[id]);
            version.assigned.push("10.0.0.7".to_owned());
            history.watches[0].events.push(event(
                write.end + 2,
                Change::Added,
                &write.object,
                version.clone(),
            ));
            write.answer = Answer::Done { version: Some(version) };
        }
        history.writes.retain(|write| [1, 3].contains(&write.id));
    });
}

#[test]
fn an_exceeded_quota_is_refused() {
    refuses("at revision 13: 2 objects, the quota is 1", |history| {
        history.scopes[0].quota = Some(1);
    });
}

// --- refused writes

/// The last write of the history, as one that a policy denies since a time.
fn denied(history: &mut History, since: u64, answer: Answer) {
    history.scopes[0].refused = vec![Refused { entry: "forbidden".to_owned(), since }];
    let mut action = create(11);
    action.entries_mut().unwrap().insert("forbidden".to_owned(), "11".to_owned());
    history.writes.push(write(11, (130, 140), "c", action, answer));
}

#[test]
fn a_denied_write_without_effect_is_accepted() {
    for answer in [Answer::Rejected { reason: "422".to_owned() }, unknown()] {
        let mut history = good();
        denied(&mut history, 0, answer);
        assert_eq!(check(&history).violations, []);
    }
}

#[test]
fn a_write_that_skipped_admission_is_refused() {
    refuses("write 11 of configmaps/chaos/c took effect", |history| {
        denied(history, 129, done(17, &[11]));
    });
}

#[test]
fn a_denied_write_with_a_late_effect_is_refused() {
    refuses("write 11 of configmaps/chaos/c took effect", |history| {
        denied(history, 129, unknown());
        let mut version = version(17, &[11]);
        version.entries.insert("forbidden".to_owned(), "11".to_owned());
        history.reads.push(read((170, 180), "c", Some(version)));
    });
}

#[test]
fn a_write_that_began_before_the_denial_may_take_effect() {
    let mut history = good();
    denied(&mut history, 131, done(17, &[11]));
    let text = format!("{:?}", check(&history).violations);
    assert!(!text.contains("LetThrough"), "{text}");
}
