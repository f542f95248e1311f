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
use crate::watching;

/// Number of requests before those that are counted: the first ones create what later ones use.
const WARM_UP: u32 = 20;
/// Number of objects in a list.
const LISTED: usize = 300;
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
}

/// All operations, in the order in which they are measured.
pub(super) const OPERATIONS: [Operation; 5] =
    [Operation::Get, Operation::List, Operation::Create, Operation::MergePatch, Operation::WatchedCreate];

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
        }
    }

    /// Returns the number of counted operations.
    fn requests(self, requests: u32) -> u32 {
        if self == Self::List { requests.div_ceil(REQUESTS_PER_LIST) } else { requests }
    }

    /// Returns the number of objects that exist before.
    const fn objects(self) -> usize {
        match self {
            Self::Get | Self::MergePatch => 1,
            Self::List => LISTED,
            Self::Create | Self::WatchedCreate => 0,
        }
    }
}

/// Counts the instructions of an operation, sent one after the other over one connection.
pub(super) async fn measure(
    operation: Operation,
    server: &Callgrind,
    requests: u32,
) -> Result<Profile, Failure> {
    let client = server.client()?;
    let namespace = operation.namespace();
    objects::make_namespace(&client, namespace).await?;
    let mut events = None;
    if operation == Operation::WatchedCreate {
        let path = format!("{}?{}", Kind::ConfigMap.collection(namespace), watching::PARAMETERS);
        let response =
            client.connect().await?.send(Method::GET, &path, "application/json", Bytes::new()).await?;
        events = Some(response.into_body());
    }
    let mut connection = client.connect().await?;
    let collection = Kind::ConfigMap.collection(namespace);
    for number in 0..operation.objects() {
        let object = config_map(&format!("item-{number}"), "0");
        connection.exchange(Method::POST, &collection, object).await?;
    }
    let requests = operation.requests(requests);
    for number in 0..WARM_UP {
        send(operation, &mut connection, events.as_mut(), number).await?;
    }
    server.begin()?;
    for number in WARM_UP..WARM_UP + requests {
        send(operation, &mut connection, events.as_mut(), number).await?;
    }
    server.end(requests)
}

/// Sends one request, reads the response, and its event.
async fn send(
    operation: Operation,
    connection: &mut Connection,
    events: Option<&mut Incoming>,
    number: u32,
) -> Result<(), Failure> {
    let collection = Kind::ConfigMap.collection(operation.namespace());
    let object = format!("{collection}/item-0");
    match operation {
        Operation::Get => connection.exchange(Method::GET, &object, Bytes::new()).await,
        Operation::List => connection.exchange(Method::GET, &collection, Bytes::new()).await,
        Operation::Create | Operation::WatchedCreate => {
            // Names of one length.
            let body = config_map(&format!("created-{number:06}"), "0");
            connection.exchange(Method::POST, &collection, body).await
        }
        Operation::MergePatch => {
            let patch = format!(r#"{{"data":{{"sent":"{number:06}"}}}}"#);
            connection.exchange_as(Request::merge_patch(&object, patch.into())).await
        }
    }?;
    match events {
        Some(events) => receive(events).await,
        None => Ok(()),
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
