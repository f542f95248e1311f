//! A controller: reports the animals of each enclosure in its status.

use std::time::Duration;

use apiserver::ServerContext;
use serde_json::json;

use crate::zoo::enclosure::Enclosure;

/// Time before another attempt after a failure.
const RETRY_PERIOD: Duration = Duration::from_secs(1);

// ANCHOR: run
/// Runs until it is dropped.
pub(crate) async fn run(context: ServerContext) {
    let enclosures = context.own().in_namespace::<Enclosure>("").cached();
    let mut changes = enclosures.changes();
    enclosures.listed().await;
    loop {
        let mut has_failed = false;
        for enclosure in enclosures.all("") {
            has_failed |= report(&context, &enclosure).await.is_err();
        }
        if has_failed {
            tokio::time::sleep(RETRY_PERIOD).await;
        } else {
            changes.next().await;
        }
    }
}
// ANCHOR_END: run

// ANCHOR: report
/// Writes the status of an enclosure, unless it is up to date.
async fn report(context: &ServerContext, enclosure: &Enclosure) -> Result<(), ()> {
    let animals = enclosure.spec.animals;
    let phase = if animals > 0 { "Open" } else { "Closed" };
    let is_reported = enclosure
        .status
        .as_ref()
        .is_some_and(|status| status.animals == animals && status.phase.as_deref() == Some(phase));
    let metadata = &enclosure.metadata;
    let (Some(namespace), Some(name), false) = (&metadata.namespace, &metadata.name, is_reported) else {
        return Ok(());
    };
    let status = json!({ "status": { "animals": animals, "phase": phase } });
    let written = context.own().in_namespace::<Enclosure>(namespace).merge_status(name, &status).await;
    written.map(drop).map_err(|failure| tracing::warn!("cannot report {namespace}/{name}: {failure}"))
}
// ANCHOR_END: report
