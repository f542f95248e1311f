//! Follows the servers that run by their identity Leases, and asks each what it serves when it is new.
//!
//! A server that does not answer is asked again after a pause that grows. Until it answers, nothing is forwarded to it. This
//! server is ready when each that ran at its start has answered or failed once.

use std::collections::{BTreeMap, BTreeSet, HashMap};
use std::sync::Arc;
use std::time::Duration;

use futures::future::select_all;
use parking_lot::Mutex;
use registry_core::Resource as _;
use registry_core::api::Object;
use registry_core::backoff::Backoff;
use registry_core::registry::{Compiled, InformerTask, InstalledApi};
use registry_core::storage::Revision;
use resources::api::apiextensions::customresourcedefinitions::CustomResourceDefinitions;
use resources::api::coordination::leases::Leases;
use resources::bootstrap::{IDENTITY_LABEL, IDENTITY_NAMESPACE};
use serde_json::Value;
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::Instant;

use crate::discovery::PeerGroups;
use crate::health::Completion;

use super::super::remote_service::RemoteService;
use super::{Described, PeerError, Peers};

/// Maximum number of servers that are followed.
const MAX_SERVERS: usize = 64;
/// Maximum number of servers that are asked at once.
const MAX_RUNNING: usize = 4;
/// The pauses after failures.
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(500), Duration::from_mins(1));
/// Time after a change in which further changes are collected: nodes renew their Leases all the time.
const GATHER: Duration = Duration::from_millis(100);
/// For how long a group version that this server served by a definition or an extension server is left out after its end:
/// another server may not have seen it yet.
const GRACE_PERIOD: Duration = Duration::from_mins(5);

/// Learns what the other servers serve.
pub(super) struct Following {
    peers: Arc<Peers>,
    /// The identity of this server.
    own: String,
    leases: Arc<Compiled<ServerLease>>,
    /// The group versions of each definition.
    definitions: Option<Arc<Compiled<Vec<String>>>>,
    /// Those of all definitions that there were since the last look: some may be gone again.
    seen: Arc<Mutex<BTreeSet<String>>>,
    services: Option<Arc<Compiled<RemoteService>>>,
    /// Notes that all servers were asked.
    asked: Arc<Completion>,
}

/// The identity Lease of a server.
struct ServerLease {
    name: String,
    /// The name of the process.
    holder: String,
}

/// The other servers, as far as they are known.
#[derive(Default)]
struct State {
    servers: BTreeMap<String, Server>,
    /// The group versions that this server serves by definitions and extension servers.
    local: BTreeSet<String>,
    /// Those that it served until recently, with the time at which it stopped.
    ended: HashMap<String, Instant>,
}

struct Server {
    holder: String,
    /// `None` until it has answered.
    described: Option<Described>,
    question: Question,
    backoff: Backoff,
    /// Whether it has failed since it was asked for the first time.
    has_failed: bool,
}

#[derive(Clone, Copy, PartialEq, Eq)]
enum Question {
    Due(Instant),
    Asked,
    Answered,
}

// === impl Following ===

impl Following {
    /// Follows the servers of an installed API, with the informers that it needs; `None` if it has no Leases.
    pub(super) fn new(
        peers: Arc<Peers>,
        own: String,
        installed: &InstalledApi,
        services: Option<Arc<Compiled<RemoteService>>>,
        asked: Arc<Completion>,
    ) -> Option<(Self, Vec<InformerTask>)> {
        let store = installed.store(Leases::TYPE)?;
        let (leases, informer) = Compiled::informer(store, |lease| ServerLease::from_object(&lease));
        let mut informers = vec![informer.into_task()];
        let seen = Arc::<Mutex<BTreeSet<String>>>::default();
        let noted = seen.clone();
        let definitions = installed.store(CustomResourceDefinitions::TYPE).map(|store| {
            let (definitions, informer) = Compiled::informer(store, move |object| {
                let versions = versions_of(&object);
                noted.lock().extend(versions.iter().cloned());
                Some(versions)
            });
            informers.push(informer.into_task());
            definitions
        });
        Some((Self { peers, own, leases, definitions, seen, services, asked }, informers))
    }

