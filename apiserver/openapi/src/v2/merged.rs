//! Merges the documents of extension servers into this server's.
//!
//! Definitions of the same name that are equal become one, which lists the kinds of all; others are renamed. This server's
//! own definitions and paths take precedence.
//!
//! Kubernetes concept: `MergeSpecsIgnorePathConflictRenamingDefinitionsAndParameters` of `k8s.io/kube-openapi`.

use std::collections::{BTreeSet, HashMap, HashSet};

use serde_json::{Map, Value};

use super::remote::{DEFINITIONS, PARAMETERS, SpecParts, rename_references};

/// The field of a definition that lists the kinds it describes.
pub(super) const KINDS: &str = "x-kubernetes-group-version-kind";

/// The field of a definition that lists the fields that are never absent.
const REQUIRED: &str = "required";

/// The documents of extension servers while this server's own is written.
pub(super) struct Merging {
    sources: Vec<Source>,
    /// The names of this server's own definitions.
    own: HashSet<String>,
}

struct Source {
    parts: SpecParts,
    /// The names of its definitions that are equal to this server's own.
    equal: BTreeSet<String>,
}

// === impl Merging ===

impl Merging {
    /// Begins with the documents of extension servers, those with the highest priority first. Paths that this server has
    /// are left out of them.
    pub(super) fn new(documents: Vec<SpecParts>, own_paths: &BTreeSet<String>) -> Self {
        let sources = documents.into_iter().map(|mut parts| {
            let before = parts.paths.len();
            parts.paths.retain(|path, _| !own_paths.contains(path));
            if parts.paths.len() < before {
                parts.keep_used();
            }
            Source { parts, equal: BTreeSet::new() }
        });
        Self { sources: sources.collect(), own: HashSet::new() }
    }

    /// Adds the kinds to one of this server's own definitions for which extension servers use it too.
    pub(super) fn own(&mut self, name: &str, definition: &mut Value) {
        if self.sources.is_empty() {
            return;
        }
        self.own.insert(name.to_owned());
        for source in &mut self.sources {
            let Some(theirs) = source.parts.definitions.get(name) else { continue };
            if is_equal(definition, theirs) {
                add_kinds(definition, theirs);
                source.equal.insert(name.to_owned());
            }
        }
    }

    /// Ends the merge, after all own definitions: returns everything that extension servers add.
    pub(super) fn finish(self) -> SpecParts {
        let Self { sources, own } = self;
        let mut added = SpecParts::default();
        for Source { mut parts, equal } in sources {
            parts.definitions.retain(|name, _| !equal.contains(name));
            let definitions = renames(&parts.definitions, &own, &added.definitions);
            let parameters = renames(&parts.parameters, &HashSet::new(), &added.parameters);
            parts.rename(&definitions, &parameters);
            add(&mut added.definitions, parts.definitions, add_kinds);
            add(&mut added.parameters, parts.parameters, |_, _| {});
            for (path, item) in parts.paths {
                added.paths.entry(path).or_insert(item);
            }
        }
        added
    }
}

/// Adds entries; what is there already is equal, and only `merge`d.
fn add(added: &mut Map<String, Value>, entries: Map<String, Value>, merge: impl Fn(&mut Value, &Value)) {
    for (name, entry) in entries {
        match added.get_mut(&name) {
            Some(present) => merge(present, &entry),
            None => {
                added.insert(name, entry);
            }
        }
    }
}

/// Returns the new names of the entries whose names stand for something else already: those of this server's `own`, and
/// of the entries that were `added` before.
fn renames(
    entries: &Map<String, Value>,
    own: &HashSet<String>,
    added: &Map<String, Value>,
) -> HashMap<String, String> {
    let mut renames = HashMap::new();
    let mut taken = HashSet::new();
    let is_free = |name: &str, entry: &Value| {
        !own.contains(name) && added.get(name).is_none_or(|present| is_equal(present, entry))
    };
    for (name, entry) in entries {
        if is_free(name, entry) {
            continue;
        }
        // Ends, because the names in use are finitely many.
        let mut numbered = (2_u64..).map(|number| format!("{name}_v{number}"));
        let free =
            numbered.find(|new| is_free(new, entry) && !entries.contains_key(new) && !taken.contains(new));
        if let Some(free) = free {
            taken.insert(free.clone());
            renames.insert(name.clone(), free);
        }
    }
    renames
}

/// Whether two definitions are equal, apart from the kinds they describe.
fn is_equal(a: &Value, b: &Value) -> bool {
    let fields = |value: &Value| {
        value.as_object().map(|fields| fields.len() - usize::from(fields.contains_key(KINDS)))
    };
    let (Some(mine), Some(other)) = (a.as_object(), b.as_object()) else { return a == b };
    fields(a) == fields(b)
        && mine.iter().filter(|(name, _)| *name != KINDS).all(|(name, value)| match other.get(name) {
            Some(theirs) if name == REQUIRED => texts(value) == texts(theirs),
            theirs => theirs == Some(value),
        })
}

