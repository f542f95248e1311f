//! `apiserver storage check`: reads a whole store, and decodes every value as a server does.

use std::collections::HashMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;

use bytes::Bytes;
use parking_lot::Mutex;
use registry_core::api::{GroupResource, Object};
use registry_core::codec::{DecodeError, Limits, cbor, protobuf, stored};
use registry_core::registry::StorageMap;
use registry_core::registry::storage_map::OpenStorage;
use registry_core::resource::Versions;
use registry_core::storage::embedded::Embedded;
use registry_core::storage::embedded::maintenance::Report;
use registry_core::storage::transfer::Source;
use registry_core::storage::transform::{Identity, Transformer as _};
use registry_core::storage::versioned::VersionedStore;
use registry_core::storage::{AttributesOf as _, CanonicalForm, Interface, StorageError};

use crate::encryption::{Encryption, Services};
use crate::options::{Options, StoreLocation};
use crate::server::error::ServerError;

use super::error::CommandError;
use super::moving::{etcd_source, runtime, store_in, with_slash};

/// Beginning of encrypted values.
const ENCRYPTED: &[u8] = b"k8s:enc:";
/// Maximum number of damaged values in a report.
const MAX_PROBLEMS: usize = 1_000;

/// The kinds of a server, by the prefixes of their keys.
struct Kinds {
    engine: Arc<Embedded>,
    prefix: String,
    found: Mutex<HashMap<String, Arc<Versions>>>,
}

/// Decodes values.
struct Decoder {
    prefix: String,
    kinds: HashMap<String, Arc<Versions>>,
    /// The resources of other kinds, which are custom.
    custom: HashMap<String, GroupResource>,
    encryption: Option<Arc<Encryption>>,
    decoded: u64,
    encrypted: u64,
}

