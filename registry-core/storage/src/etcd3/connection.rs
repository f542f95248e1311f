//! Shared connections to etcd, with a deadline for every request and retries of safe requests.

use std::convert::Infallible;
use std::future::pending;
use std::path::Path;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use etcd_client::{
    Certificate, Channel, Client, ConnectOptions, Identity, KvClient, LeaseClient, TlsOptions, WatchClient,
};
use parking_lot::Mutex;
use registry_meta::backoff::Backoff;
use tokio::sync::Semaphore;
use tokio::time::{Instant, sleep, timeout, timeout_at};
use tracing::Instrument as _;

use crate::stage;

use super::channel;
use super::errors::Failure;
use super::options::{ConnectError, Etcd3Options, Unanswered};

/// Maximum number of attempts of a request, the first included.
const ATTEMPTS: u32 = 5;
/// The delays before further attempts of a request.
const BACKOFF: Backoff = Backoff::new(Duration::from_millis(10), Duration::from_secs(1));
/// The delays between attempts at the start.
const FIRST_ANSWER_BACKOFF: Backoff = Backoff::new(Duration::from_millis(100), Duration::from_secs(2));
/// Time without any answer at the start after which the log says so, and minimum interval between such lines.
const FIRST_ANSWER_NOTICE: (Duration, Duration) = (Duration::from_secs(1), Duration::from_secs(10));
/// Idle time after which a keep-alive ping is sent, and time to wait for its response.
const KEEP_ALIVE: (Duration, Duration) = (Duration::from_secs(30), Duration::from_secs(10));
/// Values are at most a few MiB, but pages of them are larger than the client library's default of 4 MiB.
const MAX_MESSAGE_BYTES: usize = i32::MAX as usize;
/// Versions from which a progress response never overtakes changes.
const SAFE_PROGRESS: [(u64, u64, u64); 2] = [(3, 4, 31), (3, 5, 13)];

/// Connections to an etcd cluster.
pub(super) struct Connection {
    /// Requests are distributed over these in turn.
    clients: Vec<Client>,
    turn: AtomicUsize,
    /// A separate connection for watches, so that their traffic does not delay requests.
    watches: Client,
    /// Limits the number of concurrent requests.
    in_flight: Semaphore,
    request_timeout: Duration,
    health_timeout: Duration,
}

/// Says that the first response is missing: once, and then seldom.
struct FirstAnswerNotice<'o> {
    options: &'o Etcd3Options,
    last: Mutex<Option<Instant>>,
}

/// Whether a request may be repeated when it is unknown whether it was executed.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Safety {
    /// Changes nothing.
    Read,
    /// Would be refused the second time, and its outcome reported incorrectly.
    Write,
}

// === impl Connection ===

impl Connection {
    /// Connects, and waits for a first response.
    pub(super) async fn open(options: &Etcd3Options) -> Result<Self, ConnectError> {
        if options.endpoints.is_empty() {
            return Err(ConnectError::NoEndpoints);
        }
        let settings = settings(options).await?;
        let mut clients = Vec::new();
        for _ in 0..options.connections.max(1) {
            clients.push(connect(options, settings.clone()).await?);
        }
        let connection = Self {
            clients,
            turn: AtomicUsize::new(0),
            watches: connect(options, settings.with_require_leader(true)).await?,
            in_flight: Semaphore::new(options.max_requests_in_flight.max(1)),
            request_timeout: Duration::from_secs(options.request_timeout_seconds.max(1)),
            health_timeout: Duration::from_secs(options.health_timeout_seconds.max(1)),
        };
        connection.first_answer(options).await?;
        Ok(connection)
    }

    /// Returns a client for keys and values.
    pub(super) fn kv(&self) -> KvClient {
        self.client().kv_client().max_decoding_message_size(MAX_MESSAGE_BYTES)
    }

    /// Returns a client for leases.
    pub(super) fn lease(&self) -> LeaseClient {
        self.client().lease_client()
    }

    /// Returns a client for watches.
    pub(super) fn watch(&self) -> WatchClient {
        self.watches.watch_client().max_decoding_message_size(MAX_MESSAGE_BYTES)
    }