/// Returns the texts in a list, whose order has no meaning.
fn texts(list: &Value) -> BTreeSet<&str> {
    list.as_array().into_iter().flatten().filter_map(Value::as_str).collect()
}

/// Adds the kinds that another definition describes.
fn add_kinds(definition: &mut Value, other: &Value) {
    let Some(more) = other.get(KINDS).and_then(Value::as_array) else { return };
    let Some(fields) = definition.as_object_mut() else { return };
    let kinds = fields.entry(KINDS).or_insert_with(|| Value::Array(Vec::new()));
    let Some(kinds) = kinds.as_array_mut() else { return };
    let known: HashSet<String> = kinds.iter().map(Value::to_string).collect();
    kinds.extend(more.iter().filter(|kind| !known.contains(&kind.to_string())).cloned());
}

// === impl SpecParts ===

impl SpecParts {
    /// Renames definitions and parameters, wherever they are.
    fn rename(&mut self, definitions: &HashMap<String, String>, parameters: &HashMap<String, String>) {
        if definitions.is_empty() && parameters.is_empty() {
            return;
        }
        let renamed = |reference: &str| {
            let of = |prefix: &str, names: &HashMap<String, String>| {
                Some(format!("{prefix}{}", names.get(reference.strip_prefix(prefix)?)?))
            };
            of(DEFINITIONS, definitions).or_else(|| of(PARAMETERS, parameters))
        };
        for entries in [&mut self.paths, &mut self.definitions, &mut self.parameters] {
            entries.values_mut().for_each(|value| rename_references(value, &renamed));
        }
        for (entries, names) in [(&mut self.definitions, definitions), (&mut self.parameters, parameters)] {
            for (name, new) in names {
                if let Some(entry) = entries.remove(name) {
                    entries.insert(new.clone(), entry);
                }
            }
        }
    }
}

#[cfg(test)]
mod tests {
    use serde_json::json;

    use super::*;

    fn parts(path: &str, definitions: Value) -> SpecParts {
        let schema = json!({ "$ref": "#/definitions/M" });
        let item = json!({ "get": { "responses": { "200": { "schema": schema } } } });
        let Value::Object(definitions) = definitions else { panic!("an object") };
        let paths = Map::from_iter([(path.to_owned(), item)]);
        SpecParts { paths, definitions, parameters: Map::new() }
    }

    fn kind(group: &str) -> Value {
        json!({ "group": group, "version": "v1", "kind": "M" })
    }

    #[test]
    fn equal_definitions_are_shared_and_others_renamed() {
        let equal = parts(
            "/apis/a/v1/x",
            json!({ "M": { "type": "object", REQUIRED: ["b", "a"], KINDS: [kind("a"), kind("own")] } }),
        );
        let other = parts(
            "/apis/b/v1/x",
            json!({ "M": { "type": "string", "items": { "$ref": "#/definitions/M" } }, "M_v2": { "type": "b" } }),
        );
        let again = parts("/apis/c/v1/x", json!({ "M": { "type": "number", KINDS: [kind("c")] } }));
        let last = parts("/apis/d/v1/x", json!({ "M": { "type": "number", KINDS: [kind("d")] } }));
        let mut merging = Merging::new(vec![equal, other, again, last], &BTreeSet::new());
        let mut own = json!({ "type": "object", REQUIRED: ["a", "b"], KINDS: [kind("own")] });
        merging.own("M", &mut own);
        assert_eq!(own[KINDS], json!([kind("own"), kind("a")]));

        let added = merging.finish();
        let names: Vec<&str> = added.definitions.keys().map(String::as_str).collect();
        assert_eq!(names, ["M_v2", "M_v3", "M_v4"]);
        assert_eq!(added.definitions["M_v3"]["items"]["$ref"], "#/definitions/M_v3");
        assert_eq!(added.definitions["M_v4"][KINDS], json!([kind("c"), kind("d")]));
        let schema = |path: &str| added.paths[path]["get"]["responses"]["200"]["schema"]["$ref"].clone();
        for (path, name) in [("a", "M"), ("b", "M_v3"), ("c", "M_v4"), ("d", "M_v4")] {
            assert_eq!(schema(&format!("/apis/{path}/v1/x")), format!("#/definitions/{name}"), "{path}");
        }
    }

    #[test]
    fn own_paths_take_precedence() {
        let path = "/apis/apps/v1/deployments";
        let theirs = parts(path, json!({ "M": { "type": "object" } }));
        let added = Merging::new(vec![theirs], &BTreeSet::from([path.to_owned()])).finish();
        assert!(added.paths.is_empty() && added.definitions.is_empty());
    }
}
