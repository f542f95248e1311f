//! The servers and their store, with a proxy on every link.

use std::path::{Path, PathBuf};
use std::time::{Duration, Instant};

use crate::client::{Client, GUEST_TOKEN, Request, TOKEN};
use crate::kinds::TIME_TO_LIVE;
use crate::material;
use crate::preload::{Control, Library};
use crate::process::{Process, free_ports};
use crate::proxy::Proxy;
use crate::rights::GUEST;
use crate::{Failure, etcd};

/// Maximum time until servers and etcd answer after a start.
const PATIENCE: Duration = Duration::from_mins(5);

/// Time after which a client that no fault of a link affects no longer waits for an answer.
const DIRECT_PATIENCE: Duration = Duration::from_secs(30);

/// The store of the servers.
#[derive(Clone, Copy, Debug, PartialEq, Eq, clap::ValueEnum)]
pub(crate) enum Store {
    /// In the process of the server, of which there is one.
    Embedded,
    /// An etcd of one member.
    Etcd,
    /// An etcd of three members.
    Etcd3,
}

/// The servers and their store.
pub(crate) struct Cluster {
    pub(crate) store: Store,
    /// The program of the servers.
    pub(crate) program: PathBuf,
    pub(crate) network: Network,
    pub(crate) processes: Processes,
}

/// The links.
pub(crate) struct Network {
    /// Between the clients and each server.
    pub(crate) clients: Vec<Proxy>,
    /// Between each server and each member.
    pub(crate) stores: Vec<Proxy>,
    /// Between the other members and each member.
    pub(crate) peers: Vec<Proxy>,
    /// The ports of the servers and the members, without a proxy.
    server_ports: Vec<u16>,
    pub(crate) member_ports: Vec<u16>,
    /// The directory of the servers' files.
    pub(crate) directory: PathBuf,
}

/// The processes.
pub(crate) struct Processes {
    pub(crate) servers: Vec<Process>,
    pub(crate) members: Vec<Process>,
}

/// The configuration of a cluster.
pub(crate) struct Plan<'a> {
    pub(crate) store: Store,
    pub(crate) servers: usize,
    pub(crate) program: &'a Path,
    pub(crate) directory: &'a Path,
    /// Further flags of the servers.
    pub(crate) flags: &'a [(&'static str, &'static str)],
    /// The library that servers load before libc.
    pub(crate) library: Option<&'a Library>,
}

// === impl Store ===

impl Store {
    pub(crate) fn name(self) -> &'static str {
        match self {
            Self::Embedded => "embedded",
            Self::Etcd => "etcd",
            Self::Etcd3 => "etcd3",
        }
    }

    pub(crate) fn members(self) -> usize {
        match self {
            Self::Embedded => 0,
            Self::Etcd => 1,
            Self::Etcd3 => 3,
        }
    }
}

// === impl Cluster ===

impl Cluster {
    /// Starts the store and the servers, and waits until all are ready.
    pub(crate) async fn start(plan: &Plan<'_>) -> Result<Self, Failure> {
        let members = plan.store.members();
        let mut server_ports = free_ports(plan.servers + 2 * members)?;
        let mut member_ports = server_ports.split_off(plan.servers);
        let peer_ports = member_ports.split_off(members);
        let mut network = Network {
            clients: Vec::new(),
            stores: Vec::new(),
            peers: Vec::new(),
            server_ports,
            member_ports,
            directory: plan.directory.to_owned(),
        };
        for port in &peer_ports {
            network.peers.push(Proxy::start(*port).await?);
        }
        for port in &network.server_ports {
            network.clients.push(Proxy::start(*port).await?);
        }
        for _ in 0..plan.servers {
            for port in &network.member_ports {
                network.stores.push(Proxy::start(*port).await?);
            }
        }
        let processes = Processes {
            members: (0..members).map(|index| member(plan, &network, &peer_ports, index)).collect(),
            servers: (0..plan.servers)
                .map(|index| server(plan, &network, index))
                .collect::<Result<_, Failure>>()?,
        };
        let program = plan.program.to_owned();
        let mut cluster = Self { store: plan.store, program, network, processes };
        cluster.start_all(plan.directory).await?;
        Ok(cluster)
    }

    async fn start_all(&mut self, directory: &Path) -> Result<(), Failure> {
        let tokens = format!("{TOKEN},chaos,1,\"system:masters\"\n{GUEST_TOKEN},{GUEST},2\n");
        std::fs::write(directory.join("tokens.csv"), tokens)?;
        material::write_certificate(directory)?;
        material::write_keys(directory, &[material::new_key(&mut fastrand::Rng::new())])?;
        self.processes.members.iter_mut().try_for_each(Process::start)?;
        self.network.await_members().await?;
        self.processes.servers.iter_mut().try_for_each(Process::start)?;
        self.network.await_servers(&mut self.processes.servers).await
    }

    /// Whether all servers have loaded the library of the plan.
    pub(crate) fn has_library(&self) -> Result<bool, Failure> {
        let controls = self.processes.servers.iter().filter_map(|server| server.control.as_ref());
        let loaded: Vec<bool> = controls.map(Control::is_loaded).collect::<Result<_, _>>()?;
        Ok(loaded.len() == self.processes.servers.len() && loaded.into_iter().all(|is_loaded| is_loaded))
    }

    /// Checks that no process ended by itself.
    pub(crate) fn check(&mut self) -> Result<(), Failure> {
        let Processes { servers, members } = &mut self.processes;
        members.iter_mut().chain(servers).try_for_each(Process::check)
    }
}

