//! A round: clients and reflectors on new objects, faults meanwhile, and then the checks of all that was recorded.

use std::collections::{BTreeMap, BTreeSet};
use std::path::Path;
use std::sync::Arc;
use std::time::{Duration, Instant};

use hyper::Method;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::Failure;
use crate::check::{self, Verdict, Violation};
use crate::client::{Client, Reply, Request};
use crate::cluster::{Cluster, Store};
use crate::faults::Injector;
use crate::history::{
    Action, Answer, Asked, Change, Entries, FaultRecord, Goal, History, PatchForm, Refused, Scope,
};
use crate::kinds::{DEFINITION, Kind, TIME_TO_LIVE, definition};
use crate::recorder::{Recorder, Target};
use crate::reflector::{End, Reflector};
use crate::rights;
use crate::upkeep::{Upkeep, Work};
use crate::worker::{Denial, Lister, Worker};

/// The number of the client of the round itself, beside which the numbers of others are small.
const OWN: usize = 1000;

/// Maximum number of ConfigMaps in the namespace with a quota.
const QUOTA: usize = 4;

/// Number of reflectors of each collection. The first one is the witness.
const REFLECTORS: usize = 3;

/// Time in which reflectors reach the end after the last fault, and the round's own requests succeed.
const PATIENCE: Duration = Duration::from_mins(5);

/// The configuration of a round.
#[derive(Clone, Copy, Debug)]
pub(crate) struct Plan<'a> {
    pub(crate) seed: u64,
    pub(crate) number: u64,
    /// The number of the last round.
    pub(crate) rounds: u64,
    /// Whether the history is kept although no promise is broken.
    pub(crate) keeps: bool,
    pub(crate) clients: usize,
    pub(crate) seconds: u64,
    /// The directory in which the history of a failed round is kept.
    pub(crate) output: &'a Path,
}

/// The result of a round.
#[derive(Debug, Default)]
pub(crate) struct Outcome {
    pub(crate) operations: usize,
    /// Writes whose outcome is unknown.
    pub(crate) unknown: usize,
    pub(crate) events: usize,
    pub(crate) watches: usize,
    /// Objects that the server deleted after their time to live.
    pub(crate) expired: usize,
    /// Lists of reflectors that follow lost history.
    pub(crate) relists: usize,
    pub(crate) faults: usize,
    /// The changes that were made while there were faults, by their names.
    pub(crate) changes: BTreeMap<&'static str, u64>,
    /// The longest time from the end of a revocation until each server acted on it.
    pub(crate) revoked: Duration,
    /// Writes that had to be refused, and were.
    pub(crate) refused: usize,
    /// Requests without a usable answer, by their reason.
    pub(crate) failed: BTreeMap<String, u64>,
    pub(crate) violations: Vec<Violation>,
    /// The scopes and objects that could be checked only in part, with the reason.
    pub(crate) in_part: Vec<String>,
}

/// The round while it runs.
struct Round<'a> {
    plan: Plan<'a>,
    servers: usize,
    recorder: Arc<Recorder>,
    targets: Arc<[Target]>,
    /// A client that no fault of a link affects.
    client: Client,
}

/// Runs a round.
///
/// # Errors
/// Fails if a process ended by itself, or something does not work although there is no fault at present.
pub(crate) async fn run(
    plan: Plan<'_>,
    cluster: &mut Cluster,
    injector: &mut Injector,
) -> Result<Outcome, Failure> {
    let namespaces = [format!("chaos-{}", plan.number), format!("quota-{}", plan.number)];
    let [free, limited] = &namespaces;
    let mut targets = [
        Target::new(Kind::ConfigMap, free, 6).with_denials(),
        Target::new(Kind::ConfigMap, limited, 8),
        Target::new(Kind::Widget, free, 4),
        Target::new(Kind::Service, free, 8),
        Target::new(Kind::Lease, free, 4),
        Target::new(Kind::Event, free, 1),
    ];
    let mut round = Round {
        plan,
        servers: cluster.network.clients.len(),
        recorder: Arc::new(Recorder::new()),
        targets: Arc::from([]),
        client: cluster.network.direct_client()?,
    };
    round.prepare(&namespaces, &mut targets).await?;
    round.targets = Arc::from(targets);
    round.disturb(cluster, injector).await?;
    round.remove_all().await?;
    let (history, failed) = round.recorder.take();
    let mut outcome = Outcome::new(&history, failed);
    Verdict { violations: outcome.violations, in_part: outcome.in_part } = check::check(&history);
    if plan.keeps || !outcome.violations.is_empty() {
        let name = format!("{}-seed-{}-round-{}.jsonl", cluster.store.name(), plan.seed, plan.number);
        let path = plan.output.join(name);
        history.write(&path)?;
        println!("the history is kept: cargo xtask chaos --replay {}", path.display());
    }
    Ok(outcome)
}

