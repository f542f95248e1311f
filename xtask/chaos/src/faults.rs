//! The faults, and their injection.
//!
//! A fault counts as injected when its effect was seen: the process ended or stopped, bytes were lost or late, the history was
//! gone.

mod preloaded;
mod refusals;

use std::collections::BTreeMap;
use std::time::{Duration, Instant};

use tokio::time::sleep;

use crate::client::Request;
use crate::cluster::{Cluster, Network, Processes, Store};
use crate::history::FaultRecord;
use crate::preload::DiskFault;
use crate::process::Process;
use crate::proxy::{Mode, Proxy};
use crate::recorder::{Recorder, Target, witnessed};
use crate::{Failure, etcd};

/// Maximum number of times that a kind of fault is injected after the last round, until its effect is seen.
const TRIES: usize = 3;

/// A kind of fault.
#[derive(Clone, Copy, Debug, PartialEq, Eq, PartialOrd, Ord, clap::ValueEnum)]
pub(crate) enum Fault {
    /// SIGKILL of a server, which starts again.
    KillServer,
    /// SIGSTOP of a server, and SIGCONT later.
    StopServer,
    /// SIGKILL of a member of etcd.
    KillMember,
    /// SIGSTOP of a member of etcd, and SIGCONT later.
    StopMember,
    /// SIGKILL of the leader of etcd.
    KillLeader,
    /// A server cannot write to its files, as on a full disk.
    FillDisk,
    /// Writes of a server to its files fail with EIO, after a part of the data was written.
    FailDiskWrites,
    /// Flushes of a server's files to the disk fail with EIO.
    FailDiskSyncs,
    /// The disk of a server takes only a part of each write at once.
    ShortenDiskWrites,
    /// The wall clock of a server jumps forwards and backwards, by minutes to hours.
    JumpClock,
    /// A server cannot open files and connections.
    ExhaustFiles,
    /// SIGKILL of all servers and all members at once.
    RestartAll,
    /// Connections between clients and a server are closed.
    CutClients,
    /// Connections between clients and a server are slow.
    DelayClients,
    /// Nothing passes between clients and a server for a time.
    HoldClients,
    /// The answers of a server to clients are lost.
    DropClientAnswers,
    /// Connections between a server and etcd are closed.
    CutStore,
    /// Connections between a server and etcd are slow.
    DelayStore,
    /// Nothing passes between a server and etcd for a time.
    HoldStore,
    /// The answers of etcd to a server are lost.
    DropStoreAnswers,
    /// The other members cannot reach a member of etcd.
    CutPeers,
    /// Nothing passes from the other members to a member of etcd for a time.
    HoldPeers,
    /// etcd takes no writes, as if its database had reached its quota.
    FillStore,
    /// A member of etcd rewrites its database, and does not answer meanwhile.
    Defragment,
    /// The history of the store is removed.
    Compact,
}

/// Chooses faults and injects them.
pub(crate) struct Injector {
    faults: Vec<Fault>,
    /// The faults that come next. All kinds come equally often.
    deck: Vec<Fault>,
    random: fastrand::Rng,
    /// The number of injected faults of each kind.
    pub(crate) injected: BTreeMap<Fault, u64>,
    /// The kinds that are not possible here, with the reason.
    pub(crate) left_out: BTreeMap<Fault, String>,
}

/// The injection of a fault.
struct Injection<'a> {
    random: fastrand::Rng,
    store: Store,
    network: &'a Network,
    targets: &'a [Target],
}

// === impl Fault ===

impl Fault {
    /// Returns all kinds that a store can have.
    pub(crate) fn all_for(store: Store) -> Vec<Self> {
        let all = <Self as clap::ValueEnum>::value_variants().iter().copied();
        let is_possible = |fault: &Self| fault.needed_members() <= store.members();
        // Without an etcd, the server has the store.
        let all = all.filter(|fault| !fault.is_of_disk() || store == Store::Embedded);
        all.filter(is_possible).collect()
    }

    fn is_of_disk(self) -> bool {
        matches!(self, Self::FillDisk | Self::FailDiskWrites | Self::FailDiskSyncs | Self::ShortenDiskWrites)
    }

    /// Whether servers have to load a library for it.
    fn needs_library(self) -> bool {
        self == Self::JumpClock || (self.is_of_disk() && self != Self::FillDisk)
    }

