//! Compacts old revisions once per interval, by one of the servers that share an etcd.
//!
//! The servers coordinate through a key: its version is the number of the round, its value the revision compacted
//! last. The server that increments the version compacts; the others learn the round that it began.
//!
//! Kubernetes concept: the etcd3 compactor; the same key, so that both servers can share one etcd.

use std::sync::Arc;
use std::time::Duration;

use etcd_client::{Compare, CompareOp, Txn, TxnOp, TxnOpResponse};

use crate::Revision;

use super::connection::{Connection, Safety};
use super::errors::Failure;
use super::{signed, unsigned};

/// The key through which compactors coordinate.
pub(super) const COMPACT_REVISION_KEY: &str = "compact_rev_key";

/// A compactor's knowledge of the last round.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq)]
struct Round {
    /// The key's version.
    number: i64,
    /// The newest revision when the round began, to which the next round may compact. 0 in the first round.
    revision: Revision,
}

/// Compacts once per interval, forever.
pub(super) async fn run(connection: Arc<Connection>, interval: Duration) {
    let mut round = Round::default();
    loop {
        tokio::time::sleep(interval).await;
        match next_round(&connection, round).await {
            Ok(next) => round = next,
            Err(failure) => tracing::warn!(%failure, "etcd could not be compacted"),
        }
    }
}

/// Compacts to `revision`.
pub(super) async fn compact(connection: &Connection, revision: Revision) -> Result<(), Failure> {
    connection
        .call(Safety::Read, || {
            // Compaction is idempotent.
            let mut kv = connection.kv();
            async move { kv.compact(signed(revision), None).await }
        })
        .await?;
    Ok(())
}

/// Begins a round and compacts, unless another server has begun it.
async fn next_round(connection: &Connection, round: Round) -> Result<Round, Failure> {
    let agree = Txn::new()
        .when([Compare::version(COMPACT_REVISION_KEY, CompareOp::Equal, round.number)])
        .and_then([TxnOp::put(COMPACT_REVISION_KEY, round.revision.to_string(), None)])
        .or_else([TxnOp::get(COMPACT_REVISION_KEY, None)]);
    let response = connection
        .call(Safety::Write, || {
            let mut kv = connection.kv();
            let agree = agree.clone();
            async move { kv.txn(agree).await }
        })
        .await?;
    let revision = response.header().map_or(0, |header| unsigned(header.revision()));
    if !response.succeeded() {
        let number = match response.op_responses().pop() {
            Some(TxnOpResponse::Get(present)) => {
                present.kvs().first().map_or(0, etcd_client::KeyValue::version)
            }
            _ => 0,
        };
        return Ok(Round { number, revision });
    }
    if round.revision > 0 {
        match compact(connection, round.revision).await {
            Ok(()) => tracing::debug!(revision = round.revision, "compacted etcd"),
            Err(Failure::Compacted) => {}
            Err(failure) => tracing::warn!(%failure, "etcd could not be compacted"),
        }
    }
    Ok(Round { number: round.number + 1, revision })
}
