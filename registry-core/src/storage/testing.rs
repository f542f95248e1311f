//! The conformance suite every backend and decorator passes, and what it takes to run it.
//!
//! | part | what it is |
//! |---|---|
//! | [`conformance()`] | every guarantee of [`Interface`], against any store |
//! | [`contract()`] | every promise of [`Mvcc`], against any engine |
//! | [`fault_tolerance()`] | the store over a [`FaultyMvcc`]: what happens equals what was told |
//! | [`FaultyMvcc`] | an engine that fails, dawdles, and commits without saying so |
//! | [`Hooked`] | an engine to which a test does what it likes |
//! | `etcd` | a real etcd for one test binary (feature `etcd3`) |
//! | [`Widget`] | the tiny resource all of this is about |
//!
//! A suite runs its checks side by side, each under keys of its own, and reports every one that fails.
#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "test code: a broken expectation is a failed test"
)]

use std::panic::AssertUnwindSafe;
use std::sync::Arc;
use std::time::Duration;

use futures::FutureExt as _;
use futures::future::BoxFuture;

use super::interface::Interface;
use super::mvcc::Mvcc;
use super::transform::Identity;
use super::versioned::VersionedStore;

mod conformance;
mod contract;
#[cfg(feature = "etcd3")]
pub mod etcd;
mod faults;
mod faulty;
mod hooked;
mod watcher;
mod widget;

pub use faults::fault_tolerance;
pub use faulty::{FaultPlan, Faults, FaultyMvcc};
pub use hooked::{Call, EngineHooks, Hooked, NoProgress};
pub use watcher::Watcher;
pub use widget::{Widget, WidgetAttributes};

/// How long one check may take.
const CHECK_TIMEOUT: Duration = Duration::from_mins(1);

/// What a check of the store works on.
#[derive(Clone)]
pub struct Fixture {
    /// The store under test, serving [`Widget`]s.
    pub store: Arc<dyn Interface>,
    /// The engine below it (below all decorators), for compaction and for looking at what is at rest.
    pub engine: Arc<dyn Mvcc>,
    /// The keys of this check, with a trailing `/`. The store is empty below it.
    pub prefix: String,
}

/// What a check of the engine works on.
#[derive(Clone)]
pub struct EngineFixture {
    /// The engine under test.
    pub engine: Arc<dyn Mvcc>,
    /// The keys of this check, with a trailing `/`. The engine is empty below it.
    pub prefix: String,
}

/// One behaviour, by name.
type Check<F> = (&'static str, fn(F) -> BoxFuture<'static, ()>);

/// Makes a `Check` of each async function named.
macro_rules! checks {
    ($($module:ident :: $name:ident),* $(,)?) => {
        &[$((concat!(stringify!($module), "::", stringify!($name)), |fixture| Box::pin($module::$name(fixture)))),*]
    };
}
use checks;

/// A store of widgets over an engine, nothing encrypted.
pub fn widget_store(engine: Arc<dyn Mvcc>) -> Arc<dyn Interface> {
    Arc::new(VersionedStore::new(engine, Arc::new(Identity), Arc::new(WidgetAttributes)))
}

/// Checks every guarantee of [`Interface`]. `make` is given a prefix no other check uses and makes the store
/// that serves it, with the engine below. The engine may be shared by all of them.
///
/// # Panics
/// When a check fails, after all have run, with the names and reasons of those that did.
pub async fn conformance<M, F>(make: M)
where
    M: Fn(String) -> F,
    F: Future<Output = Fixture>,
{
    run("conformance", conformance::CHECKS, &make, false).await;
    // These make the engine forget, which all stores on it feel.
    run("compaction", conformance::SERIAL_CHECKS, &make, true).await;
}

/// Checks every promise of [`Mvcc`]. `make` is given a prefix no other check uses, and may give the same engine
/// each time.
///
/// # Panics
/// When a check fails, after all have run, with the names and reasons of those that did.
pub async fn contract<M, F>(make: M)
where
    M: Fn(String) -> F,
    F: Future<Output = EngineFixture>,
{
    run("contract", contract::CHECKS, &make, false).await;
    run("compaction-contract", contract::SERIAL_CHECKS, &make, true).await;
}

async fn run<T, M, F>(suite: &str, checks: &[Check<T>], make: &M, one_by_one: bool)
where
    M: Fn(String) -> F,
    F: Future<Output = T>,
{
    let mut running = Vec::new();
    for (name, check) in checks {
        let fixture = make(format!("/orlop-test/{}/{name}/", uuid::Uuid::new_v4())).await;
        let checked = bounded(check(fixture));
        running.push((*name, if one_by_one { ready(checked.await) } else { tokio::spawn(checked) }));
    }
    let mut failures = Vec::new();
    for (name, task) in running {
        let outcome = task.await.unwrap_or_else(|error| Err(error.to_string()));
        if let Err(reason) = outcome {
            failures.push(format!("{name}: {reason}"));
        }
    }
    let failed = failures.len();
    let total = checks.len();
    assert!(failures.is_empty(), "{failed} of {total} checks of {suite} failed:\n{}", failures.join("\n"));
}

fn ready(outcome: Result<(), String>) -> tokio::task::JoinHandle<Result<(), String>> {
    tokio::spawn(std::future::ready(outcome))
}

/// Runs a check to its end, its panic or its time.
async fn bounded(check: BoxFuture<'static, ()>) -> Result<(), String> {
    match tokio::time::timeout(CHECK_TIMEOUT, AssertUnwindSafe(check).catch_unwind()).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(panic)) => Err(panic
            .downcast_ref::<String>()
            .cloned()
            .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()))
            .unwrap_or_else(|| "panicked".to_owned())),
        Err(_) => Err(format!("not done after {} s", CHECK_TIMEOUT.as_secs())),
    }
}
