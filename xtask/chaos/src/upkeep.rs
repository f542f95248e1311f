//! The work of operators while servers run and faults happen: changes of certificates, keys, definitions and rights, and backups.
//!
//! A change counts when each server was seen to have it.

mod backup;

use std::collections::BTreeSet;
use std::path::PathBuf;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::Method;
use serde_json::Value;
use tokio::sync::watch;
use tokio::time::sleep;

use self::backup::Saved;
use crate::Failure;
use crate::client::{Client, Request};
use crate::cluster::Store;
use crate::history::{FaultRecord, Refused};
use crate::kinds::{DEFINITION, Kind, definition_for};
use crate::material;
use crate::recorder::{Recorder, Target};
use crate::rights::{self, ensure};
use crate::worker::Denial;

/// Time in which a server has to read a changed file.
const PATIENCE: Duration = Duration::from_mins(5);

/// The plural of the definition that is removed and made again.
const PLURAL: &str = "gadgets";

/// The metric with the hash of the encryption configuration in use.
const LOADED: &str = "apiserver_encryption_config_controller_last_config_info";

/// A change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// The serving certificate is replaced.
    RotateCertificate,
    /// ConfigMaps are encrypted with a new key: it is made known to all servers first, and used by them afterwards.
    RotateKeys,
    /// A definition of a custom resource is removed, with its objects, and made again.
    ReplaceDefinition,
    /// The rights of a client are revoked.
    RevokeRights,
    /// The embedded store is saved, and the backup is read.
    Backup,
}

/// Makes changes of a kind.
pub(crate) struct Upkeep {
    /// A client that no fault of a link affects.
    pub(crate) client: Client,
    pub(crate) servers: usize,
    /// The directory of the servers' files.
    pub(crate) directory: PathBuf,
    pub(crate) namespace: String,
    /// The program of the servers.
    pub(crate) program: PathBuf,
    pub(crate) targets: Arc<[Target]>,
    /// The scope with the writes of the client whose rights are revoked.
    pub(crate) scope: String,
    pub(crate) recorder: Arc<Recorder>,
    pub(crate) random: fastrand::Rng,
    pub(crate) stop: watch::Receiver<bool>,
}

// === impl Work ===

impl Work {
    const ALL: [Self; 5] = [
        Self::RotateCertificate,
        Self::RotateKeys,
        Self::ReplaceDefinition,
        Self::RevokeRights,
        Self::Backup,
    ];

    /// Returns what is done beside servers over a store. etcd is saved with its own tools.
    pub(crate) fn all_for(store: Store) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(move |work| *work != Self::Backup || store == Store::Embedded)
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::RotateCertificate => "rotate-certificate",
            Self::RotateKeys => "rotate-keys",
            Self::ReplaceDefinition => "replace-definition",
            Self::RevokeRights => "revoke-rights",
            Self::Backup => "backup",
        }
    }
}

// === impl Upkeep ===

impl Upkeep {
    /// Makes changes until the end of the round, and at least one.
    ///
    /// # Errors
    /// Fails if a server does not take a change over.
    pub(crate) async fn run(mut self, work: Work) -> Result<(), Failure> {
        loop {
            sleep(Duration::from_millis(self.random.u64(500..4000))).await;
            let mut start = self.recorder.now();
            match work {
                Work::RotateCertificate => self.rotate_certificate().await?,
                Work::RotateKeys => self.rotate_keys().await?,
                Work::ReplaceDefinition => self.replace_definition().await?,
                Work::RevokeRights => start = self.revoke_rights().await?,
                Work::Backup => self.save().await?,
            }
            let (end, fault) = (self.recorder.now(), work.name().to_owned());
            let record = FaultRecord { start, end, fault, target: "all".to_owned() };
            self.recorder.record(|history| history.faults.push(record));
            if work == Work::RevokeRights || *self.stop.borrow() {
                return Ok(());
            }
        }
    }

    async fn save(&self) -> Result<(), Failure> {
        let saved = Saved {
            program: &self.program,
            data_directory: self.directory.join("server-0"),
            directory: self.directory.join("backup"),
        };
        saved.save(&self.targets, &self.recorder).await
    }

