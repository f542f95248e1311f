//! The keys that ConfigMaps are encrypted with, as operators change them: a new key is made known to all servers, then used, then all
//! objects are written again, and the old key is removed when neither an object nor the history needs it.

use std::collections::BTreeSet;
use std::time::{Duration, Instant};

use hyper::Method;
use serde_json::Value;
use tokio::time::sleep;

use super::{PATIENCE, Upkeep, Work, is_list};
use crate::client::{Reply, Request};
use crate::cluster::Store;
use crate::history::{Action, FaultRecord};
use crate::kinds::Kind;
use crate::recorder::{Target, witnessed};
use crate::{Failure, etcd, material};

/// The metric with the hash of the encryption configuration in use.
const LOADED: &str = "apiserver_encryption_config_controller_last_config_info";

/// All objects that are encrypted.
const ENCRYPTED: &str = "/api/v1/configmaps";

/// Time after which a write that began before a server used another key has ended, whatever fault there is.
const LONGEST_WRITE: Duration = Duration::from_secs(10);

/// Time after the end of the faults in which changes and bookmarks have shown the present revision to all witnesses.
const CALM: Duration = Duration::from_secs(30);

/// Pause before something is tried again.
const AGAIN: Duration = Duration::from_millis(100);

// === impl Upkeep ===

impl Upkeep {
    /// Removes the old key, if there is one that nothing needs, and lets all servers use a new one. Returns whether that was done, which
    /// it is not at the end of a round.
    pub(super) async fn rotate_keys(&mut self) -> Result<bool, Failure> {
        let start = self.recorder.now();
        let mut keys = material::keys(&self.directory)?;
        let removes = keys.len() > 1;
        if removes && !self.retire_key().await? {
            return Ok(false);
        }
        keys.truncate(1);
        keys.push(material::new_key(&mut self.random));
        self.load_keys(&keys).await?;
        if removes {
            for server in 0..self.servers {
                self.client.until(server, || Request::get(ENCRYPTED.to_owned()), is_list).await?;
            }
            let (end, fault) = (self.recorder.now(), Work::RemoveKeys.name().to_owned());
            let record = FaultRecord { start, end, fault, target: "all".to_owned() };
            self.recorder.record(|history| history.faults.push(record));
        }
        keys.swap(0, 1);
        self.load_keys(&keys).await?;
        self.key_used = Some(Instant::now());
        self.rewrite_all().await?;
        Ok(true)
    }

    /// Waits until nothing is encrypted with the old key: writes that began with it have ended, the objects are written again, and the
    /// history from before that is gone or read. Returns whether it came to that before the end of the round.
    async fn retire_key(&mut self) -> Result<bool, Failure> {
        if let Some(used) = self.key_used {
            sleep(LONGEST_WRITE.saturating_sub(used.elapsed())).await;
        }
        let revision = self.rewrite_all().await?;
        let mut stopped = None;
        loop {
            let witnessed = witnessed(&self.targets);
            // The embedded store keeps a number of revisions, however old they are. A watch that begins there ends with an error, and
            // its client lists.
            let is_gone =
                self.store == Store::Embedded || etcd::compact_any(&self.member_ports, witnessed).await;
            if witnessed >= revision && is_gone {
                return Ok(true);
            }
            let is_over = *self.stop.borrow();
            if is_over && stopped.get_or_insert_with(Instant::now).elapsed() > CALM {
                return Ok(false);
            }
            sleep(AGAIN).await;
        }
    }

    /// Writes all objects again. Returns the revision after that.
    async fn rewrite_all(&mut self) -> Result<u64, Failure> {
        let list = self.list_encrypted().await?;
        let items = list.get("items").and_then(Value::as_array).ok_or("a list without items")?;
        for item in items {
            let text = |path: &str| item.pointer(path).and_then(Value::as_str);
            let namespace = text("/metadata/namespace").ok_or("an object without a namespace")?;
            let name = text("/metadata/name").ok_or("an object without a name")?;
            let targets = self.targets.clone();
            let is_of_target = |target: &&Target| {
                target.kind == Kind::ConfigMap
                    && target.namespace == namespace
                    && target.names.iter().any(|known| known == name)
            };
            match targets.iter().find(is_of_target) {
                Some(target) => self.update(target, item).await?,
                None => self.replace(namespace, name, item).await?,
            }
        }
        let list = self.list_encrypted().await?;
        let revision = list.pointer("/metadata/resourceVersion").and_then(Value::as_str);
        Ok(revision.ok_or("a list without a revision")?.parse()?)
    }

    async fn list_encrypted(&mut self) -> Result<Value, Failure> {
        let server = self.random.usize(0..self.servers);
        let reply = self.client.until(server, || Request::get(ENCRYPTED.to_owned()), is_list).await?;
        Ok(reply.body)
    }

    /// Updates an object that the checks are about, as a client does, unless another write comes first.
    async fn update(&mut self, target: &Target, item: &Value) -> Result<(), Failure> {
        let (name, expected) = target.kind.read(item).ok_or("an object without a version")?;
        let path = format!("{}/{name}", target.collection());
        let revision = expected.revision.to_string();
        let is_other = |reply: &Reply| {
            let found = reply.body.pointer("/metadata/resourceVersion").and_then(Value::as_str);
            reply.status == 404 || (reply.is_success() && found != Some(&revision))
        };
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            let server = self.random.usize(0..self.servers);
            let entries = expected.entries.clone();
            let action = Action::Replace { expected: expected.clone(), entries, creates: false };
            if self.writer.write(target, server, &name, action, None).await.is_some() {
                return Ok(());
            }
            if self.client.request(server, Request::get(path.clone())).await.as_ref().is_ok_and(is_other) {
                return Ok(());
            }
            sleep(AGAIN).await;
        }
        Err(format!("{path} cannot be written with another key").into())
    }

    /// Replaces an object by itself, as `kubectl get` and `kubectl replace` do, unless another write comes first.
    async fn replace(&mut self, namespace: &str, name: &str, item: &Value) -> Result<(), Failure> {
        let mut object = item.clone();
        if let Some(object) = object.as_object_mut() {
            object.insert("apiVersion".to_owned(), "v1".into());
            object.insert("kind".to_owned(), "ConfigMap".into());
        }
        let path = format!("{}/{name}", Kind::ConfigMap.collection(namespace));
        let replace = || Request::with_body(Method::PUT, path.clone(), object.clone());
        let server = self.random.usize(0..self.servers);
        let is_written = |reply: &Reply| reply.is_success() || reply.status == 404 || reply.status == 409;
        self.client.until(server, replace, is_written).await.map(|_| ())
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
}
