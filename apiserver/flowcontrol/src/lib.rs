//! API Priority and Fairness: requests share the server by priority level and by flow.
//!
//! A request belongs to the first stored FlowSchema that matches it, and by it to a priority level. Each level has a part
//! of the server's seats. A request that finds seats executes at once; others wait in queues, in which flows take turns,
//! or are refused.
//!
//! | module | contents |
//! |---|---|
//! | `pages` | the debugging pages |
//! | `rules`, `estimator`, `objects`, `watches` | whom a schema matches; how many seats a request needs |
//! | `levels` | all levels, and the division of the seats between them |
//! | `level`, `configuration` | a level as configured, with its lock and its waiting requests |
//! | `queue_set`, `statistics` | the fair queues of one level, as a value without time of its own; `queue_set::queue_choice` chooses the queue that a request joins, `queue_set::dispatch` the one to be served |
//! | `sharding`, `demand`, `allocation` | the arithmetic: queues of a flow, observed demand, division of seats |
//! | `dropped` | when a refused client should try again |
//! | `metrics`, `metric_names`, `timed_ratio` | the metrics |
//! | `work` | the work of a request, in seat-seconds |
//!
//! Kubernetes concept:
//! [API Priority and Fairness](https://kubernetes.io/docs/concepts/cluster-administration/flow-control/).

use std::collections::BTreeMap;
use std::hash::{BuildHasher, RandomState};
use std::sync::Arc;
use std::time::Duration;

use arc_swap::ArcSwap;
use http::{HeaderMap, HeaderName, HeaderValue};
use k8s_openapi::api::flowcontrol::v1::{FlowDistinguisherMethod, FlowSchema};
use k8s_openapi::apimachinery::pkg::apis::meta::v1::ObjectMeta;
use parking_lot::{Mutex, MutexGuard};
use registry_core::context::UserInfo;
use registry_core::metrics::StorageMetrics;
use request_info::{RequestInfo, ResourceRequest, Verb};
use serde_json::Value;

use crate::metrics::{FlowMetrics, LevelNumbers, LevelSource};

mod allocation;
mod configuration;
mod demand;
mod dropped;
mod estimator;
mod level;
mod levels;
mod metric_names;
mod metrics;
mod objects;
mod pages;
mod queue_set;
mod rules;
mod sharding;
mod statistics;
mod timed_ratio;
mod watches;
mod work;

pub use configuration::LevelConfiguration;
pub use level::Seat;
pub use metrics::FlowControlMetrics;
pub use rules::level_of;
pub use watches::RegisteredWatch;

use estimator::Estimator;
use level::{Clock, Level};
use levels::Levels;
use objects::ObjectCounts;
use queue_set::Request;
use rules::CompiledSchema;
use watches::WatchTracker;

const SCHEMA_HEADER: HeaderName = HeaderName::from_static("x-kubernetes-pf-flowschema-uid");
const LEVEL_HEADER: HeaderName = HeaderName::from_static("x-kubernetes-pf-prioritylevel-uid");

/// Interval at which the seats of the levels follow their demand.
const ADJUSTMENT_PERIOD: Duration = Duration::from_secs(10);
/// Maximum time that a request waits in a queue.
const MAX_WAIT: Duration = Duration::from_mins(1);
/// A request waits at most this part of the time until its deadline.
const WAIT_DIVISOR: u32 = 4;

/// Divides the server between requests.
pub struct FlowControl {
    mandatory: Mandatory,
    clock: Clock,
    levels: Mutex<Levels>,
    in_force: ArcSwap<InForce>,
    watches: Arc<WatchTracker>,
    objects: ObjectCounts,
    metrics: FlowControlMetrics,
    hasher: RandomState,
    /// Maximum time that a request without a deadline waits.
    default_wait: Duration,
}

/// The levels and schemas that are in force even while they are not stored: without them, requests that no other schema matches
/// would have no level.
#[derive(Clone, Debug, Default)]
pub struct Mandatory {
    schemas: Vec<FlowSchema>,
    levels: BTreeMap<String, LevelConfiguration>,
}

/// The schemas in force.
struct InForce {
    /// In matching order.
    schemas: Box<[CompiledSchema]>,
    /// The schema of requests that none matches.
    catch_all: Option<Arc<Flow>>,
}

/// A flow schema and its priority level.
#[derive(Clone)]
pub struct Flow {
    schema: Arc<str>,
    /// `None` if the schema is not stored.
    schema_uid: Option<HeaderValue>,
    level: Arc<Level>,
    level_uid: Option<HeaderValue>,
    distinguisher: Distinguisher,
    metrics: Arc<FlowMetrics>,
}

/// The property of a request that distinguishes the flows of a schema.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
enum Distinguisher {
    Nothing,
    User,
    Namespace,
}

/// A request that asks for seats.
pub struct Wanted<'a> {
    /// The user who makes the request.
    pub user: &'a UserInfo,
    /// Its resource and verb.
    pub info: &'a RequestInfo,
    /// Its query.
    pub query: &'a str,
    /// The time from its arrival until its response is due, if there is such a time.
    pub time_limit: Option<Duration>,
}

