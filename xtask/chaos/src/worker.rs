//! A client that reads and writes at random, and records what it is answered.

use std::collections::BTreeMap;
use std::sync::Arc;
use std::time::Duration;

use hyper::Method;
use serde_json::{Value, json};
use tokio::sync::watch;
use tokio::time::sleep;

use crate::client::{Client, GUEST_TOKEN, Reply, Request, RequestError, TOKEN};
use crate::etcd;
use crate::history::{
    Action, Answer, Asked, Entries, Items, List, PatchForm, Read, Refusal, Version, WRITER, Write,
};
use crate::kinds::Kind;
use crate::recorder::{Recorder, Target};

/// Maximum pause between operations, and between the pages of a list.
const PAUSE_MILLISECONDS: u64 = 25;

/// Parts of the messages with which stores refuse writes that have no effect: etcd without space, and the embedded store whose disk
/// fails. No server ends before the store takes writes again; otherwise it would not be known whether its last write is on the disk.
const NOT_WRITTEN: [&str; 3] =
    [etcd::NO_SPACE, "the write could not be made durable", "refuses writes because its last commit failed"];

/// A client.
pub(crate) struct Worker {
    index: usize,
    client: Client,
    servers: usize,
    random: fastrand::Rng,
    recorder: Arc<Recorder>,
    targets: Arc<[Target]>,
    /// The version of each object that it saw last.
    known: BTreeMap<(String, String), Version>,
    /// The revision of each scope that it saw last in a list.
    listed: BTreeMap<String, u64>,
}

/// A reason for which servers have to refuse a write.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Denial {
    /// An admission policy denies it.
    ByPolicy,
    /// Its client has no rights, once they are revoked.
    WithoutRights,
}

/// The answer to a list that failed.
#[derive(Debug)]
pub(crate) enum ListError {
    /// The state is no longer there.
    Gone,
    Failed,
}

// === impl Denial ===

impl Denial {
    /// Returns the entry that such writes set to their number.
    pub(crate) fn entry(self) -> &'static str {
        match self {
            Self::ByPolicy => "forbidden",
            Self::WithoutRights => "revoked",
        }
    }
}

// === impl Worker ===

impl Worker {
    pub(crate) fn new(
        index: usize,
        client: Client,
        servers: usize,
        seed: u64,
        recorder: &Arc<Recorder>,
        targets: &Arc<[Target]>,
    ) -> Self {
        Self {
            index,
            client,
            servers,
            random: fastrand::Rng::with_seed(seed),
            recorder: Arc::clone(recorder),
            targets: Arc::clone(targets),
            known: BTreeMap::new(),
            listed: BTreeMap::new(),
        }
    }

    /// Reads and writes until it is told to stop.
    pub(crate) async fn run(mut self, stop: watch::Receiver<bool>) {
        let targets = Arc::clone(&self.targets);
        while !*stop.borrow() {
            // The first target is the one with the most checks: half of the operations are there.
            let choice = self.random.usize(0..targets.len() * 2).saturating_sub(targets.len());
            let server = self.random.usize(0..self.servers);
            if let Some(target) = targets.get(choice) {
                self.operate(target, server).await;
            }
            sleep(Duration::from_millis(self.random.u64(0..PAUSE_MILLISECONDS))).await;
        }
    }

    async fn operate(&mut self, target: &Target, server: usize) {
        if target.kind == Kind::Event && self.random.bool() {
            let name = format!("event-{}", self.random.u64(..));
            let entries = Entries::new();
            self.write(target, server, &name, Action::Create { entries }, None).await;
            return;
        }
        let Some(name) = self.random.choice(&target.names).cloned() else { return };
        match self.random.u32(0..100) {
            0..56 if target.kind != Kind::Event => {
                let action = self.action(target, &name);
                let denial = self.denial(target);
                self.write(target, server, &name, action, denial).await;
            }
            0..74 => self.read(target, server, &name).await,
            74..84 => self.list(target, server, Asked::Consistent).await,
            84..90 => self.list(target, server, Asked::Any).await,
            90..96 => self.list(target, server, Asked::Paged).await,
            choice => {
                let at = self.listed.get(&target.scope).copied().unwrap_or_default();
                let asked = if choice < 98 { Asked::Exact { at } } else { Asked::NotOlderThan { at } };
                if at > 0 {
                    self.list(target, server, asked).await;
                }
            }
        }
    }

