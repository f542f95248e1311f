//! The work of operators while servers run and faults happen: changes of certificates, keys, definitions and rights, and backups.
//!
//! A change counts when each server was seen to have it.

mod backup;
mod keys;

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
use crate::worker::{Denial, Worker};

/// Time in which a server has to read a changed file.
const PATIENCE: Duration = Duration::from_mins(5);

/// The plural of the definition that is removed and made again.
const PLURAL: &str = "gadgets";

/// A change.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Work {
    /// The serving certificate is replaced.
    RotateCertificate,
    /// ConfigMaps are encrypted with a new key: it is made known to all servers first, and used by them afterwards.
    RotateKeys,
    /// The key before is removed, when all ConfigMaps were written with the new one and the history does not need it. A part of the next
    /// [`RotateKeys`](Self::RotateKeys).
    RemoveKeys,
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
    /// A client whose writes are recorded.
    pub(crate) writer: Worker,
    pub(crate) servers: usize,
    pub(crate) store: Store,
    /// The ports of the members of etcd.
    pub(crate) member_ports: Vec<u16>,
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
    /// The time since which all servers use their key, if this began in this round.
    pub(crate) key_used: Option<Instant>,
}

// === impl Work ===

impl Work {
    const ALL: [Self; 6] = [
        Self::RotateCertificate,
        Self::RotateKeys,
        Self::RemoveKeys,
        Self::ReplaceDefinition,
        Self::RevokeRights,
        Self::Backup,
    ];

    /// Returns what is done beside servers over a store. etcd is saved with its own tools.
    pub(crate) fn all_for(store: Store) -> impl Iterator<Item = Self> {
        Self::ALL.into_iter().filter(move |work| *work != Self::Backup || store == Store::Embedded)
    }

    /// Whether it is done by itself, and not as a part of other work.
    pub(crate) fn is_whole(self) -> bool {
        self != Self::RemoveKeys
    }

    /// Returns the number of rounds that it takes.
    pub(crate) fn needed_rounds(self) -> u64 {
        if self == Self::RemoveKeys { 2 } else { 1 }
    }

    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::RotateCertificate => "rotate-certificate",
            Self::RotateKeys => "rotate-keys",
            Self::RemoveKeys => "remove-keys",
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
                Work::RotateKeys if !self.rotate_keys().await? => return Ok(()),
                // A part of the work above.
                Work::RotateKeys | Work::RemoveKeys => {}
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
