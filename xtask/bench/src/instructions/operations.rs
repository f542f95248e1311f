//! The operations whose instructions are counted.

use bytes::Bytes;
use http_body_util::BodyExt as _;
use hyper::Method;
use hyper::body::Incoming;

use super::callgrind::Callgrind;
use super::profile::Profile;
use crate::Failure;
use crate::client::{Connection, Request};
use crate::objects::{self, Kind, config_map};
use crate::pods;
use crate::watching;

/// Number of requests before those that are counted: the first ones create what later ones use.
const WARM_UP: u32 = 20;
/// Number of objects in a list.
const LISTED: usize = 300;
/// Number of pods in a list.
const LISTED_PODS: usize = 50;
/// Number of other requests in whose place there is one list.
const REQUESTS_PER_LIST: u32 = 10;

/// An operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Operation {
    /// Reads a ConfigMap of 1.4 KB.
    Get,
    /// Lists 300 of them.
    List,
    /// Creates one.
    Create,
    /// Changes a field of one by a merge patch.
    MergePatch,
    /// Creates one while a client watches.
    WatchedCreate,
    /// Creates a pod of 2.6 KB, 7.4 KB as it is stored.
    PodCreate,
    /// Patches the whole status of a pod, as kubelets do.
    PodStatusPatch,
    /// Renews a node's Lease by an update.
    LeaseUpdate,
    /// Lists 50 pods.
    PodList,
    /// Lists 50 pods, in protobuf.
    PodListProtobuf,
}

/// All operations, in the order in which they are measured.
pub(super) const OPERATIONS: [Operation; 10] = [
    Operation::Get,
    Operation::List,
    Operation::Create,
    Operation::MergePatch,
    Operation::WatchedCreate,
    Operation::PodCreate,
    Operation::PodStatusPatch,
    Operation::LeaseUpdate,
    Operation::PodList,
    Operation::PodListProtobuf,
];

// === impl Operation ===

impl Operation {
    /// Returns the name, as the progress shows it.
    pub(super) const fn name(self) -> &'static str {
        match self {
            Self::WatchedCreate => "CREATE beside a watcher",
            other => other.row(),
        }
    }

    /// Returns the name of the table's row.
    pub(super) const fn row(self) -> &'static str {
        match self {
            Self::Get => "GET",
            Self::List => "LIST of 300",
            Self::Create => "CREATE",
            Self::MergePatch => "merge patch",
            Self::WatchedCreate => "event to a watcher",
            Self::PodCreate => "CREATE of a pod",
            Self::PodStatusPatch => "status patch of a pod",
            Self::LeaseUpdate => "update of a lease",
            Self::PodList => "LIST of 50 pods",
            Self::PodListProtobuf => "LIST of 50 pods, protobuf",
        }
    }

    /// Returns the name of the operation's namespace.
    const fn namespace(self) -> &'static str {
        match self {
            Self::Get => "get",
            Self::List => "list",
            Self::Create => "create",
            Self::MergePatch => "patch",
            Self::WatchedCreate => "watch",
            Self::PodCreate => "pod-create",
            Self::PodStatusPatch => "pod-status",
            Self::LeaseUpdate => "lease",
            Self::PodList => "pod-list",
            Self::PodListProtobuf => "pod-list-protobuf",
        }
    }

    /// Returns the path of the operation's collection.
    fn collection(self) -> String {
        let namespace = self.namespace();
        match self {
            Self::LeaseUpdate => format!("/apis/coordination.k8s.io/v1/namespaces/{namespace}/leases"),
            Self::PodCreate | Self::PodStatusPatch | Self::PodList | Self::PodListProtobuf => {
                Kind::Pod.collection(namespace)
            }
            _ => Kind::ConfigMap.collection(namespace),
        }
    }

    /// Returns the object that exists before, with a name.
    fn object(self, name: &str) -> Bytes {
        match self {
            Self::LeaseUpdate => pods::lease(name, 0, ""),
            Self::PodStatusPatch | Self::PodList | Self::PodListProtobuf => pods::usual_pod(name),
            _ => config_map(name, "0"),
        }
    }

    /// Returns the number of counted operations.
    fn requests(self, requests: u32) -> u32 {
        match self {
            Self::List | Self::PodList | Self::PodListProtobuf => requests.div_ceil(REQUESTS_PER_LIST),
            _ => requests,
        }
    }

    /// Returns the number of objects that exist before.
    const fn objects(self) -> usize {
        match self {
            Self::Get | Self::MergePatch | Self::PodStatusPatch | Self::LeaseUpdate => 1,
            Self::List => LISTED,
            Self::PodList | Self::PodListProtobuf => LISTED_PODS,
            Self::Create | Self::WatchedCreate | Self::PodCreate => 0,
        }
    }
}