    /// Runs until it is dropped.
    pub(super) async fn run(self) {
        self.wait_until_synced().await;
        let mut changes = self.subscribe();
        let mut state = State::default();
        let mut running = JoinSet::new();
        loop {
            changes.iter_mut().for_each(watch::Receiver::mark_unchanged);
            let now = Instant::now();
            let mut has_changed = state.note_servers(&self.leases.all(), &self.own, now);
            let seen = std::mem::take(&mut *self.seen.lock());
            has_changed |= state.note_local(self.local_versions(), seen, now);
            if has_changed {
                self.publish(&state);
            }
            if state.was_asked() {
                self.asked.complete();
            }
            for (name, holder) in state.ask(now, MAX_RUNNING.saturating_sub(running.len())) {
                let peers = self.peers.clone();
                running.spawn(async move {
                    let answer = peers.ask(&name).await;
                    (name, holder, answer)
                });
            }
            let change = select_all(changes.iter_mut().map(|change| Box::pin(change.changed())));
            tokio::select! {
                (change, ..) = change => if change.is_err() { return },
                Some(Ok((name, holder, answer))) = running.join_next() => {
                    if state.note_answer(&name, &holder, answer, Instant::now()) {
                        self.publish(&state);
                    }
                }
                () = sleep_until(state.next()) => {}
            }
            tokio::time::sleep(GATHER).await;
        }
    }

    async fn wait_until_synced(&self) {
        self.leases.wait_for(1).await;
        if let Some(definitions) = &self.definitions {
            definitions.wait_for(1).await;
        }
        if let Some(services) = &self.services {
            services.wait_for(1).await;
        }
    }

    fn subscribe(&self) -> Vec<watch::Receiver<Revision>> {
        let definitions = self.definitions.iter().map(|definitions| definitions.subscribe());
        let services = self.services.iter().map(|services| services.subscribe());
        std::iter::once(self.leases.subscribe()).chain(definitions).chain(services).collect()
    }

    /// Returns the group versions that this server serves by definitions and extension servers.
    fn local_versions(&self) -> BTreeSet<String> {
        let definitions = self.definitions.iter().flat_map(|definitions| definitions.all());
        let defined = definitions.flat_map(|versions| (*versions).clone());
        let services = self.services.iter().flat_map(|services| services.all());
        let remote = services.map(|service| format!("{}/{}", service.group, service.version));
        defined.chain(remote).collect()
    }

    fn publish(&self, state: &State) {
        let mut known = super::ServersByResource::new();
        let mut groups = PeerGroups { own: self.own.clone(), others: BTreeMap::new() };
        for (name, server) in &state.servers {
            let Some(described) = &server.described else { continue };
            groups.others.insert(name.clone(), described.named_groups());
            let name: Arc<str> = name.as_str().into();
            for (version, resources) in described.versions() {
                let known = known.entry(version).or_default();
                for resource in resources {
                    known.entry(resource.resource.clone()).or_default().push(name.clone());
                }
            }
        }
        self.peers.known.store(Arc::new(known));
        self.peers.served.publish_peers(groups);
    }
}

/// Returns the group versions of a definition, served or not.
fn versions_of(object: &Object) -> Vec<String> {
    let group = object.get_str(&["spec", "group"]).unwrap_or_default();
    let versions = object.get(&["spec", "versions"]).and_then(Value::as_array).into_iter().flatten();
    let names = versions.filter_map(|version| version.get("name")?.as_str());
    names.map(|name| format!("{group}/{name}")).collect()
}

async fn sleep_until(next: Option<Instant>) {
    match next {
        Some(next) => tokio::time::sleep_until(next).await,
        None => std::future::pending().await,
    }
}

// === impl ServerLease ===

