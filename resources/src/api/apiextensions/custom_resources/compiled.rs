//! The compiled schema of a version, made for the first request that needs it.
//!
//! Compiling a large schema with many rules takes up to a second. Requests therefore wait for the threads for blocking
//! work to do it ([`Preparation`]); a caller that did not wait compiles the schema where it is.

use std::fmt;
use std::sync::{Arc, OnceLock};

use async_trait::async_trait;
use registry_core::api::GroupVersionKind;
use registry_core::codec::{DecodeError, stored};
use registry_core::resource::{PrepareSchema, SchemaRules};
use registry_core::schema::Schema;
use registry_core::storage::StoredObject;
use resource_views::apiextensions::v1::CustomResourceDefinitionMut;
use serde_json::{Map, Value};
use tokio::sync::Semaphore;

use crate::api::apiextensions::customresourcedefinitions::is_structural;

/// Maximum number of schemas that are compiled at the same time. Further requests for other kinds wait without a thread.
const MAX_COMPILING: usize = 2;

/// The schemas that are being compiled. Clones share the limit.
#[derive(Clone, Debug)]
pub struct Compiling(Arc<Semaphore>);

/// Compiles the schemas that requests for a version need.
pub(super) struct Preparation {
    /// The version's, and those of the versions in which objects may be stored.
    pub(super) needed: Vec<Arc<Compiled>>,
    pub(super) compiling: Compiling,
}

/// The schema of a version, compiled on first use.
pub(super) struct Compiled {
    /// The definition, as the cache of definitions holds it.
    stored: StoredObject,
    kind: GroupVersionKind,
    preserve_unknown_fields: bool,
    made: OnceLock<CompiledSchema>,
}

/// The compiled schema of a version.
pub(super) struct CompiledSchema {
    /// For decoding, defaults and field management.
    pub(super) schema: Schema,
    /// For validation.
    pub(super) rules: SchemaRules,
    /// The failure because of which an expected schema is absent.
    pub(super) failure: Option<String>,
}

/// Error of a schema that the definition does not have.
#[derive(Debug, thiserror::Error)]
enum SchemaError {
    #[error(transparent)]
    Unreadable(#[from] DecodeError),
    #[error("the definition has no versions")]
    NoVersions,
    #[error("the definition does not have the version")]
    NoVersion,
}

// === impl Compiled ===

impl Compiled {
    /// Creates the schema of a version of a stored definition.
    pub(super) fn new(
        stored: StoredObject,
        kind: GroupVersionKind,
        preserve_unknown_fields: bool,
    ) -> Arc<Self> {
        Arc::new(Self { stored, kind, preserve_unknown_fields, made: OnceLock::new() })
    }

    /// Returns the schema. Requests that need it while it is compiled wait for it.
    pub(super) fn get(&self) -> &CompiledSchema {
        self.made.get_or_init(|| match self.read() {
            Ok(schema) => self.compile(&schema, None),
            Err(failure) => {
                let definition = &self.stored.key;
                tracing::error!(%definition, version = self.kind.version, %failure, "cannot read the schema");
                self.compile(&Value::Null, Some(failure.to_string()))
            }
        })
    }

    /// Returns the schema as it is written in the definition; `None` if the version has none, or one that is not structural.
    pub(super) fn published(&self) -> Option<Value> {
        let schema = self.read().ok()?;
        // Definitions that do not keep unknown fields have structural schemas only.
        if self.preserve_unknown_fields && !is_structural(&schema) {
            return None;
        }
        schema.as_object().is_some_and(|schema| !schema.is_empty()).then_some(schema)
    }

    /// Whether the schema was compiled.
    pub(super) fn is_made(&self) -> bool {
        self.made.get().is_some()
    }

    /// Reads the schema of the version from the definition. A version without a schema has an empty one.
    fn read(&self) -> Result<Value, SchemaError> {
        let mut definition = stored::decode(self.stored.json())?;
        let spec = CustomResourceDefinitionMut(&mut definition).spec().present();
        let mut spec = spec.ok_or(SchemaError::NoVersions)?;
        if !spec.versions().value().is_some_and(Value::is_array) {
            return Err(SchemaError::NoVersions);
        }
        let mut versions = spec.versions().elements();
        let own = versions.find_map(|mut version| version.name().is(self.kind.version).then_some(version));
        let mut own = own.ok_or(SchemaError::NoVersion)?;
        let schema = own.schema().present().and_then(|mut schema| schema.open_apiv3_schema().remove());
        Ok(schema.unwrap_or_else(|| Value::Object(Map::new())))
    }

    fn compile(&self, schema: &Value, failure: Option<String>) -> CompiledSchema {
        let compiled = Schema::for_custom_resource(schema, self.preserve_unknown_fields, self.kind);
        CompiledSchema {
            rules: SchemaRules::compile(schema, compiled.structural().cloned()),
            schema: compiled,
            failure,
        }
    }
}

// === impl Compiling ===

impl Default for Compiling {
    fn default() -> Self {
        Self(Arc::new(Semaphore::new(MAX_COMPILING)))
    }
}

// === impl Preparation ===

#[async_trait]
impl PrepareSchema for Preparation {
    fn is_prepared(&self) -> bool {
        self.needed.iter().all(|compiled| compiled.is_made())
    }

    async fn prepare(&self) {
        for compiled in &self.needed {
            let permit = self.compiling.0.clone().acquire_owned().await;
            if compiled.is_made() {
                continue;
            }
            let compiled = compiled.clone();
            let made = tokio::task::spawn_blocking(move || {
                compiled.get();
                drop(permit);
            });
            // A panic happens again where the schema is used, and is reported there.
            let _ = made.await;
        }
    }
}

impl fmt::Debug for Compiled {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        f.debug_struct("Compiled").field("kind", &self.kind).finish_non_exhaustive()
    }
}