/// The sender of the requests of an operation, one after the other over one connection.
struct Sender {
    operation: Operation,
    connection: Connection,
    /// The watch, if there is one: each request makes an event.
    events: Option<Incoming>,
    /// The resource version of the object that is updated.
    version: String,
}

/// Counts the instructions of an operation.
pub(super) async fn measure(
    operation: Operation,
    server: &Callgrind,
    requests: u32,
) -> Result<Profile, Failure> {
    let client = server.client()?;
    objects::make_namespace(&client, operation.namespace()).await?;
    let collection = operation.collection();
    let mut events = None;
    if operation == Operation::WatchedCreate {
        let path = format!("{collection}?{}", watching::PARAMETERS);
        let response = client.connect().await?.open(&path).await?;
        events = Some(response.into_body());
    }
    let mut connection = client.connect().await?;
    let mut version = String::new();
    for number in 0..operation.objects() {
        let object = operation.object(&format!("item-{number}"));
        let made = connection.fetch(Request::write(Method::POST, &collection, object)).await?;
        version = pods::version_of(&made)?;
    }
    let mut sender = Sender { operation, connection, events, version };
    let requests = operation.requests(requests);
    for number in 0..WARM_UP {
        sender.send(number).await?;
    }
    server.begin()?;
    for number in WARM_UP..WARM_UP + requests {
        sender.send(number).await?;
    }
    server.end(requests)
}

// === impl Sender ===

impl Sender {
    /// Sends one request, reads the response, and its event.
    async fn send(&mut self, number: u32) -> Result<(), Failure> {
        let collection = self.operation.collection();
        let object = format!("{collection}/item-0");
        match self.operation {
            Operation::Get => self.connection.exchange(Method::GET, &object, Bytes::new()).await?,
            Operation::List | Operation::PodList => {
                self.connection.exchange(Method::GET, &collection, Bytes::new()).await?
            }
            Operation::PodListProtobuf => {
                self.connection.exchange_as(Request::get(&collection, pods::PROTOBUF)).await?
            }
            Operation::Create | Operation::WatchedCreate => {
                // Names of one length.
                let body = config_map(&format!("created-{number:06}"), "0");
                self.connection.exchange(Method::POST, &collection, body).await?
            }
            Operation::PodCreate => {
                let body = pods::usual_pod(&format!("created-{number:06}"));
                self.connection.exchange(Method::POST, &collection, body).await?
            }
            Operation::MergePatch => {
                let patch = format!(r#"{{"data":{{"sent":"{number:06}"}}}}"#);
                self.connection.exchange_as(Request::merge_patch(&object, patch.into())).await?
            }
            Operation::PodStatusPatch => {
                let patch = pods::status_of(u64::from(number));
                self.connection.exchange_as(Request::merge_patch(&format!("{object}/status"), patch)).await?
            }
            Operation::LeaseUpdate => {
                let body = pods::lease("item-0", u64::from(number) + 1, &self.version);
                let renewed = self.connection.fetch(Request::write(Method::PUT, &object, body)).await?;
                self.version = pods::version_of(&renewed)?;
                renewed.len()
            }
        };
        match &mut self.events {
            Some(events) => receive(events).await,
            None => Ok(()),
        }
    }
}

/// Reads the event of one creation.
async fn receive(events: &mut Incoming) -> Result<(), Failure> {
    let mut last = None;
    while last != Some(b'\n') {
        let frame = events.frame().await.ok_or("the watch ended")??;
        last = frame.data_ref().and_then(|data| data.last().copied()).or(last);
    }
    Ok(())
}
