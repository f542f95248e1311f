use serde_json::json;

use super::*;

/// The time at which the tests take place.
fn now() -> Timestamp {
    "2026-01-01T12:00:00Z".parse().unwrap()
}

/// Returns a candidate with these versions that was heard of, and asked, some seconds ago.
fn candidate(name: &str, emulation: &str, binary: &str, heard: i64, asked: Option<i64>) -> Arc<Candidate> {
    let ago = |seconds| time::format_microseconds(now() - SignedDuration::from_secs(seconds));
    let object = json!({
        "metadata": {"namespace": "default", "name": name, "creationTimestamp": "2026-01-01T00:00:00Z"},
        "spec": {
            "leaseName": "l", "emulationVersion": emulation, "binaryVersion": binary,
            "strategy": "OldestEmulationVersion", "renewTime": ago(heard), "pingTime": asked.map(ago),
        },
    });
    Arc::new(Candidate::read(&object).unwrap())
}

fn with_strategy(candidate: &Arc<Candidate>, strategy: &str) -> Arc<Candidate> {
    Arc::new(Candidate { strategy: strategy.to_owned(), ..(**candidate).clone() })
}

fn held_by(holder: &str, seconds_ago: i64) -> LeaseState {
    LeaseState {
        holder: Some(holder.to_owned()),
        renewed: Some(now() - SignedDuration::from_secs(seconds_ago)),
        duration_seconds: Some(5),
    }
}

fn elected<'a>(candidates: &'a [Arc<Candidate>], lease: Option<&LeaseState>) -> Option<&'a str> {
    match next_step(candidates, lease, now()).unwrap() {
        Step::Elect { holder, .. } => holder,
        _ => None,
    }
}

#[test]
fn the_oldest_emulated_release_leads_then_the_oldest_binary_then_the_first() {
    let a = candidate("a", "1.20.0", "1.20.0", 1, None);
    let b = candidate("b", "1.19.0", "1.20.0", 1, None);
    let c = candidate("c", "1.19.0", "1.19.0", 1, None);
    let d = candidate("d", "1.9.0", "1.20.0", 1, None);
    assert_eq!(elected(&[a.clone(), b.clone()], None), Some("b"));
    assert_eq!(elected(&[a.clone(), b.clone(), c.clone()], None), Some("c"));
    assert_eq!(elected(&[a.clone(), c.clone(), d], None), Some("d"), "versions are no texts");
    let later = Candidate { created: Some(now()), ..(*c).clone() };
    assert_eq!(elected(&[Arc::new(Candidate { name: "b".to_owned(), ..later }), c.clone()], None), Some("c"));
    let build = candidate("x", "1.19.0+zz", "1.19.0", 1, None);
    assert_eq!(elected(&[c, build], None), Some("c"), "builds do not count");
    let invalid = candidate("i", "one", "1.0.0", 1, None);
    assert_eq!(elected(&[invalid.clone(), a], None), Some("a"));
    assert_eq!(next_step(&[invalid], None, now()), Ok(Step::Wait), "nobody can lead");
}

#[test]
fn silent_candidates_are_asked_and_those_that_do_not_answer_in_time_are_left_out() {
    let (silent, alive) =
        (candidate("a", "1.0.0", "1.0.0", 60, None), candidate("b", "1.1.0", "1.1.0", 1, None));
    let both = [silent.clone(), alive.clone()];
    assert_eq!(next_step(&both, None, now()), Ok(Step::Ask(vec![&*silent])));
    let asked = [candidate("a", "1.0.0", "1.0.0", 60, Some(2)), alive.clone()];
    assert_eq!(next_step(&asked, None, now()), Ok(Step::Wait), "it may still answer");
    let dead = [candidate("a", "1.0.0", "1.0.0", 60, Some(6)), alive.clone()];
    assert_eq!(elected(&dead, None), Some("b"));
    let answered = [candidate("a", "1.0.0", "1.0.0", 1, Some(3)), alive];
    assert_eq!(elected(&answered, None), Some("a"));
    assert_eq!(next_step(&dead[..1], None, now()), Ok(Step::Wait), "nobody is left");
}

#[test]
fn a_lease_with_the_best_holder_is_left_alone_until_somebody_has_been_silent_for_long() {
    let (a, b) = (candidate("a", "1.0.0", "1.0.0", 60, None), candidate("b", "1.1.0", "1.1.0", 60, None));
    let both = [a.clone(), b];
    assert_eq!(next_step(&both, Some(&held_by("a", 1)), now()), Ok(Step::Wait));
    assert!(matches!(next_step(&both, Some(&held_by("b", 1)), now()), Ok(Step::Ask(_))), "a is better");
    assert!(matches!(next_step(&both, Some(&held_by("a", 9)), now()), Ok(Step::Ask(_))), "a has gone");
    assert!(matches!(next_step(&both, Some(&held_by("", 1)), now()), Ok(Step::Ask(_))), "it was given up");
    let quiet = [a, candidate("c", "1.2.0", "1.2.0", 16 * 60, None)];
    assert!(matches!(next_step(&quiet, Some(&held_by("a", 1)), now()), Ok(Step::Ask(_))));
}

#[test]
fn the_newest_binaries_choose_the_strategy_and_have_to_agree() {
    let old = candidate("old", "1.0.0", "1.0.0", 1, None);
    let new = with_strategy(&candidate("new", "1.1.0", "1.1.0", 1, None), "example.com/s");
    let both = [old.clone(), new.clone()];
    let foreign = Step::Elect { strategy: "example.com/s", holder: None };
    assert_eq!(next_step(&both, None, now()), Ok(foreign), "another component chooses the holder");
    assert_eq!(next_step(&both, Some(&held_by("x", 1)), now()), Ok(Step::Wait));
    let other = with_strategy(&new, "example.com/t");
    let contradiction = [new, Arc::new(Candidate { name: "other".to_owned(), ..(*other).clone() }), old];
    assert_eq!(next_step(&contradiction, None, now()), Err(Undecided("new".to_owned(), "other".to_owned())));
}

#[test]
fn strange_times_are_no_failures() {
    let late =
        Candidate { renewed: Some(Timestamp::MAX), ..(*candidate("a", "1.0.0", "1.0.0", 1, None)).clone() };
    assert!(!late.is_expired(now()));
    assert_eq!(elected(&[Arc::new(late.clone())], None), Some("a"));
    let never = Candidate { renewed: None, ..late };
    assert!(never.is_expired(now()));
    assert!(never.is_obsolete(now()), "it was created half a day ago");
    assert!(!Candidate { created: Some(now()), ..never }.is_obsolete(now()), "it may still begin");
    let lease = LeaseState { duration_seconds: Some(i64::MAX), ..held_by("a", 1) };
    assert!(!is_expired(&lease, now()));
    assert!(is_expired(&LeaseState::default(), now()));
}