    /// Returns the number of members of etcd without which there is no such fault.
    fn needed_members(self) -> usize {
        match self {
            Self::KillMember | Self::StopMember | Self::FillStore | Self::Defragment => 1,
            Self::CutStore | Self::DelayStore | Self::HoldStore | Self::DropStoreAnswers => 1,
            Self::KillLeader | Self::CutPeers | Self::HoldPeers => 3,
            _ => 0,
        }
    }

    /// Returns the name on the command line.
    pub(crate) fn name(self) -> String {
        let value = <Self as clap::ValueEnum>::to_possible_value(&self);
        value.map(|value| value.get_name().to_owned()).unwrap_or_default()
    }

    fn is_of_process(self) -> bool {
        matches!(
            self,
            Self::KillServer
                | Self::StopServer
                | Self::KillMember
                | Self::StopMember
                | Self::KillLeader
                | Self::ExhaustFiles
                | Self::JumpClock
                | Self::RestartAll
        ) || self.is_of_disk()
    }
}

// === impl Injector ===

impl Injector {
    pub(crate) fn new(faults: Vec<Fault>, seed: u64) -> Self {
        let random = fastrand::Rng::with_seed(seed);
        let (injected, left_out) = (BTreeMap::new(), BTreeMap::new());
        Self { faults, deck: Vec::new(), random, injected, left_out }
    }

    /// Leaves out the kinds for which servers have to load a library, which is not possible for this reason.
    ///
    /// # Errors
    /// Fails if there is no other kind.
    pub(crate) fn leave_out_library(&mut self, reason: &str) -> Result<(), Failure> {
        let (left_out, faults): (Vec<_>, Vec<_>) =
            self.faults.drain(..).partition(|fault| fault.needs_library());
        self.left_out.extend(left_out.into_iter().map(|fault| (fault, reason.to_owned())));
        self.faults = faults;
        if self.faults.is_empty() {
            return Err(format!("none of the faults is possible: {reason}").into());
        }
        for (fault, reason) in &self.left_out {
            println!("{} is left out: {reason}", fault.name());
        }
        Ok(())
    }

    /// Returns the kinds that were asked for and never injected.
    pub(crate) fn missing(&self) -> Vec<Fault> {
        self.faults.iter().copied().filter(|fault| !self.injected.contains_key(fault)).collect()
    }

    /// Injects faults until a time. Then the cluster is whole.
    ///
    /// # Errors
    /// Fails if a process ended by itself or does not start again.
    pub(crate) async fn run(
        &mut self,
        cluster: &mut Cluster,
        until: Instant,
        targets: &[Target],
        recorder: &Recorder,
    ) -> Result<(), Failure> {
        while Instant::now() < until {
            self.inject(cluster, targets, recorder).await?;
        }
        Ok(())
    }

    /// Injects the kinds that there were not yet, a limited number of times. Then the cluster is whole.
    ///
    /// # Errors
    /// Fails if a process ended by itself or does not start again.
    pub(crate) async fn complete(
        &mut self,
        cluster: &mut Cluster,
        targets: &[Target],
        recorder: &Recorder,
    ) -> Result<(), Failure> {
        for _ in 0..TRIES {
            self.deck = self.missing();
            while !self.deck.is_empty() {
                self.inject(cluster, targets, recorder).await?;
            }
        }
        Ok(())
    }

    /// Injects the next fault, or two of them at once.
    async fn inject(
        &mut self,
        cluster: &mut Cluster,
        targets: &[Target],
        recorder: &Recorder,
    ) -> Result<(), Failure> {
        let fault = self.next();
        // Some faults of links happen while a process is down.
        let second =
            self.deck.last().copied().filter(|second| second.is_of_process() != fault.is_of_process());
        let second = second.filter(|_| self.random.u32(0..3) == 0);
        if second.is_some() {
            self.deck.pop();
        }
        let start = recorder.now();
        let mut injection = |faults: [Option<Fault>; 2], is_of_process: bool| {
            let chosen = faults.into_iter().flatten().find(|fault| fault.is_of_process() == is_of_process);
            let random = self.random.fork();
            let (store, network) = (cluster.store, &cluster.network);
            (chosen, Injection { random, store, network, targets })
        };
        let (of_process, mut first) = injection([Some(fault), second], true);
        let (of_link, mut other) = injection([Some(fault), second], false);
        let (processes_hit, links_hit) = tokio::join!(
            first.disturb_process(of_process, &mut cluster.processes),
            other.disturb_link(of_link)
        );
        let end = recorder.now();
        for (fault, target) in [(of_process, processes_hit?), (of_link, links_hit?)] {
            if let (Some(fault), Some(target)) = (fault, target) {
                *self.injected.entry(fault).or_default() += 1;
                let record = FaultRecord { start, end, fault: fault.name(), target };
                recorder.record(|history| history.faults.push(record));
            }
        }
        sleep(Duration::from_millis(self.random.u64(50..400))).await;
        Ok(())
    }