// === impl Outcome ===

impl Outcome {
    pub(crate) fn new(history: &History, failed: BTreeMap<String, u64>) -> Self {
        let is_unknown = |write: &&crate::history::Write| matches!(write.answer, Answer::Unknown { .. });
        let is_relist = |list: &&crate::history::List| matches!(list.asked, Asked::NotOlderThan { .. });
        let of_reflector = |list: &&crate::history::List| (OWN / 2..OWN).contains(&list.client);
        Self {
            operations: history.operations(),
            unknown: history.writes.iter().filter(is_unknown).count(),
            events: history.watches.iter().map(|watch| watch.events.len()).sum(),
            watches: history.watches.len(),
            relists: history.lists.iter().filter(is_relist).filter(of_reflector).count(),
            expired: expired(history),
            faults: history.faults.len(),
            changes: changes(history),
            revoked: revoked(history),
            refused: refused(history),
            failed,
            violations: Vec::new(),
            in_part: Vec::new(),
        }
    }
}

fn changes(history: &History) -> BTreeMap<&'static str, u64> {
    let mut changes = BTreeMap::new();
    for fault in &history.faults {
        if let Some(work) = Work::all_for(Store::Embedded).find(|work| work.name() == fault.fault) {
            *changes.entry(work.name()).or_default() += 1;
        }
    }
    changes
}

fn revoked(history: &History) -> Duration {
    let is_revocation = |fault: &&FaultRecord| fault.fault == Work::RevokeRights.name();
    let times = history.faults.iter().filter(is_revocation).map(|fault| fault.end - fault.start);
    Duration::from_nanos(times.max().unwrap_or_default())
}

fn refused(history: &History) -> usize {
    let entries = [Denial::ByPolicy, Denial::WithoutRights].map(Denial::entry);
    let is_denied = |write: &&crate::history::Write| {
        let own = write.id.to_string();
        let written = write.action.entries();
        let has = |entry: &&str| written.is_some_and(|written| written.get(*entry) == Some(&own));
        matches!(write.answer, Answer::Rejected { .. }) && entries.iter().any(has)
    };
    history.writes.iter().filter(is_denied).count()
}

/// Returns the number of objects whose deletion after their time to live was delivered.
fn expired(history: &History) -> usize {
    let scopes = history.scopes.iter().filter(|scope| scope.time_to_live.is_some());
    let watches = scopes.flat_map(|scope| history.watches.iter().filter(|watch| watch.scope == scope.name));
    let deleted = watches.flat_map(|watch| &watch.events).filter(|event| event.change == Change::Deleted);
    deleted.map(|event| event.revision).collect::<BTreeSet<_>>().len()
}

// === impl Round ===