impl ServerLease {
    fn from_object(lease: &Object) -> Option<Self> {
        let is_server =
            lease.namespace() == IDENTITY_NAMESPACE && lease.labels().any(|label| label == IDENTITY_LABEL);
        let holder = lease.get_str(&["spec", "holderIdentity"]).unwrap_or_default();
        (is_server && !holder.is_empty())
            .then(|| Self { name: lease.name().to_owned(), holder: holder.to_owned() })
    }
}

// === impl State ===

impl State {
    /// Notes the servers that run; returns whether one is gone that was known.
    fn note_servers(&mut self, leases: &[Arc<ServerLease>], own: &str, now: Instant) -> bool {
        let others = leases.iter().filter(|lease| lease.name != own).take(MAX_SERVERS);
        let others: BTreeMap<&str, &str> =
            others.map(|lease| (lease.name.as_str(), lease.holder.as_str())).collect();
        let before = self.servers.len();
        self.servers.retain(|name, _| others.contains_key(name.as_str()));
        let is_gone = self.servers.len() < before;
        for (name, holder) in others {
            let new = || Server {
                holder: String::new(),
                described: None,
                question: Question::Answered,
                backoff: BACKOFF,
                has_failed: false,
            };
            let server = self.servers.entry(name.to_owned()).or_insert_with(new);
            if server.holder != holder {
                holder.clone_into(&mut server.holder);
                server.question = Question::Due(now);
                server.backoff = BACKOFF;
                server.has_failed = false;
            }
        }
        is_gone
    }

    /// Notes the group versions that this server serves by definitions and extension servers, and those that it has served
    /// since the last look; returns whether another server was known to serve one.
    fn note_local(&mut self, local: BTreeSet<String>, mut seen: BTreeSet<String>, now: Instant) -> bool {
        self.ended.retain(|_, since| now.duration_since(*since) < GRACE_PERIOD);
        if local == self.local && seen.is_subset(&local) {
            return false;
        }
        seen.append(&mut self.local);
        let ended = seen.difference(&local).map(|version| (version.clone(), now));
        self.ended.extend(ended);
        seen.extend(local.iter().cloned());
        self.local = local;
        let described = self.servers.values_mut().filter_map(|server| server.described.as_mut());
        described.map(|described| described.remove(&seen)).fold(false, |any, removed| any | removed)
    }

    /// Whether each server has answered or failed.
    fn was_asked(&self) -> bool {
        self.servers.values().all(|server| server.question == Question::Answered || server.has_failed)
    }

    /// Returns up to `most` servers that are to be asked now, with the names of their processes.
    fn ask(&mut self, now: Instant, most: usize) -> Vec<(String, String)> {
        let due = self.servers.iter_mut().filter(|(_, server)| match server.question {
            Question::Due(at) => at <= now,
            Question::Asked | Question::Answered => false,
        });
        due.take(most)
            .map(|(name, server)| {
                server.question = Question::Asked;
                (name.clone(), server.holder.clone())
            })
            .collect()
    }

    /// Notes the answer of a process; returns whether what is known has changed.
    fn note_answer(
        &mut self,
        name: &str,
        holder: &str,
        answer: Result<Described, PeerError>,
        now: Instant,
    ) -> bool {
        let Some(server) = self.servers.get_mut(name).filter(|server| server.holder == holder) else {
            return false;
        };
        let answer = match answer {
            Ok(mut described) => {
                server.question = Question::Answered;
                described.remove(&self.local);
                described.remove(&self.ended.keys().cloned().collect());
                Some(described)
            }
            Err(error) => {
                if !server.has_failed {
                    tracing::warn!(server = name, "another server does not say what it serves: {error}");
                }
                server.has_failed = true;
                server.question = Question::Due(now + server.backoff.next_pause());
                None
            }
        };
        let has_changed = server.described != answer;
        server.described = answer;
        has_changed
    }