/// A refused request.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub struct Refused {
    /// After how many seconds the client should try again.
    pub retry_after_seconds: u32,
}

// === impl Mandatory ===

impl Mandatory {
    /// Returns these, each a name with the spec of the schema and that of the level. Those that cannot be read are left out.
    pub fn new(specs: impl IntoIterator<Item = (&'static str, Value, Value)>) -> Self {
        let mut mandatory = Self::default();
        for (name, schema, level) in specs {
            let metadata = ObjectMeta { name: Some(name.to_owned()), ..ObjectMeta::default() };
            let schema = serde_json::from_value(schema).ok();
            let level = serde_json::from_value(level).ok();
            mandatory.schemas.extend(schema.map(|spec| FlowSchema {
                metadata,
                spec: Some(spec),
                ..FlowSchema::default()
            }));
            let level = level.and_then(|spec| LevelConfiguration::from_spec(spec, None));
            mandatory.levels.extend(level.map(|level| (name.to_owned(), level)));
        }
        mandatory
    }
}

// === impl FlowControl ===

impl FlowControl {
    /// Puts the mandatory levels and schemas in force, which stay until they are stored. `server_limit` is the number of seats
    /// of all limited levels; the number and size of stored objects are read from `storage`.
    pub fn new(
        server_limit: usize,
        request_timeout: Duration,
        metrics: &FlowControlMetrics,
        storage: &StorageMetrics,
        mandatory: Mandatory,
    ) -> Arc<Self> {
        let clock = Clock::start();
        let control = Arc::new(Self {
            clock,
            mandatory,
            levels: Mutex::new(Levels::new(server_limit, clock)),
            in_force: ArcSwap::from_pointee(InForce { schemas: Box::default(), catch_all: None }),
            watches: Arc::default(),
            objects: ObjectCounts::new(storage.clone(), clock),
            metrics: metrics.clone(),
            hasher: RandomState::new(),
            default_wait: (request_timeout / WAIT_DIVISOR).min(MAX_WAIT),
        });
        control.configure(BTreeMap::new(), Vec::new());
        let source: Arc<dyn LevelSource> = control.clone();
        metrics.read_from(Arc::downgrade(&source));
        control
    }

    /// Puts levels and schemas in force, with the mandatory ones. Schemas of other levels than these are left out.
    pub fn configure(&self, mut wanted: BTreeMap<String, LevelConfiguration>, stored: Vec<FlowSchema>) {
        let mut levels = self.levels();
        let is_stored =
            |schema: &FlowSchema| rules::level_of(schema).is_some_and(|level| wanted.contains_key(level));
        let mut stored: Vec<FlowSchema> = stored.into_iter().filter(is_stored).collect();
        for (name, level) in &self.mandatory.levels {
            wanted.entry(name.clone()).or_insert_with(|| level.clone());
        }
        levels.configure(wanted);
        for mandatory in &self.mandatory.schemas {
            if !stored.iter().any(|schema| schema.metadata.name == mandatory.metadata.name) {
                stored.push(mandatory.clone());
            }
        }
        let mut schemas: Vec<CompiledSchema> =
            stored.into_iter().filter_map(|schema| self.compile(schema, &levels)).collect();
        schemas.sort_by(|schema, other| schema.order().cmp(&other.order()));
        let is_catch_all = |schema: &&CompiledSchema| schema.order().1 == configuration::CATCH_ALL;
        let catch_all = schemas.iter().find(is_catch_all).map(CompiledSchema::flow);
        self.in_force.store(Arc::new(InForce { schemas: schemas.into(), catch_all }));
    }

    fn compile(&self, schema: FlowSchema, levels: &Levels) -> Option<CompiledSchema> {
        let (level, configuration) = levels.get(rules::level_of(&schema)?)?;
        let name = schema.metadata.name.as_deref()?;
        let method = schema.spec.as_ref().and_then(|spec| spec.distinguisher_method.as_ref());
        let flow = Flow {
            schema: name.into(),
            schema_uid: schema.metadata.uid.as_ref().and_then(|uid| HeaderValue::try_from(uid).ok()),
            level: level.clone(),
            level_uid: configuration.uid.clone(),
            distinguisher: Distinguisher::from_method(method),
            metrics: Arc::new(self.metrics.flow(level.name(), name)),
        };
        CompiledSchema::new(schema, flow)
    }

    /// Adapts the seats of the levels to their demand, again and again, until it is dropped.
    pub async fn follow_demand(&self) {
        loop {
            tokio::time::sleep(ADJUSTMENT_PERIOD).await;
            self.levels().adjust();
        }
    }

    /// Returns the flow of a request: that of the first matching schema, or of the last one if none matches. Returns `None`
    /// for long-running requests, watches excepted, as they begin with a list.
    pub fn classify(&self, user: &UserInfo, info: &RequestInfo) -> Option<Arc<Flow>> {
        if info.is_long_running() && info.verb != Verb::Watch {
            return None;
        }
        let in_force = self.in_force.load();
        let matching = in_force.schemas.iter().find(|schema| schema.matches(user, info));
        matching.map(CompiledSchema::flow).or_else(|| in_force.catch_all.clone())
    }