impl Round<'_> {
    /// Creates the namespaces, the quota and the definition of the custom resource, and waits until each server has them.
    async fn prepare(&mut self, namespaces: &[String; 2], targets: &mut [Target]) -> Result<(), Failure> {
        rights::ensure(&mut self.client, DEFINITION, &definition()).await?;
        for namespace in namespaces {
            let object =
                json!({ "apiVersion": "v1", "kind": "Namespace", "metadata": { "name": namespace } });
            rights::ensure(&mut self.client, "/api/v1/namespaces", &object).await?;
        }
        let [free, limited] = namespaces;
        let quotas = format!("/api/v1/namespaces/{limited}/resourcequotas");
        let hard = json!({ "count/configmaps": QUOTA.to_string() });
        let quota = json!({
            "apiVersion": "v1", "kind": "ResourceQuota", "metadata": { "name": "few" }, "spec": { "hard": hard },
        });
        rights::ensure(&mut self.client, &quotas, &quota).await?;
        let has_usage = |body: &Value| body.pointer("/status/used").is_some();
        self.await_all(&format!("{quotas}/few"), has_usage).await?;
        rights::deny(&mut self.client, self.servers, free).await?;
        rights::grant(&mut self.client, self.servers, free).await?;
        for target in targets {
            let body = self.await_all(&target.collection(), |_| true).await?;
            let revision = body.pointer("/metadata/resourceVersion").and_then(Value::as_str);
            target.from = revision.ok_or("a list without a revision")?.parse()?;
            let quota = (target.namespace == *limited).then_some(QUOTA);
            let time_to_live = (target.kind == Kind::Event).then_some(TIME_TO_LIVE.as_nanos());
            let time_to_live = time_to_live.and_then(|time| u64::try_from(time).ok());
            let denied = Refused { entry: Denial::ByPolicy.entry().to_owned(), since: self.recorder.now() };
            let refused = if target.has_denials { vec![denied] } else { Vec::new() };
            let scope = Scope { name: target.scope.clone(), quota, from: target.from, time_to_live, refused };
            self.recorder.record(|history| history.scopes.push(scope));
        }
        Ok(())
    }

    /// Waits until each server answers this path with a body that is as wanted, and returns the last one.
    async fn await_all(&mut self, path: &str, is_wanted: impl Fn(&Value) -> bool) -> Result<Value, Failure> {
        let mut body = Value::Null;
        for server in 0..self.servers {
            let get = || Request::get(path.to_owned());
            let is_wanted = |reply: &Reply| reply.is_success() && is_wanted(&reply.body);
            body = self.client.until(server, get, is_wanted).await?.body;
        }
        Ok(body)
    }

    /// Runs clients and reflectors while faults are injected, and then until the reflectors have reached the end.
    async fn disturb(&mut self, cluster: &mut Cluster, injector: &mut Injector) -> Result<(), Failure> {
        let (stop_upkeep, upkeep_stopped) = watch::channel(false);
        let (stop_workers, workers_stopped) = watch::channel(false);
        let mut workers = JoinSet::new();
        for index in 0..self.plan.clients {
            let (client, seed) = (cluster.network.client()?, self.seed(index));
            let worker = Worker::new(index, client, self.servers, seed, &self.recorder, &self.targets);
            workers.spawn(worker.run(workers_stopped.clone()));
        }
        let mut reflectors = JoinSet::new();
        let ends: Vec<_> = self.targets.iter().map(|_| watch::channel(None)).collect();
        for (target, (_, end)) in ends.iter().enumerate() {
            for number in 0..REFLECTORS {
                let index = reflector_index(target, number);
                let reflector = Reflector {
                    index,
                    client: if number == 0 {
                        cluster.network.direct_client()?
                    } else {
                        cluster.network.client()?
                    },
                    is_witness: number == 0,
                    servers: self.servers,
                    random: fastrand::Rng::with_seed(self.seed(index)),
                    recorder: Arc::clone(&self.recorder),
                    targets: Arc::clone(&self.targets),
                    target,
                    end: end.clone(),
                };
                reflectors.spawn(reflector.run());
            }
        }
        let mut upkeep = self.keep_up(cluster, &upkeep_stopped)?;
        let until = Instant::now() + Duration::from_secs(self.plan.seconds);
        injector.run(cluster, until, &self.targets, &self.recorder).await?;
        if self.plan.number == self.plan.rounds {
            injector.complete(cluster, &self.targets, &self.recorder).await?;
        }
        stop_upkeep.send_replace(true);
        while let Some(made) = upkeep.join_next().await.transpose()? {
            made?;
        }
        // Last, because watches of Events have no bookmarks: their witness reaches the revision that the upkeep waits for by changes.
        stop_workers.send_replace(true);
        while workers.join_next().await.transpose()?.is_some() {}
        cluster.check()?;
        cluster.network.await_members().await?;
        cluster.network.await_servers(&mut cluster.processes.servers).await?;
        for (target, (end, _)) in ends.iter().enumerate() {
            let revision = self.write_last(cluster, target).await?;
            end.send_replace(Some(End { revision, deadline: Instant::now() + PATIENCE }));
        }
        while reflectors.join_next().await.transpose()?.is_some() {}
        self.list_all(cluster).await
    }

    /// Starts the changes that are made while there are faults.
    fn keep_up(
        &self,
        cluster: &Cluster,
        stopped: &watch::Receiver<bool>,
    ) -> Result<JoinSet<Result<(), Failure>>, Failure> {
        let mut upkeep = JoinSet::new();
        let target = self.targets.first().ok_or("there is no target")?;
        for (index, work) in Work::all_for(cluster.store).filter(|work| work.is_whole()).enumerate() {
            let (number, client) = (OWN + 1 + index, cluster.network.direct_client()?);
            let seed = self.seed(number);
            let changes = Upkeep {
                client: cluster.network.direct_client()?,
                writer: Worker::new(number, client, self.servers, seed, &self.recorder, &self.targets),
                store: cluster.store,
                member_ports: cluster.network.member_ports.clone(),
                servers: self.servers,
                directory: cluster.network.directory.clone(),
                program: cluster.program.clone(),
                targets: Arc::clone(&self.targets),
                namespace: target.namespace.clone(),
                scope: target.scope.clone(),
                recorder: Arc::clone(&self.recorder),
                random: fastrand::Rng::with_seed(seed),
                stop: stopped.clone(),
                key_used: None,
            };
            upkeep.spawn(changes.run(work));
        }
        Ok(upkeep)
    }

    /// Returns the seed of a client.
    fn seed(&self, index: usize) -> u64 {
        let numbers = self.plan.seed.wrapping_mul(1_000_003).wrapping_add(self.plan.number);
        numbers.wrapping_mul(10_007).wrapping_add(index as u64)
    }

    /// Writes to a collection without faults, which its reflectors have to see. Returns the revision.
    async fn write_last(&mut self, cluster: &Cluster, target: usize) -> Result<u64, Failure> {
        let targets = Arc::clone(&self.targets);
        let target = targets.get(target).ok_or("there is no such target")?;
        let client = cluster.network.direct_client()?;
        let mut worker = Worker::new(OWN, client, self.servers, self.plan.seed, &self.recorder, &targets);
        let begun = Instant::now();
        while begun.elapsed() < PATIENCE {
            for name in &target.names {
                let entries = Entries::new;
                let create = Action::Create { entries: entries() };
                let patch = Action::Patch { form: PatchForm::Merge, entries: entries() };
                let actions = if target.kind == Kind::Event { vec![create] } else { vec![patch, create] };
                for action in actions {
                    if let Some(revision) = worker.write(target, 0, name, action, None).await {
                        let reflectors = (0..REFLECTORS)
                            .map(|number| reflector_index(self.place(target), number))
                            .collect();
                        let goal = Goal { scope: target.scope.clone(), revision, reflectors };
                        self.recorder.record(|history| history.goals.push(goal));
                        return Ok(revision);
                    }
                }
            }
            // Quotas are released by a controller, which another server takes over when its own has died.
            sleep(Duration::from_secs(1)).await;
        }
        Err(format!("no write to {} succeeds although there is no fault", target.scope).into())
    }

    fn place(&self, target: &Target) -> usize {
        self.targets.iter().position(|other| other.scope == target.scope).unwrap_or_default()
    }

    /// Lists each collection from each server.
    async fn list_all(&mut self, cluster: &Cluster) -> Result<(), Failure> {
        let mut client = cluster.network.direct_client()?;
        for target in self.targets.iter() {
            for server in 0..self.servers {
                for asked in [Asked::Any, Asked::Consistent, Asked::Paged, Asked::Any] {
                    let mut lister = Lister { index: OWN, client: &mut client, recorder: &self.recorder };
                    let begun = Instant::now();
                    while lister.list(target, server, asked, Duration::ZERO).await.is_err() {
                        if begun.elapsed() > PATIENCE {
                            let scope = &target.scope;
                            let problem =
                                format!("server-{server} does not list {scope} although there is no fault");
                            return Err(problem.into());
                        }
                    }
                }
            }
        }
        Ok(())
    }

    /// Removes the objects, whose addresses and ports the next round needs.
    async fn remove_all(&mut self) -> Result<(), Failure> {
        for target in self.targets.iter() {
            let delete = || Request::with_body(Method::DELETE, target.collection(), json!({}));
            self.client.until(0, delete, Reply::is_success).await?;
        }
        Ok(())
    }
}

/// Returns the number of a reflector, beside which the numbers of other clients are smaller.
fn reflector_index(target: usize, number: usize) -> usize {
    OWN / 2 + target * REFLECTORS + number
}