    /// Returns the timeout of a health check.
    pub(super) fn health_timeout(&self) -> Duration {
        self.health_timeout
    }

    /// Sends a request until it succeeds, may not be repeated, or reaches its deadline.
    pub(super) async fn call<T, F>(&self, safety: Safety, request: impl Fn() -> F) -> Result<T, Failure>
    where
        F: Future<Output = Result<T, etcd_client::Error>>,
    {
        let Ok(_permit) = self.in_flight.try_acquire() else { return Err(Failure::Overloaded) };
        let deadline = Instant::now() + self.request_timeout;
        let mut backoff = BACKOFF;
        for attempt in 1.. {
            let answer = timeout_at(deadline, request()).instrument(stage!("etcd", attempt)).await;
            let failure = match answer {
                Ok(Ok(answer)) => return Ok(answer),
                Ok(Err(error)) => Failure::from(error),
                Err(_) => return Err(self.too_late()),
            };
            let again = match failure {
                Failure::NotSent(_) => true,
                Failure::Lost(_) => safety == Safety::Read,
                _ => false,
            };
            let pause = backoff.next_pause();
            if !again || attempt >= ATTEMPTS || Instant::now() + pause >= deadline {
                return Err(failure);
            }
            sleep(pause).await;
        }
        Err(self.too_late())
    }

    /// Whether the progress responses of every member are reliable.
    pub(super) async fn reports_progress_safely(&self) -> bool {
        let mut maintenance = self.client().maintenance_client();
        match timeout(self.request_timeout, maintenance.status()).await {
            Ok(Ok(status)) => {
                let safe = is_progress_safe(status.version());
                if !safe {
                    tracing::warn!(
                        version = status.version(),
                        "this etcd cannot be asked for watch progress safely; consistent reads will go to it"
                    );
                }
                safe
            }
            _ => false,
        }
    }

    /// Returns the size of the responding member's database, in bytes.
    pub(super) async fn database_bytes(&self) -> Option<u64> {
        let mut maintenance = self.client().maintenance_client();
        let status = timeout(self.health_timeout, maintenance.status()).await.ok()?.ok()?;
        u64::try_from(status.db_size()).ok()
    }

    fn client(&self) -> &Client {
        let turn = self.turn.fetch_add(1, Ordering::Relaxed) % self.clients.len().max(1);
        self.clients.get(turn).unwrap_or(&self.watches)
    }

    fn too_late(&self) -> Failure {
        Failure::Lost(format!("etcd did not answer within {} s", self.request_timeout.as_secs()))
    }

    async fn first_answer(&self, options: &Etcd3Options) -> Result<(), ConnectError> {
        let deadline = Instant::now() + Duration::from_secs(options.connect_timeout_seconds.max(1));
        let unreachable = |source: Unanswered| ConnectError::Unreachable {
            endpoints: options.endpoints.join(", "),
            source,
        };
        let mut backoff = FIRST_ANSWER_BACKOFF;
        let notice = FirstAnswerNotice { options, last: Mutex::default() };
        let mut last_failure = None;
        loop {
            let ask = self.call(Safety::Read, || {
                let mut kv = self.kv();
                async move { kv.get(super::HEALTH_KEY, None).await }
            });
            let answer = tokio::select! {
                answer = timeout_at(deadline, ask) => answer,
                never = notice.say_later() => match never {},
            };
            let failure = match answer {
                Ok(Ok(_)) => return Ok(()),
                Ok(Err(failure)) => failure,
                Err(_) => {
                    return Err(unreachable(last_failure.map_or(Unanswered::Late, Unanswered::Failed)));
                }
            };
            if !matches!(failure, Failure::NotSent(_) | Failure::Lost(_)) || Instant::now() >= deadline {
                return Err(unreachable(failure.into()));
            }
            notice.say(&failure.to_string());
            last_failure = Some(failure);
            sleep(backoff.next_pause()).await;
        }
    }
}

// === impl FirstAnswerNotice ===

