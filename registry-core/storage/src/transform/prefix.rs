//! Transformers by the prefix of the values that they write.
//!
//! Kubernetes concept: `prefixTransformers` in `k8s.io/apiserver/pkg/storage/value`.

use std::sync::Arc;

use async_trait::async_trait;
use bytes::Bytes;

use super::{Plain, TransformError, Transformer};

/// Several transformers: the first writes, and all of them read.
#[derive(Clone)]
pub struct PrefixTransformers {
    transformers: Vec<PrefixTransformer>,
    /// The error of a value with none of the prefixes.
    no_match: &'static str,
}

/// A transformer, and the prefix of its values.
#[derive(Clone)]
pub struct PrefixTransformer {
    /// The prefix; empty for values in plain form.
    pub prefix: String,
    /// The transformer of what follows it.
    pub transformer: Arc<dyn Transformer>,
}

/// A transformation, and the prefix of the transformer that was used.
pub struct Transformed<'p, T> {
    /// The prefix; `None` if the value has none that is known.
    pub prefix: Option<&'p str>,
    /// The result.
    pub result: Result<T, TransformError>,
}

// === impl PrefixTransformers ===

impl PrefixTransformers {
    /// Creates a transformer. Values that none of these have written fail with the error `no_match`.
    pub fn new(transformers: Vec<PrefixTransformer>, no_match: &'static str) -> Self {
        Self { transformers, no_match }
    }

    /// Adds transformers that only read.
    pub fn extend(&mut self, more: impl IntoIterator<Item = PrefixTransformer>) {
        self.transformers.extend(more);
    }

    /// Converts a value at rest into plain form. It is stale unless the first transformer wrote it.
    pub async fn read(&self, stored: &Bytes, context: &str) -> Transformed<'_, Plain> {
        let mut failures: Vec<TransformError> = Vec::new();
        let mut failed = None;
        for (number, PrefixTransformer { prefix, transformer }) in self.transformers.iter().enumerate() {
            if !stored.starts_with(prefix.as_bytes()) {
                continue;
            }
            match transformer.from_storage(stored.slice(prefix.len()..), context).await {
                Ok(Plain { value, stale }) => {
                    let plain = Plain { value, stale: stale || number > 0 };
                    return Transformed { prefix: Some(prefix), result: Ok(plain) };
                }
                // Another provider may have encrypted it.
                Err(_) if prefix.is_empty() => {}
                Err(failure) => {
                    failed = Some(prefix.as_str());
                    failures.push(failure);
                }
            }
        }
        let error = if failures.is_empty() {
            TransformError::NoPrefix(self.no_match)
        } else {
            TransformError::All(failures)
        };
        Transformed { prefix: failed, result: Err(error) }
    }

    /// Converts a plain value into the form at rest.
    pub async fn write(&self, plain: Bytes, context: &str) -> Transformed<'_, Bytes> {
        let Some(PrefixTransformer { prefix, transformer }) = self.transformers.first() else {
            return Transformed { prefix: None, result: Err(TransformError::NoPrefix(self.no_match)) };
        };
        let result = transformer.to_storage(plain, context).await;
        let result = result.map(|stored| match prefix.as_str() {
            "" => stored,
            prefix => [prefix.as_bytes(), &stored].concat().into(),
        });
        Transformed { prefix: Some(prefix), result }
    }
}

#[async_trait]
impl Transformer for PrefixTransformers {
    async fn from_storage(&self, stored: Bytes, context: &str) -> Result<Plain, TransformError> {
        self.read(&stored, context).await.result
    }

    async fn to_storage(&self, plain: Bytes, context: &str) -> Result<Bytes, TransformError> {
        self.write(plain, context).await.result
    }
}