    /// Chooses a write. Its entries name it, and the client.
    fn action(&mut self, target: &Target, name: &str) -> Action {
        let key = (target.scope.clone(), name.to_owned());
        let known = self.known.get(&key).cloned();
        let own = format!("client-{}", self.index);
        let entries = || Entries::from([(WRITER.to_owned(), String::new()), (own.clone(), String::new())]);
        match (self.random.u32(0..100), known) {
            (0..20, _) => Action::Create { entries: entries() },
            (20..45, Some(expected)) => {
                let mut replaced = expected.entries.clone();
                replaced.extend(entries());
                Action::Replace { expected, entries: replaced, creates: target.kind.creates_on_update() }
            }
            (20..65, _) => Action::Patch { form: self.form(target.kind), entries: entries() },
            (65..77, _) => Action::Apply { entries: entries() },
            (77..89, expected @ Some(_)) => Action::Delete { expected },
            _ => Action::Delete { expected: None },
        }
    }

    /// Chooses whether a write is one that servers have to refuse.
    fn denial(&mut self, target: &Target) -> Option<Denial> {
        match self.random.u32(0..100) {
            0..4 if target.has_denials => Some(Denial::ByPolicy),
            4..8 if target.has_denials => Some(Denial::WithoutRights),
            _ => None,
        }
    }

    fn form(&mut self, kind: Kind) -> PatchForm {
        match self.random.u32(0..3) {
            0 => PatchForm::Json,
            1 if kind != Kind::Widget => PatchForm::Strategic,
            _ => PatchForm::Merge,
        }
    }

    /// Writes, after the number of the write was put in its entries. Returns the revision if it was acknowledged.
    pub(crate) async fn write(
        &mut self,
        target: &Target,
        server: usize,
        object: &str,
        mut action: Action,
        denial: Option<Denial>,
    ) -> Option<u64> {
        let id = self.recorder.next_write();
        let own = format!("client-{}", self.index);
        if let Some(entries) = action.entries_mut() {
            let denied = denial.map(|denial| denial.entry().to_owned());
            let names = [WRITER.to_owned(), own].into_iter().chain(denied);
            entries.extend(names.map(|name| (name, id.to_string())));
        }
        let is_guest = denial == Some(Denial::WithoutRights) && action.entries().is_some();
        let token = if is_guest { GUEST_TOKEN } else { TOKEN };
        let request = Self::request(target, object, &action).with_token(token);
        let start = self.recorder.now();
        let answered = self.client.request(server, request).await;
        let end = self.recorder.now();
        if let Err(error @ RequestError::NotSent(_)) = &answered {
            self.recorder.fail(&error.to_string());
            return None;
        }
        let answer = answer(target.kind, object, &action, answered);
        if let Answer::Unknown { reason } | Answer::Rejected { reason } = &answer {
            self.recorder.fail(&format!("{} {}: {reason}", verb(&action), target.kind.plural()));
        }
        let key = (target.scope.clone(), object.to_owned());
        match &answer {
            Answer::Done { version: Some(version) } => {
                self.known.insert(key, version.clone());
            }
            // A part of the later writes expects a version of the past.
            Answer::Done { .. } | Answer::Refused { refusal: Refusal::NotFound } if self.random.bool() => {
                self.known.remove(&key);
            }
            _ => {}
        }
        let write = Write {
            id,
            client: self.index,
            server,
            scope: target.scope.clone(),
            object: object.to_owned(),
            start,
            end,
            action,
            answer,
        };
        let revision = write.revision();
        self.recorder.record(|history| history.writes.push(write));
        revision
    }

