//! The conformance suite that every backend and decorator passes, and the tools to run it.
//!
//! | part | purpose |
//! |---|---|
//! | [`conformance()`] | every guarantee of [`Interface`], against any store |
//! | [`contract()`] | every guarantee of [`Mvcc`], against any engine |
//! | [`fault_tolerance()`] | the store over a [`FaultyMvcc`]: the final state matches the reported results |
//! | [`FaultyMvcc`] | an engine that fails, delays, and commits without reporting it |
//! | [`Hooked`] | an engine whose calls a test can intercept |
//! | `etcd` | a real etcd for one test binary (feature `etcd3`) |
//! | [`Widget`] | the small resource that the suites use |
//!
//! A suite runs its checks concurrently, each with its own keys, and reports all that fail.
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

/// Timeout of a check.
const CHECK_TIMEOUT: Duration = Duration::from_mins(1);

/// The input of a check of the store.
#[derive(Clone)]
pub struct Fixture {
    /// The store under test, serving [`Widget`]s.
    pub store: Arc<dyn Interface>,
    /// The engine below all decorators, for compaction and for reading values at rest.
    pub engine: Arc<dyn Mvcc>,
    /// Key prefix of this check, with a trailing `/`. The store is empty below it.
    pub prefix: String,
}

/// The input of a check of the engine.
#[derive(Clone)]
pub struct EngineFixture {
    /// The engine under test.
    pub engine: Arc<dyn Mvcc>,
    /// Key prefix of this check, with a trailing `/`. The engine is empty below it.
    pub prefix: String,
}

/// A check with its name.
type Check<F> = (&'static str, fn(F) -> BoxFuture<'static, ()>);

/// Converts the named async functions into `Check`s.
macro_rules! checks {
    ($($module:ident :: $name:ident),* $(,)?) => {
        &[$((concat!(stringify!($module), "::", stringify!($name)), |fixture| Box::pin($module::$name(fixture)))),*]
    };
}
use checks;

/// Creates a store of widgets over an engine, without encryption.
pub fn widget_store(engine: Arc<dyn Mvcc>) -> Arc<dyn Interface> {
    Arc::new(VersionedStore::new(engine, Arc::new(Identity), Arc::new(WidgetAttributes)))
}

/// Checks every guarantee of [`Interface`]. `make` receives a prefix that no other check uses, and returns the store
/// that serves it, with the engine below. All checks may share the engine.
///
/// # Panics
/// Panics if a check fails, after all have run, with the names and reasons of those that failed.
pub async fn conformance<M, F>(make: M)
where
    M: Fn(String) -> F,
    F: Future<Output = Fixture>,
{
    run("conformance", conformance::CHECKS, &make, false).await;
    // These compact the engine, which affects all stores on it.
    run("compaction", conformance::SERIAL_CHECKS, &make, true).await;
}

/// Checks every guarantee of [`Mvcc`]. `make` receives a prefix that no other check uses, and may return the same
/// engine each time.
///
/// # Panics
/// Panics if a check fails, after all have run, with the names and reasons of those that failed.
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
        let outcome = task.await.unwrap_or_else(|error| Err(error.into()));
        if let Err(reason) = outcome {
            failures.push(format!("{name}: {reason}"));
        }
    }
    let failed = failures.len();
    let total = checks.len();
    assert!(failures.is_empty(), "{failed} of {total} checks of {suite} failed:\n{}", failures.join("\n"));
}

/// Failure of a check.
#[derive(Debug, thiserror::Error)]
enum CheckFailure {
    /// It panicked with this text.
    #[error("{0}")]
    Panicked(String),
    #[error("not done after {} s", CHECK_TIMEOUT.as_secs())]
    Late,
    /// Its task was stopped.
    #[error(transparent)]
    Stopped(#[from] tokio::task::JoinError),
}

fn ready(outcome: Result<(), CheckFailure>) -> tokio::task::JoinHandle<Result<(), CheckFailure>> {
    tokio::spawn(std::future::ready(outcome))
}

/// Runs a check until it ends, panics or times out.
async fn bounded(check: BoxFuture<'static, ()>) -> Result<(), CheckFailure> {
    match tokio::time::timeout(CHECK_TIMEOUT, AssertUnwindSafe(check).catch_unwind()).await {
        Ok(Ok(())) => Ok(()),
        Ok(Err(panic)) => {
            let text = panic
                .downcast_ref::<String>()
                .cloned()
                .or_else(|| panic.downcast_ref::<&str>().map(|text| (*text).to_owned()));
            Err(CheckFailure::Panicked(text.unwrap_or_else(|| "panicked".to_owned())))
        }
        Err(_) => Err(CheckFailure::Late),
    }
}