    async fn rotate_certificate(&mut self) -> Result<(), Failure> {
        let certificate = material::write_certificate(&self.directory)?;
        let begun = Instant::now();
        for server in 0..self.servers {
            while self.client.certificate(server).await.ok().as_ref() != Some(&certificate) {
                if begun.elapsed() > PATIENCE {
                    return Err(format!("server-{server} does not present its new certificate").into());
                }
                sleep(Duration::from_millis(100)).await;
            }
        }
        Ok(())
    }

    async fn rotate_keys(&mut self) -> Result<(), Failure> {
        let mut keys = material::keys(&self.directory)?;
        keys.insert(1.min(keys.len()), material::new_key(&mut self.random));
        self.load_keys(&keys).await?;
        keys.swap(0, 1);
        self.load_keys(&keys).await
    }

    /// Writes the keys, and waits until each server has loaded them.
    async fn load_keys(&mut self, keys: &[String]) -> Result<(), Failure> {
        let mut before = BTreeSet::new();
        for server in 0..self.servers {
            before.extend(self.loaded(server, |_| true).await?);
        }
        material::write_keys(&self.directory, keys)?;
        for server in 0..self.servers {
            self.loaded(server, |loaded| !before.contains(loaded)).await?;
        }
        Ok(())
    }

    /// Returns the line of the metric that names the configuration in use, once it is as wanted.
    async fn loaded(
        &mut self,
        server: usize,
        is_wanted: impl Fn(&str) -> bool,
    ) -> Result<Option<String>, Failure> {
        let line = |body: &Value| {
            let line = body.as_str()?.lines().find(|line| line.starts_with(LOADED))?;
            line.split("hash=").last().map(str::to_owned)
        };
        let metrics = || Request::get("/metrics".to_owned());
        let reply = self
            .client
            .until(server, metrics, |reply| line(&reply.body).is_some_and(|line| is_wanted(&line)));
        Ok(line(&reply.await?.body))
    }

    /// Makes a definition and an object of it, removes the definition, and makes it again: the object must be gone.
    async fn replace_definition(&mut self) -> Result<(), Failure> {
        let server = self.random.usize(0..self.servers);
        let (group, definition) = definition_for(PLURAL, "Gadget");
        let name = format!("{DEFINITION}/{PLURAL}.{group}");
        let collection = format!("/apis/{group}/v1/namespaces/{}/{PLURAL}", self.namespace);
        let list = || Request::get(collection.clone());
        ensure(&mut self.client, DEFINITION, &definition).await?;
        self.client.until(server, list, is_list).await?;
        let entries = [("a".to_owned(), "b".to_owned())].into();
        let mut object = Kind::Widget.object(&self.namespace, "object", None, &entries);
        if let Some(kind) = object.get_mut("kind") {
            *kind = "Gadget".into();
        }
        let create = || Request::with_body(Method::POST, collection.clone(), object.clone());
        self.client.until(server, create, |reply| reply.is_success() || reply.status == 409).await?;
        let delete = || Request::with_body(Method::DELETE, name.clone(), serde_json::json!({}));
        self.client.until(server, delete, |reply| reply.status == 404).await?;
        ensure(&mut self.client, DEFINITION, &definition).await?;
        for server in 0..self.servers {
            let reply = self.client.until(server, list, is_list).await?;
            if reply.body.get("items").and_then(Value::as_array).is_none_or(|items| !items.is_empty()) {
                let text = format!("server-{server}: objects remain of a removed definition: {}", reply.body);
                self.recorder.record(|history| history.findings.push(text));
            }
        }
        self.client.until(server, delete, |reply| reply.status == 404).await?;
        Ok(())
    }

    /// Revokes the guest's rights, and notes the time from which on no write of it may succeed. Returns the time of the revocation.
    async fn revoke_rights(&mut self) -> Result<u64, Failure> {
        rights::revoke(&mut self.client, &self.namespace).await?;
        let revoked = self.recorder.now();
        rights::await_guest(&mut self.client, self.servers, &self.namespace, 403).await?;
        let refused = Refused { entry: Denial::WithoutRights.entry().to_owned(), since: self.recorder.now() };
        self.recorder.record(|history| {
            let scope = history.scopes.iter_mut().find(|scope| scope.name == self.scope);
            if let Some(scope) = scope {
                scope.refused.push(refused);
            }
        });
        Ok(revoked)
    }
}

/// Whether an answer is a list.
fn is_list(reply: &crate::client::Reply) -> bool {
    reply.is_success() && reply.body.get("items").is_some()
}