    /// Returns when the next server is to be asked.
    fn next(&self) -> Option<Instant> {
        let questions = self.servers.values().map(|server| server.question);
        questions
            .filter_map(|question| match question {
                Question::Due(at) => Some(at),
                Question::Asked | Question::Answered => None,
            })
            .min()
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn lease(name: &str, holder: &str) -> Arc<ServerLease> {
        Arc::new(ServerLease { name: name.to_owned(), holder: holder.to_owned() })
    }

    fn described(versions: &[&str]) -> Described {
        let mut described = Described::default();
        let versions: Vec<_> = versions
            .iter()
            .map(|version| json!({ "version": version, "resources": [{ "resource": "xs" }] }))
            .collect();
        let items = json!([{ "metadata": { "name": "g" }, "versions": versions }]);
        described.add(&json!({ "kind": "APIGroupDiscoveryList", "items": items })).unwrap();
        described
    }

    fn known(state: &State, name: &str) -> Option<Vec<String>> {
        let described = state.servers.get(name)?.described.as_ref()?;
        Some(described.versions().map(|(version, _)| version).collect())
    }

    #[test]
    fn each_process_is_asked_until_it_answers() {
        let mut state = State::default();
        let now = Instant::now();
        let leases = [lease("a", "a_1"), lease("own", "own_1")];
        assert!(!state.note_servers(&leases, "own", now));
        assert_eq!(state.ask(now, 4), [("a".to_owned(), "a_1".to_owned())]);
        assert!(state.ask(now, 4).is_empty(), "it is asked already");
        assert!(!state.was_asked());
        assert!(!state.note_answer("a", "a_1", Err(PeerError::Malformed), now));
        assert!(state.was_asked());
        assert!(state.ask(now, 4).is_empty(), "it is asked again after a pause");
        let later = state.next().unwrap();
        assert_eq!(state.ask(later, 4).len(), 1);
        assert!(state.note_answer("a", "a_1", Ok(described(&["v1"])), later));
        assert_eq!((known(&state, "a").unwrap(), state.next()), (vec!["g/v1".to_owned()], None));
        // The server is restarted.
        assert!(!state.note_servers(&[lease("a", "a_2")], "own", later));
        assert!(!state.note_answer("a", "a_1", Ok(described(&["v9"])), later), "a process that has ended");
        assert_eq!(state.ask(later, 4), [("a".to_owned(), "a_2".to_owned())]);
        assert!(state.note_answer("a", "a_2", Ok(described(&["v2"])), later));
        assert_eq!(known(&state, "a").unwrap(), ["g/v2"]);
        assert!(state.note_servers(&[], "own", later));
        assert_eq!(known(&state, "a"), None);
        assert!(state.was_asked(), "there is none");
    }

    #[test]
    fn versions_of_own_definitions_are_left_out_until_others_know_their_end() {
        let mut state = State::default();
        let now = Instant::now();
        let local = |versions: &[&str]| versions.iter().map(|version| (*version).to_owned()).collect();
        state.note_servers(&[lease("a", "a_1")], "own", now);
        state.note_answer("a", "a_1", Ok(described(&["v1", "v2"])), now);
        assert!(state.note_local(local(&["g/v1"]), local(&["g/v1"]), now));
        assert_eq!(known(&state, "a").unwrap(), ["g/v2"]);
        assert!(!state.note_local(local(&[]), local(&[]), now));
        state.note_answer("a", "a_1", Ok(described(&["v1", "v2"])), now);
        assert_eq!(known(&state, "a").unwrap(), ["g/v2"], "the other server may not have seen the end");
        state.note_local(local(&[]), local(&[]), now + GRACE_PERIOD);
        state.note_answer("a", "a_1", Ok(described(&["v1", "v2"])), now + GRACE_PERIOD);
        assert_eq!(known(&state, "a").unwrap(), ["g/v1", "g/v2"]);
        // A definition that came and went between two looks.
        assert!(state.note_local(local(&[]), local(&["g/v1"]), now + GRACE_PERIOD));
        assert_eq!(known(&state, "a").unwrap(), ["g/v2"]);
        state.note_answer("a", "a_1", Ok(described(&["v1", "v2"])), now + GRACE_PERIOD);
        assert_eq!(known(&state, "a").unwrap(), ["g/v2"]);
    }
}
