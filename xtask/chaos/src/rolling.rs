//! Servers that are restarted in turn, as upgrades and downgrades do, behind a balancer that asks for their readiness.
//!
//! Clients act as client libraries do: they repeat a request that was refused with `Retry-After`, or that a closing connection did
//! not take. Any other failure of a request is one that programs see, and fails the run.

use std::collections::BTreeMap;
use std::fmt::Write as _;
use std::path::Path;
use std::sync::Arc;
use std::sync::atomic::{AtomicBool, Ordering};
use std::time::{Duration, Instant};

use hyper::Method;
use parking_lot::Mutex;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::task::JoinSet;
use tokio::time::sleep;

use crate::Failure;
use crate::client::{Client, Request, RequestError};
use crate::cluster::{self, Cluster};

/// The flags of servers behind a balancer, which notices within this time that a server ends.
pub(crate) const FLAGS: [(&str, &str); 3] = [
    ("shutdown-delay-duration", "3s"),
    ("shutdown-send-retry-after", "true"),
    // Connections also move while no server ends.
    ("goaway-chance", "0.01"),
];

/// Time between two questions of the balancer for the readiness of a server.
const PROBE: Duration = Duration::from_millis(200);

/// Number of times that a client repeats a request.
const TRIES: usize = 10;

const NAMESPACE: &str = "/api/v1/namespaces/default/configmaps";

/// The configuration of a run.
pub(crate) struct Plan<'a> {
    pub(crate) cluster: &'a cluster::Plan<'a>,
    pub(crate) clients: usize,
    pub(crate) seed: u64,
    pub(crate) restarts: u64,
    /// The program of another version: servers start with it, and run it and their own in turn.
    pub(crate) previous: Option<&'a Path>,
}

/// The balancer, with what clients saw behind it.
struct Balancer {
    /// Whether each server takes new requests.
    ready: Vec<AtomicBool>,
    seen: Mutex<Seen>,
}

#[derive(Default)]
struct Seen {
    requests: u64,
    /// Requests that were repeated, by the reason.
    repeated: BTreeMap<&'static str, u64>,
    /// Requests that failed for the program.
    failed: Vec<String>,
    longest: Duration,
}

/// A client of the balancer.
struct Program {
    index: usize,
    client: Client,
    balancer: Arc<Balancer>,
    random: fastrand::Rng,
    /// The value that its object must have.
    value: u64,
}

/// Restarts the servers in turn while clients read and write. Returns the report.
///
/// # Errors
/// Fails if a request failed, or a server did.
pub(crate) async fn run(plan: &Plan<'_>) -> Result<String, Failure> {
    let program = plan.previous.unwrap_or(plan.cluster.program);
    let mut cluster = Cluster::start(&cluster::Plan { program, ..*plan.cluster }).await?;
    let servers = plan.cluster.servers;
    let ready = (0..servers).map(|_| AtomicBool::new(true)).collect();
    let balancer = Arc::new(Balancer { ready, seen: Mutex::default() });
    let (stop, stopped) = watch::channel(false);
    let mut tasks = JoinSet::new();
    for server in 0..servers {
        tasks.spawn(probe(server, cluster.network.direct_client()?, Arc::clone(&balancer), stopped.clone()));
    }
    for index in 0..plan.clients {
        let (client, balancer) = (cluster.network.direct_client()?, Arc::clone(&balancer));
        let random = fastrand::Rng::with_seed(plan.seed.wrapping_mul(10_007).wrapping_add(index as u64));
        let program = Program { index, client, balancer, random, value: 0 };
        tasks.spawn(program.run(stopped.clone()));
    }
    let begun = Instant::now();
    sleep(Duration::from_secs(1)).await;
    for restart in 0..usize::try_from(plan.restarts)? {
        let index = restart % servers;
        let server = cluster.processes.servers.get_mut(index).ok_or("there is no such server")?;
        server.end().await?;
        server.change_program(plan.program(restart));
        server.start()?;
        cluster.network.await_server(index, server).await?;
        // The balancer sees it, and clients come back to it.
        sleep(PROBE * 5).await;
    }
    stop.send_replace(true);
    while tasks.join_next().await.transpose()?.is_some() {}
    cluster.check()?;
    let seen = balancer.seen.lock();
    let text = text(plan, &seen, begun.elapsed());
    if seen.failed.is_empty() { Ok(text) } else { Err(text.into()) }
}

fn text(plan: &Plan<'_>, seen: &Seen, duration: Duration) -> String {
    let mut text = format!(
        "\n{}, {} servers, {} restarts in turn in {:.0} s\n",
        plan.cluster.store.name(),
        plan.cluster.servers,
        plan.restarts,
        duration.as_secs_f64()
    );
    let longest = seen.longest.as_secs_f64();
    // Writing to a text does not fail.
    if plan.previous.is_some() {
        let is_upgrade = |restart: &usize| plan.program(*restart) == plan.cluster.program;
        let restarts = 0..usize::try_from(plan.restarts).unwrap_or(usize::MAX);
        let upgrades = restarts.clone().filter(is_upgrade).count();
        let _ = writeln!(text, "  {:<28} {upgrades:>8}", "upgrades");
        let _ = writeln!(text, "  {:<28} {:>8}", "downgrades", restarts.len() - upgrades);
    }
    let _ = writeln!(text, "  {:<28} {:>8}", "requests", seen.requests);
    for (reason, count) in &seen.repeated {
        let _ = writeln!(text, "    {:<26} {count:>8}", format!("repeated: {reason}"));
    }
    let _ = writeln!(text, "  {:<28} {longest:>8.3}", "longest request, seconds");
    let _ = writeln!(text, "  {:<28} {:>8}", "failed requests", seen.failed.len());
    for failure in seen.failed.iter().take(10) {
        let _ = writeln!(text, "    {failure}");
    }
    text
}