fn member(plan: &Plan<'_>, network: &Network, peer_ports: &[u16], index: usize) -> Process {
    let name = format!("etcd-{index}");
    let url = |port: Option<u16>| format!("http://127.0.0.1:{}", port.unwrap_or_default());
    let client = url(network.member_ports.get(index).copied());
    let own = url(peer_ports.get(index).copied());
    let proxied = url(network.peers.get(index).map(Proxy::port));
    let all = network.peers.iter().enumerate();
    let all: Vec<String> =
        all.map(|(index, peer)| format!("etcd-{index}={}", url(Some(peer.port())))).collect();
    let data = plan.directory.join(&name).display().to_string();
    let flags = [
        ("name", name.clone()),
        ("data-dir", data),
        ("listen-client-urls", client.clone()),
        ("advertise-client-urls", client),
        ("listen-peer-urls", own),
        ("initial-advertise-peer-urls", proxied),
        ("initial-cluster", all.join(",")),
        ("log-level", "error".to_owned()),
    ];
    let arguments = flags.into_iter().map(|(name, value)| format!("--{name}={value}")).collect();
    // `cargo xtask chaos` finds or installs it.
    let program = std::env::var_os("ORLOP_ETCD").map_or_else(|| PathBuf::from("etcd"), PathBuf::from);
    Process::new(&name, &program, arguments, plan.directory)
}

fn server(plan: &Plan<'_>, network: &Network, index: usize) -> Result<Process, Failure> {
    let name = format!("server-{index}");
    let data_directory = plan.directory.join(&name);
    let data = data_directory.display().to_string();
    let tokens = plan.directory.join("tokens.csv").display().to_string();
    let certificate = material::certificate_file(plan.directory).display().to_string();
    let keys = material::keys_file(plan.directory).display().to_string();
    let port = network.server_ports.get(index).copied().unwrap_or_default().to_string();
    let mut flags = vec![
        ("data-dir", data),
        ("token-auth-file", tokens),
        ("secure-port", port),
        ("tls-cert-file", certificate.clone()),
        ("tls-private-key-file", certificate),
        ("encryption-provider-config", keys),
        ("encryption-provider-config-automatic-reload", "true".to_owned()),
        ("controllers", "resourcequota-controller".to_owned()),
        // Few of each, so that they are given again soon after they are returned.
        ("service-cluster-ip-range", "10.0.0.0/28".to_owned()),
        ("service-node-port-range", "30000-30009".to_owned()),
        ("event-ttl", format!("{}s", TIME_TO_LIVE.as_secs())),
        // A short history, so that watches leave it.
        ("watch-cache-sizes", "configmaps#50".to_owned()),
        ("exit-with-parent", "true".to_owned()),
    ];
    let members = plan.store.members();
    if members == 0 {
        flags.push(("etcd-compaction-interval", "5s".to_owned()));
    } else {
        let links = network.stores.iter().skip(index * members).take(members);
        let urls: Vec<String> = links.map(|proxy| format!("http://127.0.0.1:{}", proxy.port())).collect();
        flags.push(("etcd-servers", urls.join(",")));
        flags.push(("etcd-compaction-interval", "0s".to_owned()));
    }
    flags.extend(plan.flags.iter().map(|(name, value)| (*name, (*value).to_owned())));
    let arguments = flags.into_iter().map(|(name, value)| format!("--{name}={value}")).collect();
    let control = plan.library.map(|library| library.control(&data_directory)).transpose()?;
    Ok(Process::new(&name, plan.program, arguments, plan.directory).with_control(control))
}

// === impl Network ===

impl Network {
    /// Returns a client that passes the proxies.
    pub(crate) fn client(&self) -> Result<Client, Failure> {
        Client::new(&self.clients.iter().map(Proxy::port).collect::<Vec<_>>())
    }

    /// Returns a client that no fault of a link affects.
    pub(crate) fn direct_client(&self) -> Result<Client, Failure> {
        Ok(Client::new(&self.server_ports)?.with_patience(DIRECT_PATIENCE))
    }

    /// Waits until each server is ready.
    pub(crate) async fn await_servers(&self, servers: &mut [Process]) -> Result<(), Failure> {
        for (index, server) in servers.iter_mut().enumerate() {
            self.await_server(index, server).await?;
        }
        Ok(())
    }

    /// Waits until a server is ready.
    pub(crate) async fn await_server(&self, server: usize, process: &mut Process) -> Result<(), Failure> {
        let mut client = self.direct_client()?;
        let asked = Instant::now();
        let mut last = String::new();
        while asked.elapsed() < PATIENCE {
            match client.request(server, Request::get("/readyz".to_owned())).await {
                Ok(reply) if reply.is_success() => return Ok(()),
                Ok(reply) => last = reply.reason(),
                Err(error) => last = error.to_string(),
            }
            process.start_again()?;
            tokio::time::sleep(Duration::from_millis(50)).await;
        }
        Err(format!("server-{server} was not ready after {PATIENCE:?}: {last}").into())
    }

    /// Waits until each member has a leader.
    pub(crate) async fn await_members(&self) -> Result<(), Failure> {
        let asked = Instant::now();
        for port in &self.member_ports {
            while etcd::is_leader(*port).await.is_err() {
                if asked.elapsed() > PATIENCE {
                    return Err(format!("the etcd at port {port} does not answer").into());
                }
                tokio::time::sleep(Duration::from_millis(50)).await;
            }
        }
        Ok(())
    }
}
