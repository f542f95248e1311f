//! Concurrent writes: no write is lost, and exactly one of two conflicting writes succeeds.

use crate::error::StorageError;
use crate::testing::widget::increment;
use crate::testing::{Fixture, Widget};

const TASKS: usize = 8;

pub(super) async fn no_update_is_lost(fixture: Fixture) {
    const ROUNDS: u64 = 12;
    let created = fixture.create(&Widget::named("a")).await;
    let mut tasks = Vec::new();
    for number in 0..TASKS {
        let fixture = fixture.clone();
        let created = created.clone();
        tasks.push(tokio::spawn(async move {
            for _ in 0..ROUNDS {
                // Half of the writers use a hint that soon is out of date.
                let hint = (number % 2 == 0).then(|| created.clone());
                fixture.update("a", &mut increment(), hint).await.unwrap();
            }
        }));
    }
    for task in tasks {
        task.await.unwrap();
    }
    assert_eq!(Widget::decode(&fixture.get("a").await.unwrap()).count, TASKS as u64 * ROUNDS);
}

pub(super) async fn one_creation_wins(fixture: Fixture) {
    let mut tasks = Vec::new();
    for number in 0..TASKS as u64 {
        let fixture = fixture.clone();
        tasks.push(tokio::spawn(async move {
            let value = Widget::named("a").count(number).value();
            fixture.store.create(&fixture.key("a"), value, None).await
        }));
    }
    let mut winners = Vec::new();
    for task in tasks {
        match task.await.unwrap() {
            Ok(object) => winners.push(object),
            Err(StorageError::Exists { .. }) => {}
            Err(other) => panic!("a creation fails otherwise: {other}"),
        }
    }
    assert_eq!(winners.len(), 1);
    assert_eq!(fixture.get("a").await.unwrap().json(), winners[0].json());
}

pub(super) async fn one_deletion_wins(fixture: Fixture) {
    let created = fixture.create(&Widget::named("a")).await;
    let mut tasks = Vec::new();
    for number in 0..TASKS {
        let fixture = fixture.clone();
        let hint = (number % 2 == 0).then(|| created.clone());
        tasks.push(tokio::spawn(async move {
            let any = &mut crate::interface::AnyDeletion;
            fixture.store.delete(&fixture.key("a"), &registry_meta::Preconditions::default(), any, hint).await
        }));
    }
    let mut won = 0;
    for task in tasks {
        match task.await.unwrap() {
            Ok(_) => won += 1,
            Err(StorageError::NotFound { .. }) => {}
            Err(other) => panic!("a deletion fails otherwise: {other}"),
        }
    }
    assert_eq!(won, 1);
}

pub(super) async fn an_update_and_a_deletion_do_not_both_win(fixture: Fixture) {
    for round in 0..10 {
        let name = format!("w{round}");
        fixture.create(&Widget::named(&name)).await;
        let mut add = increment();
        let (updated, deleted) = tokio::join!(fixture.update(&name, &mut add, None), fixture.delete(&name));
        let deleted = deleted.expect("a deletion of what is there succeeds");
        let last = Widget::decode(&deleted).count;
        match updated {
            Ok(updated) => {
                assert_eq!(last, 1, "the deletion came second and saw the update");
                assert!(deleted.revision > updated.object.revision);
            }
            Err(StorageError::NotFound { .. }) => assert_eq!(last, 0, "the deletion came first"),
            Err(other) => panic!("the update fails otherwise: {other}"),
        }
        assert!(fixture.get(&name).await.is_none());
    }
}