/// Asks for the readiness of a server, as a balancer does.
async fn probe(server: usize, client: Client, balancer: Arc<Balancer>, stopped: watch::Receiver<bool>) {
    let mut client = client.with_patience(Duration::from_secs(2));
    while !*stopped.borrow() {
        let answered = client.request(server, Request::get("/readyz".to_owned())).await;
        let is_ready = answered.is_ok_and(|reply| reply.is_success());
        if let Some(ready) = balancer.ready.get(server) {
            ready.store(is_ready, Ordering::Relaxed);
        }
        sleep(PROBE).await;
    }
}

// === impl Plan ===

impl Plan<'_> {
    /// Returns the program that a server runs after a restart: all are upgraded in turn, then all are downgraded.
    fn program(&self, restart: usize) -> &Path {
        let is_upgrade = (restart / self.cluster.servers).is_multiple_of(2);
        self.previous.filter(|_| !is_upgrade).unwrap_or(self.cluster.program)
    }
}

// === impl Balancer ===

impl Balancer {
    /// Chooses a server that is ready.
    async fn choose(&self, random: &mut fastrand::Rng) -> usize {
        loop {
            let ready = self.ready.iter().enumerate().filter(|(_, ready)| ready.load(Ordering::Relaxed));
            let ready: Vec<usize> = ready.map(|(index, _)| index).collect();
            if let Some(index) = random.choice(&ready) {
                return *index;
            }
            sleep(PROBE).await;
        }
    }
}

// === impl Program ===

impl Program {
    /// Writes and reads an object of its own, and lists.
    async fn run(mut self, stopped: watch::Receiver<bool>) {
        let name = format!("program-{}", self.index);
        let path = format!("{NAMESPACE}/{name}");
        let object = |value: u64| {
            let data = json!({ "value": value.to_string() });
            json!({ "apiVersion": "v1", "kind": "ConfigMap", "metadata": { "name": name }, "data": data })
        };
        let created = Request::with_body(Method::POST, NAMESPACE.to_owned(), object(0));
        self.ask(|| created.clone()).await;
        while !*stopped.borrow() {
            match self.random.u32(0..10) {
                0..3 => {
                    let replaced = Request::with_body(Method::PUT, path.clone(), object(self.value + 1));
                    if self.ask(|| replaced.clone()).await.is_some() {
                        self.value += 1;
                    }
                }
                3..5 => {
                    let data = json!({ "data": { "value": (self.value + 1).to_string() } });
                    let patch = Request::patch(path.clone(), "application/merge-patch+json", data);
                    if self.ask(|| patch.clone()).await.is_some() {
                        self.value += 1;
                    }
                }
                5..9 => {
                    let read = self.ask(|| Request::get(path.clone())).await;
                    let value = read.as_ref().and_then(|body| body.pointer("/data/value")?.as_str());
                    if read.is_some() && value != Some(&*self.value.to_string()) {
                        let failure = format!("{path} has {value:?} after {} was acknowledged", self.value);
                        self.balancer.seen.lock().failed.push(failure);
                    }
                }
                _ => {
                    self.ask(|| Request::get(format!("{NAMESPACE}?limit=5"))).await;
                }
            }
            sleep(Duration::from_millis(self.random.u64(0..20))).await;
        }
    }

    /// Sends a request to a server that is ready, and repeats it as client libraries do. Returns the body of the answer.
    async fn ask(&mut self, request: impl Fn() -> Request) -> Option<Value> {
        let begun = Instant::now();
        let mut last = "";
        for _ in 0..TRIES {
            let server = self.balancer.choose(&mut self.random).await;
            let repeated = match self.client.request(server, request()).await {
                Ok(reply) if reply.is_success() => {
                    let mut seen = self.balancer.seen.lock();
                    seen.requests += 1;
                    seen.longest = seen.longest.max(begun.elapsed());
                    return Some(reply.body);
                }
                Ok(reply) if reply.has_retry_after => "Retry-After",
                Err(RequestError::Refused(_)) => "closing connection",
                Ok(reply) => return self.fail(&request(), server, &reply.reason()),
                Err(error) => return self.fail(&request(), server, &error.to_string()),
            };
            last = repeated;
            *self.balancer.seen.lock().repeated.entry(repeated).or_default() += 1;
            sleep(Duration::from_millis(20)).await;
        }
        self.fail(&request(), 0, &format!("still refused after {TRIES} times: {last}"))
    }

    fn fail(&self, request: &Request, server: usize, reason: &str) -> Option<Value> {
        let failure = format!("{} {} at server-{server}: {reason}", request.method, request.path);
        self.balancer.seen.lock().failed.push(failure);
        None
    }
}
