//! Schemas that take long to compile.

use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};

use async_trait::async_trait;

use crate::schema::Schema;

use super::super::{PrepareSchema, SchemaSource};

/// A preparation that takes a turn of the runtime.
#[derive(Default)]
struct Later(AtomicBool);

/// Returns a source of a schema that callers must [prepare](SchemaSource::prepare) before they use it.
///
/// # Panics
/// The source panics if it is used before.
pub fn prepared_later(schema: impl Fn() -> Schema + Send + Sync + 'static) -> SchemaSource {
    let preparation = Arc::new(Later::default());
    let at_use = preparation.clone();
    let compiled = move || {
        assert!(at_use.is_prepared(), "the schema is compiled by the thread that needs it");
        schema()
    };
    SchemaSource::new(compiled).with_preparation(preparation)
}

#[async_trait]
impl PrepareSchema for Later {
    fn is_prepared(&self) -> bool {
        self.0.load(Ordering::Relaxed)
    }

    async fn prepare(&self) {
        tokio::task::yield_now().await;
        self.0.store(true, Ordering::Relaxed);
    }
}