    fn request(target: &Target, object: &str, action: &Action) -> Request {
        let collection = target.collection();
        let path = format!("{collection}/{object}");
        let patch = Request::patch;
        match action {
            Action::Create { entries } => Request::with_body(
                Method::POST,
                collection,
                target.kind.object(&target.namespace, object, None, entries),
            ),
            Action::Replace { expected, entries, .. } => {
                let object = target.kind.object(&target.namespace, object, Some(expected.revision), entries);
                Request::with_body(Method::PUT, path, object)
            }
            Action::Patch { form: PatchForm::Json, entries } => {
                let at = target.kind.entries_path();
                let add =
                    |(name, value)| json!({ "op": "add", "path": format!("{at}/{name}"), "value": value });
                patch(path, "application/json-patch+json", entries.iter().map(add).collect())
            }
            Action::Patch { form: PatchForm::Merge, entries } => {
                patch(path, "application/merge-patch+json", target.kind.with_entries(entries))
            }
            Action::Patch { form: PatchForm::Strategic, entries } => {
                patch(path, "application/strategic-merge-patch+json", target.kind.with_entries(entries))
            }
            Action::Apply { entries } => {
                let path = format!("{path}?fieldManager={}&force=true", field_manager(entries));
                patch(
                    path,
                    "application/apply-patch+yaml",
                    target.kind.object(&target.namespace, object, None, entries),
                )
            }
            Action::Delete { expected } => {
                let mut options = json!({ "apiVersion": "v1", "kind": "DeleteOptions" });
                if let (Some(expected), Some(options)) = (expected, options.as_object_mut()) {
                    let revision = expected.revision.to_string();
                    options.insert("preconditions".to_owned(), json!({ "resourceVersion": revision }));
                }
                Request::with_body(Method::DELETE, path, options)
            }
        }
    }

    async fn read(&mut self, target: &Target, server: usize, object: &str) {
        let start = self.recorder.now();
        let path = format!("{}/{object}", target.collection());
        let answered = self.client.request(server, Request::get(path)).await;
        let end = self.recorder.now();
        let version = match answered {
            Ok(reply) if reply.is_success() => {
                target.kind.read(&reply.body).map(|(_, version)| Some(version))
            }
            Ok(reply) if refusal(&reply, object) == Some(Refusal::NotFound) => Some(None),
            Ok(reply) => return self.recorder.fail(&format!("get: {}", reply.reason())),
            Err(error) => return self.recorder.fail(&format!("get: {error}")),
        };
        let Some(version) = version else { return self.recorder.fail("get: the answer is not an object") };
        if let Some(version) = &version {
            self.known.insert((target.scope.clone(), object.to_owned()), version.clone());
        }
        let (client, scope, object) = (self.index, target.scope.clone(), object.to_owned());
        let read = Read { client, server, scope, object, start, end, version };
        self.recorder.record(|history| history.reads.push(read));
    }

    async fn list(&mut self, target: &Target, server: usize, asked: Asked) {
        let pause = Duration::from_millis(self.random.u64(0..PAUSE_MILLISECONDS * 8));
        let mut lister = Lister { index: self.index, client: &mut self.client, recorder: &self.recorder };
        if let Ok(revision) = lister.list(target, server, asked, pause).await {
            self.listed.insert(target.scope.clone(), revision);
        }
    }
}

/// Returns the field manager of an apply: one for each set of entry names.
///
/// The checks expect that an apply keeps all other entries. The server removes those that the manager applied before and leaves out
/// now, so a manager that applied an entry of a [`Denial`] while it had the right to must not apply without it later.
fn field_manager(entries: &Entries) -> String {
    let names: Vec<&str> = entries.keys().map(String::as_str).filter(|name| *name != WRITER).collect();
    names.join("-")
}

fn verb(action: &Action) -> &'static str {
    match action {
        Action::Create { .. } => "create",
        Action::Replace { .. } => "replace",
        Action::Patch { .. } => "patch",
        Action::Apply { .. } => "apply",
        Action::Delete { .. } => "delete",
    }
}

/// Returns the answer to a write of an object.
fn answer(kind: Kind, object: &str, action: &Action, answered: Result<Reply, RequestError>) -> Answer {
    let reply = match answered {
        Ok(reply) => reply,
        Err(error) => return Answer::Unknown { reason: error.to_string() },
    };
    if reply.is_success() {
        if matches!(action, Action::Delete { .. }) {
            return Answer::Done { version: None };
        }
        return match kind.read(&reply.body) {
            Some((_, version)) => Answer::Done { version: Some(version) },
            None => Answer::Unknown { reason: "the answer is not an object".to_owned() },
        };
    }
    if let Some(refusal) = refusal(&reply, object) {
        return Answer::Refused { refusal };
    }
    let reason = reply.reason();
    let is_refused = reply.status < 500 || NOT_WRITTEN.iter().any(|words| reply.says(words));
    if is_refused { Answer::Rejected { reason } } else { Answer::Unknown { reason } }
}