    fn next(&mut self) -> Fault {
        if self.deck.is_empty() {
            self.deck.clone_from(&self.faults);
            self.random.shuffle(&mut self.deck);
        }
        self.deck.pop().unwrap_or(Fault::KillServer)
    }
}

// === impl Injection ===

impl Injection<'_> {
    fn time(&mut self, longest_milliseconds: u64) -> Duration {
        Duration::from_millis(self.random.u64(100..longest_milliseconds))
    }

    /// Injects a fault of a process. Returns its target.
    async fn disturb_process(
        &mut self,
        fault: Option<Fault>,
        processes: &mut Processes,
    ) -> Result<Option<String>, Failure> {
        match fault {
            Some(Fault::KillServer | Fault::StopServer) => {
                let index = self.random.usize(0..processes.servers.len());
                let server = processes.servers.get_mut(index).ok_or("there is no server")?;
                self.disturb(server, fault == Some(Fault::KillServer)).await?;
                self.network.await_server(index, server).await?;
                Ok(Some(server.name.clone()))
            }
            Some(Fault::KillMember | Fault::StopMember | Fault::KillLeader) => {
                let Some(index) = self.member(fault == Some(Fault::KillLeader)).await else {
                    return Ok(None);
                };
                let member = processes.members.get_mut(index).ok_or("there is no member")?;
                self.disturb(member, fault != Some(Fault::StopMember)).await?;
                self.network.await_members().await?;
                Ok(Some(member.name.clone()))
            }
            Some(fault) if fault.is_of_disk() => {
                let server = processes.servers.first_mut().ok_or("there is no server")?;
                match fault {
                    Fault::FailDiskWrites => self.fail_disk(server, DiskFault::FailWrites).await,
                    Fault::FailDiskSyncs => self.fail_disk(server, DiskFault::FailSyncs).await,
                    Fault::ShortenDiskWrites => self.fail_disk(server, DiskFault::ShortenWrites).await,
                    _ => self.fill_disk(server).await,
                }
            }
            Some(Fault::ExhaustFiles | Fault::JumpClock) => {
                let index = self.random.usize(0..processes.servers.len());
                let server = processes.servers.get_mut(index).ok_or("there is no server")?;
                match fault {
                    Some(Fault::JumpClock) => self.jump_clock(index, server).await,
                    _ => self.exhaust_files(index, server).await,
                }
            }
            Some(Fault::RestartAll) => {
                for process in processes.servers.iter_mut().chain(&mut processes.members) {
                    process.kill()?;
                }
                sleep(self.time(500)).await;
                processes.members.iter_mut().chain(&mut processes.servers).try_for_each(Process::start)?;
                self.network.await_members().await?;
                self.network.await_servers(&mut processes.servers).await?;
                Ok(Some("all".to_owned()))
            }
            _ => Ok(None),
        }
    }

    /// Kills a process, or stops it, for a time.
    async fn disturb(&mut self, process: &mut Process, kills: bool) -> Result<(), Failure> {
        if kills {
            process.kill()?;
            sleep(self.time(1500)).await;
            return process.start();
        }
        process.pause().await?;
        sleep(self.time(3000)).await;
        process.resume()
    }

    /// Chooses a member, or finds the leader, if there is one at present.
    async fn member(&mut self, is_leader: bool) -> Option<usize> {
        if !is_leader {
            return Some(self.random.usize(0..self.network.member_ports.len()));
        }
        for (index, port) in self.network.member_ports.iter().enumerate() {
            if etcd::is_leader(*port).await.unwrap_or_default() {
                return Some(index);
            }
        }
        None
    }

    /// Injects a fault of a link or of the whole store. Returns its target if it had an effect.
    async fn disturb_link(&mut self, fault: Option<Fault>) -> Result<Option<String>, Failure> {
        let Some(fault) = fault.filter(|fault| !fault.is_of_process()) else { return Ok(None) };
        match fault {
            Fault::Compact => return self.compact().await,
            Fault::FillStore => return self.fill_store().await,
            Fault::Defragment => return Ok(self.defragment().await),
            _ => {}
        }
        let delay = Duration::from_millis(self.random.u64(20..200));
        let mode = match fault {
            Fault::CutClients | Fault::CutStore | Fault::CutPeers => Mode::Cut,
            Fault::DelayClients | Fault::DelayStore => Mode::Delay(delay),
            Fault::DropClientAnswers | Fault::DropStoreAnswers => Mode::DropAnswers,
            _ => Mode::Hold,
        };
        let (name, links) = match fault {
            Fault::CutPeers | Fault::HoldPeers => ("peers of member", &self.network.peers),
            Fault::CutStore | Fault::DelayStore | Fault::HoldStore | Fault::DropStoreAnswers => {
                ("store link", &self.network.stores)
            }
            _ => ("clients of server", &self.network.clients),
        };
        let chosen = self.random.usize(0..=links.len());
        // Beyond the last one are all of them.
        let is_chosen = |index: usize| index == chosen || chosen == links.len();
        let links: Vec<&Proxy> =
            links.iter().enumerate().filter(|(index, _)| is_chosen(*index)).map(|(_, link)| link).collect();
        let disturbed = || links.iter().map(|link| link.disturbed()).sum::<u64>();
        let before = disturbed();
        for link in &links {
            link.set(mode);
        }
        sleep(self.time(2000)).await;
        for link in &links {
            link.set(Mode::Pass);
        }
        let target = if links.len() > 1 { format!("{name}: all") } else { format!("{name} {chosen}") };
        Ok((disturbed() > before).then_some(target))
    }

    /// Defragments a member. It has no effect while the member is down or stopped.
    async fn defragment(&mut self) -> Option<String> {
        let index = self.random.usize(0..self.network.member_ports.len());
        let port = self.network.member_ports.get(index)?;
        etcd::defragment(*port).await.ok()?;
        Some(format!("etcd-{index}"))
    }

    /// Removes the history, and waits until the state of a past revision is gone. The embedded store does it by itself all the time.
    async fn compact(&mut self) -> Result<Option<String>, Failure> {
        let mut client = self.network.direct_client()?;
        let server = self.random.usize(0..self.network.clients.len());
        // The cache of ConfigMaps is short, so that the history of the store matters.
        let collection = self.targets.first().ok_or("there is no target")?.collection();
        let list = Request::get(format!("{collection}?limit=1"));
        let Ok(reply) = client.request(server, list).await else { return Ok(None) };
        let revision = reply.body.pointer("/metadata/resourceVersion").and_then(serde_json::Value::as_str);
        let Some(revision) = revision.map(str::to_owned) else { return Ok(None) };
        let asked = Instant::now();
        let exact = format!("{collection}?resourceVersion={revision}&resourceVersionMatch=Exact&limit=1");
        while asked.elapsed() < Duration::from_secs(30) {
            if self.store != Store::Embedded {
                // Members that are down are passed over, and it is asked again.
                etcd::compact_any(&self.network.member_ports, witnessed(self.targets)).await;
            }
            if let Ok(reply) = client.request(server, Request::get(exact.clone())).await
                && reply.status == 410
            {
                return Ok(Some(format!("revision {revision}")));
            }
            sleep(Duration::from_millis(200)).await;
        }
        Ok(None)
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn faults_of_the_library_are_left_out_without_it() {
        let mut injector = Injector::new(Fault::all_for(Store::Embedded), 1);
        injector.leave_out_library("no compiler").unwrap();
        let left_out: Vec<String> = injector.left_out.keys().map(|fault| fault.name()).collect();
        assert_eq!(left_out, ["fail-disk-writes", "fail-disk-syncs", "shorten-disk-writes", "jump-clock"]);
        let missing = injector.missing();
        assert!(missing.contains(&Fault::FillDisk) && !missing.contains(&Fault::JumpClock), "{missing:?}");
    }

    #[test]
    fn a_run_without_any_possible_fault_fails() {
        let refused = Injector::new(vec![Fault::JumpClock], 1).leave_out_library("no compiler");
        assert!(refused.unwrap_err().to_string().ends_with("no compiler"));
    }

    #[test]
    fn disks_of_servers_fail_only_if_they_have_the_store() {
        let faults = Fault::all_for(Store::Etcd);
        assert!(faults.contains(&Fault::JumpClock) && !faults.iter().any(|fault| fault.is_of_disk()));
    }
}