/// A value cannot be read.
#[derive(Debug, thiserror::Error)]
enum Unreadable {
    #[error("it cannot be decrypted: {0}")]
    Decryption(#[from] registry_core::storage::transform::TransformError),
    #[error("{0}")]
    Value(#[from] registry_core::storage::InvalidValue),
    #[error("it is not a JSON object: {0}")]
    Json(#[from] DecodeError),
    #[error("it is not a CBOR object: {0}")]
    Cbor(DecodeError),
    #[error("it is CBOR, but not an object")]
    OtherCbor,
    #[error("it is the object {0:?}, which belongs to another key")]
    OtherName(String),
}

/// Reads a whole store and decodes its values, and reports what is damaged. Changes nothing.
///
/// # Errors
/// Fails if the store cannot be read, or is damaged.
pub(super) fn check(
    from: &StoreLocation,
    prefix: Option<&str>,
    options: &Options,
    maps: &[&'static StorageMap],
) -> Result<(), CommandError> {
    let runtime = runtime()?;
    let prefix = with_slash(prefix, options);
    let (mut source, mut lines, mut problems) = match from {
        StoreLocation::Embedded(directory) => {
            let directory = store_in(directory);
            let (source, report) = Source::embedded_to_check(&directory, &prefix)?;
            (source, summary(&directory, &report), report.problems)
        }
        StoreLocation::Etcd(servers) => {
            let source = runtime.block_on(etcd_source(servers, &prefix, options))?;
            let line = format!("{from}: revision {}\n", source.revision());
            (source, line, Vec::new())
        }
    };
    let decoder = runtime.block_on(async {
        let mut decoder = Decoder::new(prefix, options, maps).await?;
        decoder.read_all(&mut source, &mut problems).await?;
        Ok::<_, CommandError>(decoder)
    })?;
    // Writing to a string cannot fail.
    let _ = writeln!(lines, "{} values decoded", decoder.decoded);
    if decoder.encrypted > 0 {
        let _ = writeln!(
            lines,
            "encrypted values that were not decoded: {}; give --encryption-provider-config",
            decoder.encrypted
        );
    }
    super::print(lines)?;
    if problems.is_empty() { Ok(()) } else { Err(CommandError::Damaged(problems)) }
}

// === impl Kinds ===

impl OpenStorage for Kinds {
    fn open(&self, versions: &Arc<Versions>) -> Result<Arc<dyn Interface>, StorageError> {
        let prefix = format!("{}/{}/", self.prefix, versions.hub().storage_prefix);
        self.found.lock().insert(prefix, versions.clone());
        let engine = self.engine.clone();
        Ok(Arc::new(VersionedStore::new(engine, Arc::new(Identity), versions.clone())))
    }

    fn prefix(&self) -> &str {
        &self.prefix
    }
}

// === impl Decoder ===

impl Decoder {
    async fn new(
        prefix: String,
        options: &Options,
        maps: &[&'static StorageMap],
    ) -> Result<Self, CommandError> {
        let kinds = Kinds {
            engine: Embedded::in_memory(),
            prefix: prefix.trim_end_matches('/').to_owned(),
            found: Mutex::default(),
        };
        for map in maps.iter().copied().chain([crate::builtin_storage_map()]) {
            map.install(&kinds, &|_| true).map_err(ServerError::from)?;
        }
        let encryption = match &options.encryption.encryption_provider_config {
            Some(path) => {
                // Whether the server may use the services is not the question.
                let services = Services { kms_v1: true, ..Services::default() };
                let loaded = Encryption::load(path, false, services).await;
                Some(loaded.map_err(ServerError::from)?)
            }
            None => None,
        };
        let kinds = kinds.found.into_inner();
        Ok(Self { prefix, kinds, custom: HashMap::new(), encryption, decoded: 0, encrypted: 0 })
    }

    async fn read_all(
        &mut self,
        source: &mut Source,
        problems: &mut Vec<String>,
    ) -> Result<(), CommandError> {
        let mut damaged = 0;
        loop {
            let page = source.next_page().await?;
            if page.is_empty() {
                break;
            }
            for key in page {
                let Err(reason) = self.read(&key.key, key.value).await else { continue };
                damaged += 1;
                if damaged <= MAX_PROBLEMS {
                    problems.push(format!("{}: {reason}", key.key));
                }
            }
        }
        if damaged > MAX_PROBLEMS {
            problems.push(format!("and {} more values", damaged - MAX_PROBLEMS));
        }
        Ok(())
    }

    async fn read(&mut self, key: &str, stored: Bytes) -> Result<(), Unreadable> {
        if self.encryption.is_none() && stored.starts_with(ENCRYPTED) {
            self.encrypted += 1;
            return Ok(());
        }
        let versions = self.kind(key);
        let resource = match &versions {
            Some(versions) => Some(versions.hub().group_resource()),
            None => self.custom_resource(key),
        };
        let plain = match (&self.encryption, resource) {
            (Some(encryption), Some(resource)) => {
                encryption.transformer(resource).from_storage(stored, key).await?
            }
            _ => Identity.from_storage(stored, key).await?,
        };
        // The whole object, as a request for it decodes it.
        let object = match &versions {
            None => custom_object(&plain.value)?,
            Some(versions) => {
                let shown = match versions.canonical(&plain.value)? {
                    CanonicalForm::Same => plain.value,
                    CanonicalForm::Other(other) => other,
                    CanonicalForm::Awaited(converting) => converting.await?,
                };
                versions.attributes_of(&shown)?;
                stored::decode(&shown)?
            }
        };
        let name = key.rsplit_once('/').map_or(key, |(_, name)| name);
        if !object.name().is_empty() && object.name() != name {
            return Err(Unreadable::OtherName(object.name().to_owned()));
        }
        self.decoded += 1;
        Ok(())
    }

    /// Returns the kind of a key: that with the longest prefix.
    fn kind(&self, key: &str) -> Option<Arc<Versions>> {
        let ends = key.rmatch_indices('/').map(|(at, _)| at + 1);
        ends.into_iter().find_map(|end| self.kinds.get(key.get(..end)?)).cloned()
    }

    /// Returns the resource of a key that begins with the group and the plural of a custom one.
    fn custom_resource(&mut self, key: &str) -> Option<GroupResource> {
        let mut parts = key.strip_prefix(&self.prefix)?.splitn(3, '/');
        let (group, resource, _) = (parts.next()?, parts.next()?, parts.next()?);
        let known = self.custom.entry(format!("{group}/{resource}"));
        // Lives as long as the process, as the description of a kind that is compiled in: a few bytes for each resource.
        let leaked = |text: &str| -> &'static str { Box::leak(text.to_owned().into_boxed_str()) };
        Some(*known.or_insert_with(|| GroupResource { group: leaked(group), resource: leaked(resource) }))
    }
}

/// Returns the line about the contents of a store, or of the backup of one.
pub(super) fn summary(path: &Path, report: &Report) -> String {
    format!(
        "{}: {} keys in {} records of {} bytes, revision {}, history from revision {}\n",
        path.display(),
        report.keys,
        report.records,
        report.record_bytes,
        report.revision,
        report.compacted_revision,
    )
}

/// Decodes a custom resource, which is stored as JSON or CBOR.
fn custom_object(value: &[u8]) -> Result<Object, Unreadable> {
    if !value.starts_with(cbor::MAGIC) {
        return Ok(stored::decode(value)?);
    }
    let limits = Limits { depth: protobuf::STORED_DEPTH, ..Limits::default() };
    let decoded = cbor::decode(value, &limits).map_err(Unreadable::Cbor)?;
    Object::from_value(decoded).map_err(|_| Unreadable::OtherCbor)
}