/// Returns the state of the object for which it was refused. A Status that names another object says nothing about this one.
fn refusal(reply: &Reply, object: &str) -> Option<Refusal> {
    let text = |path: &str| reply.body.pointer(path).and_then(Value::as_str);
    if text("/details/name") != Some(object) {
        return None;
    }
    match text("/reason")? {
        "AlreadyExists" => Some(Refusal::AlreadyExists),
        "Conflict" => Some(Refusal::Conflict),
        "NotFound" => Some(Refusal::NotFound),
        _ => None,
    }
}

/// A client that lists.
pub(crate) struct Lister<'a> {
    pub(crate) index: usize,
    pub(crate) client: &'a mut Client,
    pub(crate) recorder: &'a Recorder,
}

// === impl Lister ===

impl Lister<'_> {
    /// Lists and records it, with a pause between pages. Returns the revision.
    pub(crate) async fn list(
        &mut self,
        target: &Target,
        server: usize,
        asked: Asked,
        pause: Duration,
    ) -> Result<u64, ListError> {
        let start = self.recorder.now();
        let path = format!("{}?{}", target.collection(), query(asked));
        let mut body = self.fetch(server, path.clone()).await?;
        let end = self.recorder.now();
        let revision = revision(&body).ok_or(ListError::Failed)?;
        let mut items = items(target.kind, &body);
        let add = |revision, asked, items| {
            let (client, scope) = (self.index, target.scope.clone());
            let list = List { client, server, scope, start, end, asked, revision, items };
            self.recorder.record(|history| history.lists.push(list));
        };
        loop {
            let next = body.pointer("/metadata/continue").and_then(Value::as_str);
            let Some(next) = next.filter(|next| !next.is_empty()) else { break };
            sleep(pause).await;
            let next = format!("{path}&continue={next}");
            let Self { client, recorder, .. } = self;
            body = fetch(client, recorder, server, next).await?;
            let page = self::revision(&body).unwrap_or_default();
            if page != revision {
                // Recorded as a list that did not show the state that it had to show.
                add(page, Asked::Exact { at: revision }, Items::new());
            }
            items.extend(self::items(target.kind, &body));
        }
        add(revision, asked, items);
        Ok(revision)
    }

    async fn fetch(&mut self, server: usize, path: String) -> Result<Value, ListError> {
        fetch(self.client, self.recorder, server, path).await
    }
}

async fn fetch(
    client: &mut Client,
    recorder: &Recorder,
    server: usize,
    path: String,
) -> Result<Value, ListError> {
    match client.request(server, Request::get(path)).await {
        Ok(reply) if reply.is_success() => Ok(reply.body),
        Ok(reply) => {
            recorder.fail(&format!("list: {}", reply.reason()));
            Err(if reply.status == 410 { ListError::Gone } else { ListError::Failed })
        }
        Err(error) => {
            recorder.fail(&format!("list: {error}"));
            Err(ListError::Failed)
        }
    }
}

fn query(asked: Asked) -> String {
    match asked {
        Asked::Consistent => String::new(),
        Asked::Paged => "limit=2".to_owned(),
        Asked::Any => "resourceVersion=0".to_owned(),
        Asked::Exact { at } => format!("resourceVersion={at}&resourceVersionMatch=Exact"),
        Asked::NotOlderThan { at } => format!("resourceVersion={at}&resourceVersionMatch=NotOlderThan"),
    }
}

fn revision(list: &Value) -> Option<u64> {
    list.pointer("/metadata/resourceVersion")?.as_str()?.parse().ok()
}

fn items(kind: Kind, list: &Value) -> Items {
    let items = list.get("items").and_then(Value::as_array).into_iter().flatten();
    items.filter_map(|item| kind.read(item)).collect()
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_field_manager_applies_the_same_names_each_time() {
        let entries = |names: &[&str]| {
            names.iter().map(|name| ((*name).to_owned(), "1".to_owned())).collect::<Entries>()
        };
        let allowed = entries(&[WRITER, "client-1"]);
        let denied = entries(&[WRITER, "client-1", Denial::WithoutRights.entry()]);
        assert_eq!(field_manager(&allowed), "client-1");
        assert_eq!(field_manager(&denied), "client-1-revoked");
    }
}