impl FirstAnswerNotice<'_> {
    fn say(&self, failure: &str) {
        let mut last = self.last.lock();
        if last.is_some_and(|last| last.elapsed() < FIRST_ANSWER_NOTICE.1) {
            return;
        }
        *last = Some(Instant::now());
        let endpoints = self.options.endpoints.join(", ");
        let limit_seconds = self.options.connect_timeout_seconds;
        tracing::warn!(%endpoints, %failure, limit_seconds, "etcd does not answer, asking again");
    }

    /// Says it after a while. Never completes.
    async fn say_later(&self) -> Infallible {
        sleep(FIRST_ANSWER_NOTICE.0).await;
        self.say("no answer yet");
        pending().await
    }
}

async fn connect(options: &Etcd3Options, settings: ConnectOptions) -> Result<Client, ConnectError> {
    let connected = match channel::connector(options)? {
        Some(connector) => {
            let connect_timeout = Duration::from_secs(options.connect_timeout_seconds.max(1));
            let endpoints = options.endpoints.clone();
            let channel = channel::channel(endpoints, connector, connect_timeout, KEEP_ALIVE);
            Client::from_channel(Channel::Tonic(channel), Some(settings)).await
        }
        None => Client::connect(&options.endpoints, Some(settings)).await,
    };
    connected.map_err(ConnectError::Setup)
}

async fn settings(options: &Etcd3Options) -> Result<ConnectOptions, ConnectError> {
    let (interval, answer_within) = KEEP_ALIVE;
    let settings = ConnectOptions::new()
        .with_connect_timeout(Duration::from_secs(options.connect_timeout_seconds.max(1)))
        .with_keep_alive(interval, answer_within);
    let secure = options.endpoints.iter().any(|endpoint| endpoint.starts_with("https://"));
    if !secure && options.ca_file.is_none() && options.cert_file.is_none() {
        return Ok(settings);
    }
    let mut tls = TlsOptions::new();
    if let Some(authorities) = &options.ca_file {
        tls = tls.ca_certificate(Certificate::from_pem(pem(authorities, "CERTIFICATE").await?));
    }
    tls = match (&options.cert_file, &options.key_file) {
        (Some(certificate), Some(key)) => tls.identity(Identity::from_pem(
            pem(certificate, "CERTIFICATE").await?,
            pem(key, "PRIVATE KEY").await?,
        )),
        (None, None) => tls,
        _ => return Err(ConnectError::HalfAKeyPair),
    };
    Ok(settings.with_tls(tls))
}

/// Reads a PEM file, which has a section whose label ends like this: the client library does not say which file has none.
async fn pem(path: &Path, label: &'static str) -> Result<Vec<u8>, ConnectError> {
    let failed = |source| ConnectError::File { path: path.to_owned(), source };
    let content = tokio::fs::read(path).await.map_err(failed)?;
    let end = format!("{label}-----");
    if content.windows(end.len()).any(|part| part == end.as_bytes()) {
        return Ok(content);
    }
    Err(ConnectError::NoSection { path: path.to_owned(), label })
}

/// Kubernetes concept: the feature check for `RequestWatchProgress`.
fn is_progress_safe(version: &str) -> bool {
    let mut numbers = version.split(['.', '-', '+']).map(|part| part.parse::<u64>().unwrap_or_default());
    let mut next = || numbers.next().unwrap_or_default();
    let version = (next(), next(), next());
    let [old, new] = SAFE_PROGRESS;
    version >= new || (version >= old && version < (3, 5, 0))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn progress_is_asked_only_of_etcds_that_answer_in_order() {
        for safe in ["3.4.31", "3.4.40", "3.5.13", "3.5.21", "3.6.0", "3.6.0-rc.1", "4.0.0"] {
            assert!(is_progress_safe(safe), "{safe}");
        }
        for unsafe_one in ["3.3.10", "3.4.23", "3.4.30", "3.5.0", "3.5.12", ""] {
            assert!(!is_progress_safe(unsafe_one), "{unsafe_one}");
        }
    }
}
