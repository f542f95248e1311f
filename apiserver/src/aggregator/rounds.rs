//! Repeats a piece of work for each extension server: when it is new or has changed, and whenever it is due.
//!
//! Each server's work runs on its own, so that one that does not respond delays no other. Between two rounds nothing runs.

use std::collections::HashMap;
use std::sync::Arc;
use std::time::Duration;

use futures::future::BoxFuture;
use futures::stream::{FuturesUnordered, StreamExt as _};
use registry_core::registry::Compiled;
use tokio::time::Instant;

use super::remote_service::RemoteService;

/// Work that is repeated for each extension server.
pub(super) trait Work: Send + 'static {
    /// The result of one run.
    type Outcome: Send + 'static;

    /// Maximum number of servers whose work runs at once.
    const MAX_RUNNING: usize;

    /// Returns whether a change of an APIService has to be followed by a run at once.
    fn is_concerned(before: &RemoteService, now: &RemoteService) -> bool;

    /// Returns the work for a server. It must end in bounded time.
    fn start(&self, service: Arc<RemoteService>) -> BoxFuture<'static, Self::Outcome>;

    /// Takes the result, and returns the time until the next run.
    fn finish(&mut self, service: &RemoteService, outcome: Self::Outcome) -> Duration;

    /// An APIService is gone.
    fn forget(&mut self, name: &str);
}

/// The next round of the work of a server.
struct Round {
    /// As it was when its work was started.
    service: Arc<RemoteService>,
    due: Due,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Due {
    At(Instant),
    /// Its work runs.
    Running,
    /// Its work runs, and is due as soon as it ends.
    Again,
}

/// Repeats the work for all servers until it is dropped.
pub(super) async fn repeat<W: Work>(services: Arc<Compiled<RemoteService>>, mut work: W) {
    let mut changes = services.subscribe();
    let mut rounds = HashMap::<String, Round>::new();
    let mut running = FuturesUnordered::new();
    loop {
        changes.mark_unchanged();
        note_changes(&services.all(), &mut rounds, &mut work);
        let next = start_due(&mut rounds, W::MAX_RUNNING.saturating_sub(running.len()), |service| {
            let outcome = work.start(service.clone());
            running.push(async move { (service, outcome.await) });
        });
        tokio::select! {
            changed = changes.changed() => if changed.is_err() { return },
            () = sleep_until(next) => {}
            Some((service, outcome)) = running.next() => end(&mut rounds, &mut work, &service, outcome),
        }
    }
}

/// Adds new servers, removes those that are gone, and marks those as due that have changed.
fn note_changes<W: Work>(services: &[Arc<RemoteService>], rounds: &mut HashMap<String, Round>, work: &mut W) {
    for service in services {
        let Some(round) = rounds.get_mut(&service.name) else {
            let due = Due::At(Instant::now());
            rounds.insert(service.name.clone(), Round { service: service.clone(), due });
            continue;
        };
        if Arc::ptr_eq(&round.service, service) {
            continue;
        }
        if W::is_concerned(&round.service, service) {
            round.due = match round.due {
                Due::At(_) => Due::At(Instant::now()),
                Due::Running | Due::Again => Due::Again,
            };
        }
        round.service = service.clone();
    }
    if rounds.len() > services.len() {
        let present: std::collections::HashSet<&str> =
            services.iter().map(|service| service.name.as_str()).collect();
        rounds.retain(|name, _| {
            let is_present = present.contains(name.as_str());
            if !is_present {
                work.forget(name);
            }
            is_present
        });
    }
}

/// Starts up to `most` that are due, and returns when the next one is.
fn start_due(
    rounds: &mut HashMap<String, Round>,
    most: usize,
    mut start: impl FnMut(Arc<RemoteService>),
) -> Option<Instant> {
    let now = Instant::now();
    let mut next: Option<Instant> = None;
    let mut left = most;
    for round in rounds.values_mut() {
        let Due::At(due) = round.due else { continue };
        if due > now {
            next = Some(next.map_or(due, |next| next.min(due)));
        } else if left > 0 {
            left -= 1;
            round.due = Due::Running;
            start(round.service.clone());
        }
        // Those beyond the limit start when others end.
    }
    next
}

fn end<W: Work>(
    rounds: &mut HashMap<String, Round>,
    work: &mut W,
    service: &RemoteService,
    outcome: W::Outcome,
) {
    let Some(round) = rounds.get_mut(&service.name) else { return };
    let pause = work.finish(service, outcome);
    let is_due_again = round.due == Due::Again;
    round.due = Due::At(Instant::now() + if is_due_again { Duration::ZERO } else { pause });
}

async fn sleep_until(next: Option<Instant>) {
    match next {
        Some(next) => tokio::time::sleep_until(next).await,
        None => std::future::pending().await,
    }
}