    /// Returns the seats of a request, at once or when it is its turn. What `on_wait` returns is kept while it waits.
    ///
    /// # Errors
    /// The level has no seats and no place in its queues, or the wait was too long.
    pub async fn enter<Waiting>(
        &self,
        flow: &Flow,
        wanted: Wanted<'_>,
        on_wait: impl FnOnce() -> Waiting,
    ) -> Result<Seat, Refused> {
        let max_wait =
            wanted.time_limit.map_or(self.default_wait, |limit| (limit / WAIT_DIVISOR).min(MAX_WAIT));
        let is_watch = wanted.info.verb == Verb::Watch;
        let request = self.request(flow, &wanted);
        flow.level
            .enter(request, is_watch, max_wait, on_wait)
            .await
            .map_err(|_| Refused { retry_after_seconds: flow.level.retry_after_seconds() })
    }

    fn request(&self, flow: &Flow, wanted: &Wanted<'_>) -> Request {
        let level = &flow.level;
        let metrics = &flow.metrics;
        let estimator = Estimator { objects: &self.objects, watches: &self.watches, metrics };
        let work = estimator.estimate(wanted.info, wanted.query, level.max_seats());
        metrics.estimated(work.max_seats());
        let distinguisher = if level.has_flows() { flow.distinguisher.text(wanted) } else { "" };
        Request {
            schema: flow.schema.clone(),
            metrics: flow.metrics.clone(),
            distinguisher: distinguisher.into(),
            hash: self.hasher.hash_one((&flow.schema, distinguisher)),
            details: details(wanted),
            work,
        }
    }

    /// Counts a watch among those that writes inform.
    pub fn register(&self, info: &RequestInfo) -> Option<RegisteredWatch> {
        self.watches.register(info)
    }

    /// Returns a debugging page; `None` if there is none at this path.
    pub fn page(&self, path: &str, query: &str) -> Option<String> {
        let page = path.strip_prefix(pages::PREFIX)?;
        let levels: Vec<(Arc<Level>, bool)> =
            self.levels().all().map(|(level, is_quiescing)| (level.clone(), is_quiescing)).collect();
        let now = self.clock.now();
        let only = || levels.iter().map(|(level, _)| &**level);
        match page {
            "dump_priority_levels" => {
                let all = levels.iter().map(|(level, is_quiescing)| (&**level, *is_quiescing));
                Some(pages::priority_levels(all, now))
            }
            "dump_queues" => Some(pages::queues(only(), now)),
            "dump_requests" => Some(pages::requests(only(), now, pages::wants_details(query))),
            _ => None,
        }
    }

    fn levels(&self) -> MutexGuard<'_, Levels> {
        self.levels.lock()
    }
}

impl LevelSource for FlowControl {
    fn numbers(&self) -> (Vec<LevelNumbers>, f64) {
        self.levels().numbers()
    }
}

/// Returns the user and the attributes of a request as columns of a debugging page. One text costs less than its parts,
/// and is read only if somebody looks at the page.
fn details(wanted: &Wanted<'_>) -> Box<str> {
    let Wanted { user, info, .. } = wanted;
    let resource = info.resource.as_ref();
    let of = |part: fn(&ResourceRequest) -> &String| resource.map_or("", |resource| part(resource));
    let (group, version) = (of(|resource| &resource.group), of(|resource| &resource.version));
    let slash = if group.is_empty() { "" } else { "/" };
    let separator = pages::SEPARATOR;
    [
        &user.name,
        separator,
        info.verb.as_str(),
        separator,
        &info.path,
        separator,
        of(|resource| &resource.namespace),
        separator,
        of(|resource| &resource.name),
        separator,
        group,
        slash,
        version,
        separator,
        of(|resource| &resource.resource),
        separator,
        of(|resource| &resource.subresource),
    ]
    .concat()
    .into()
}

// === impl Flow ===

impl Flow {
    /// Returns the names of the schema and of the level.
    pub fn names(&self) -> (&str, &str) {
        (&self.schema, self.level.name())
    }

    /// Sets the response headers that name the flow.
    pub fn add_to(&self, headers: &mut HeaderMap) {
        if let Some(uid) = &self.level_uid {
            headers.insert(LEVEL_HEADER, uid.clone());
        }
        if let Some(uid) = &self.schema_uid {
            headers.insert(SCHEMA_HEADER, uid.clone());
        }
    }
}

// === impl Distinguisher ===

impl Distinguisher {
    fn from_method(method: Option<&FlowDistinguisherMethod>) -> Self {
        match method.map(|method| method.type_.as_str()) {
            Some("ByUser") => Self::User,
            Some("ByNamespace") => Self::Namespace,
            _ => Self::Nothing,
        }
    }

    fn text<'a>(self, wanted: &Wanted<'a>) -> &'a str {
        match self {
            Self::Nothing => "",
            Self::User => &wanted.user.name,
            Self::Namespace => wanted.info.resource.as_ref().map_or("", |resource| &resource.namespace),
        }
    }
}
