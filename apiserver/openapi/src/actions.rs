//! The actions and scopes of paths.

/// The action of an operation.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum Action {
    /// Reads an object.
    Get,
    /// Lists or watches objects.
    List,
    /// Watches one object, by a deprecated path.
    Watch,
    /// Watches objects, by a deprecated path.
    WatchList,
    /// Creates an object.
    Create,
    /// Replaces an object.
    Update,
    /// Patches an object.
    Patch,
    /// Deletes an object.
    Delete,
    /// Deletes objects.
    DeleteCollection,
}

/// The scope of a path.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(super) enum PathScope {
    /// All objects of a namespace, or of the cluster.
    Collection,
    /// The objects of all namespaces.
    AllNamespaces,
    /// One object, or a subresource of it.
    Object,
    /// The collection, below `watch/`.
    WatchedCollection,
    /// All namespaces, below `watch/`.
    WatchedEverywhere,
    /// One object, below `watch/`.
    WatchedObject,
}

/// `(name, type, description)` of query parameters.
type Parameters = &'static [(&'static str, &'static str, &'static str)];

const SELECTION: Parameters = &[
    ("continue", "string", "The token of the page before, to get the next one."),
    ("fieldSelector", "string", "A selector to restrict the list of returned objects by their fields."),
    ("labelSelector", "string", "A selector to restrict the list of returned objects by their labels."),
    ("limit", "integer", "The maximum number of objects in one answer."),
    ("resourceVersion", "string", "Which resource versions the request may be served from."),
    ("resourceVersionMatch", "string", "How resourceVersion is applied to list calls."),
    ("sendInitialEvents", "boolean", "Whether a watch begins with the present state."),
    (
        "shardSelector",
        "string",
        "A selector of the shard that the list is of; it needs the feature ShardedListAndWatch.",
    ),
    ("timeoutSeconds", "integer", "Timeout for the list or watch call."),
];
const WATCHING: Parameters = &[
    ("allowWatchBookmarks", "boolean", "Whether a watch sends bookmarks."),
    (
        "watch",
        "boolean",
        "Watch for changes to the described resources and return them as a stream of add, update, and remove \
         notifications.",
    ),
];
const WRITING: Parameters = &[
    ("dryRun", "string", "When present, indicates that modifications should not be persisted: All."),
    ("fieldManager", "string", "The name of the actor that is making these changes."),
    (
        "fieldValidation",
        "string",
        "What to do about unknown and duplicate fields: Ignore, Warn (the default) or Strict.",
    ),
];
const READING: Parameters =
    &[("resourceVersion", "string", "Which resource versions the request may be served from.")];
const FORCING: Parameters =
    &[("force", "boolean", "Whether an apply takes fields over from their managers.")];
const DELETING: Parameters = &[
    ("dryRun", "string", "When present, indicates that modifications should not be persisted: All."),
    ("gracePeriodSeconds", "integer", "The duration in seconds before the object should be deleted."),
    ("orphanDependents", "boolean", "Deprecated: use propagationPolicy."),
    (
        "ignoreStoreReadErrorWithClusterBreakingPotential",
        "boolean",
        "Whether to delete an object that cannot be read any more, whatever may depend on it.",
    ),
    ("propagationPolicy", "string", "What becomes of dependents: Orphan, Background or Foreground."),
];

// === impl PathScope ===

impl PathScope {
    /// Returns whether the path covers all namespaces.
    pub(super) const fn is_everywhere(self) -> bool {
        matches!(self, Self::AllNamespaces | Self::WatchedEverywhere)
    }
}

// === impl Action ===

impl Action {
    /// Returns the HTTP method, in OpenAPI's form.
    pub(super) const fn method(self) -> &'static str {
        match self {
            Self::Get | Self::List | Self::Watch | Self::WatchList => "get",
            Self::Create => "post",
            Self::Update => "put",
            Self::Patch => "patch",
            Self::Delete | Self::DeleteCollection => "delete",
        }
    }

    /// Returns the `x-kubernetes-action`.
    pub(super) const fn kubernetes_action(self) -> &'static str {
        match self {
            Self::List => "list",
            Self::Watch => "watch",
            Self::WatchList => "watchlist",
            Self::DeleteCollection => "deletecollection",
            other => other.method(),
        }
    }

    /// Returns the verb in the operation's id.
    pub(super) const fn id_verb(self) -> &'static str {
        match self {
            Self::Get => "read",
            Self::List => "list",
            Self::Watch | Self::WatchList => "watch",
            Self::Create => "create",
            Self::Update => "replace",
            Self::Patch => "patch",
            Self::Delete | Self::DeleteCollection => "delete",
        }
    }

    /// Returns the query parameters by purpose; some are part of two lists.
    pub(super) const fn parameters(self) -> &'static [Parameters] {
        match self {
            Self::Get => &[],
            Self::List | Self::Watch | Self::WatchList => &[SELECTION, WATCHING],
            Self::Create | Self::Update => &[WRITING],
            Self::Patch => &[WRITING, FORCING],
            Self::Delete => &[DELETING],
            Self::DeleteCollection => &[SELECTION, DELETING],
        }
    }

    /// Returns the query parameters of paths of custom kinds.
    pub(super) const fn custom_parameters(self) -> &'static [Parameters] {
        match self {
            Self::Get => &[READING],
            Self::DeleteCollection => &[SELECTION, WATCHING],
            other => other.parameters(),
        }
    }

    /// Returns the description of the operation on an object or a part of it (`part`: `status of `).
    pub(super) fn description(self, kind: &str, part: &str) -> String {
        match self {
            Self::Get => format!("read {part}the specified {kind}"),
            Self::List => format!("list or watch objects of kind {kind}"),
            Self::Watch => format!(
                "watch changes to an object of kind {kind}. deprecated: use the 'watch' parameter with a list \
                 operation instead, filtered to a single item with the 'fieldSelector' parameter."
            ),
            Self::WatchList => format!(
                "watch individual changes to a list of {kind}. deprecated: use the 'watch' parameter with a list \
                 operation instead."
            ),
            Self::Create => format!("create {part}{}{kind}", article(kind)),
            Self::Update => format!("replace {part}the specified {kind}"),
            Self::Patch => format!("partially update {part}the specified {kind}"),
            Self::Delete => format!("delete {}{kind}", article(kind)),
            Self::DeleteCollection => format!("delete collection of {kind}"),
        }
    }
}

/// Returns the article of a noun; empty for a plural one.
fn article(kind: &str) -> &'static str {
    match kind {
        _ if kind.ends_with('s') && !kind.ends_with("ss") => "",
        _ if kind.starts_with(['A', 'E', 'I', 'O', 'U', 'a', 'e', 'i', 'o', 'u']) => "an ",
        _ => "a ",
    }
}
