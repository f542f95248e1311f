//! The paths of a group and version, from the capabilities of its storages.

use registry_core::api::{GroupVersion, Scope};
use registry_core::registry::InstalledPath;
use request_info::root_of;
use serde_json::{Map, Value};

use super::actions::{Action, PathScope};
use super::custom::is_custom;
use super::{connections, operations};

/// Returns all paths of a group and version.
pub(super) fn version_paths(version: GroupVersion, installed: &[&InstalledPath]) -> Map<String, Value> {
    let root = root_of(version);
    let mut paths = Map::new();
    if installed.iter().any(|path| !is_custom(path)) {
        paths.insert(format!("{root}/"), operations::resource_list(version));
    }
    for path in installed {
        let plural = path.resource.plural;
        let is_namespaced = path.capabilities.storage.scope() == Scope::Namespaced;
        let namespace = if is_namespaced { "/namespaces/{namespace}" } else { "" };
        let collection = format!("{root}{namespace}/{plural}");
        let Some(subresource) = path.subresource else {
            let watched = format!("{root}/watch{namespace}/{plural}");
            add(&mut paths, collection.clone(), path, PathScope::Collection);
            add(&mut paths, format!("{collection}/{{name}}"), path, PathScope::Object);
            add(&mut paths, watched.clone(), path, PathScope::WatchedCollection);
            add(&mut paths, format!("{watched}/{{name}}"), path, PathScope::WatchedObject);
            if is_namespaced {
                add(&mut paths, format!("{root}/{plural}"), path, PathScope::AllNamespaces);
                add(&mut paths, format!("{root}/watch/{plural}"), path, PathScope::WatchedEverywhere);
            }
            continue;
        };
        let url = format!("{collection}/{{name}}/{subresource}");
        match &path.capabilities.connecter {
            Some(connecter) => connections::add(&mut paths, &url, path, connecter.connect_spec()),
            None => add(&mut paths, url, path, PathScope::Object),
        }
    }
    paths
}

/// Adds a path, if it has any operation.
fn add(paths: &mut Map<String, Value>, url: String, path: &InstalledPath, place: PathScope) {
    let operations: Vec<Action> = actions(path, place);
    if operations.is_empty() {
        return;
    }
    let mut parameters = operations::path_parameters(path, place);
    parameters.push(operations::query("pretty", "string", "If 'true', then the output is pretty printed."));
    let of_all = operations.len() == 1;
    let mut item = Map::new();
    for action in operations {
        let mut operation = operations::operation(path, place, action);
        if of_all
            && let Some(Value::Array(own)) =
                operation.as_object_mut().and_then(|own| own.remove("parameters"))
        {
            // Parameters that all operations of a path share are listed at the path.
            parameters.extend(own);
        }
        item.insert(action.method().to_owned(), operation);
    }
    if is_custom(path) {
        operations::sort_by_name(&mut parameters);
    }
    item.insert("parameters".to_owned(), parameters.into());
    paths.insert(url, Value::Object(item));
}

fn actions(path: &InstalledPath, place: PathScope) -> Vec<Action> {
    let can = &path.capabilities;
    // The deprecated paths of watches are those of built-in kinds.
    let watches = can.watcher.is_some() && !is_custom(path);
    let all = match place {
        PathScope::WatchedCollection | PathScope::WatchedEverywhere => {
            vec![(Action::WatchList, watches)]
        }
        PathScope::WatchedObject => vec![(Action::Watch, watches)],
        PathScope::AllNamespaces => vec![(Action::List, can.lister.is_some())],
        PathScope::Collection => vec![
            (Action::List, can.lister.is_some()),
            (Action::Create, can.creater.is_some()),
            (Action::DeleteCollection, can.collection_deleter.is_some()),
        ],
        PathScope::Object => vec![
            (Action::Get, can.getter.is_some()),
            (Action::Create, can.named_creater.is_some()),
            (Action::Update, can.updater.is_some()),
            (Action::Patch, can.patcher.is_some()),
            (Action::Delete, can.deleter.is_some()),
        ],
    };
    all.into_iter().filter(|(_, served)| *served).map(|(action, _)| action).collect()
}
