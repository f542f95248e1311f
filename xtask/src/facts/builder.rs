//! Writes one table: types are numbered in the order in which they are found, each distinct type once.

use std::collections::{BTreeMap, HashMap};
use std::fmt::Write;

use serde_json::{Value, json};

use super::FactsError;
use super::go::{self, GoFacts, GoField, GoType};
use super::openapi::OpenApi;

/// The first line of a table, which identifies its format.
const HEADER: &str = "orlop facts 1";

/// The first fields of every kind, which their order leaves out.
const HEAD_FIELDS: [&str; 3] = ["apiVersion", "kind", "metadata"];

/// The fields that usually follow, in this order; all others follow them by name.
const USUAL_FIELDS: [&str; 2] = ["spec", "status"];

/// Types with their own marshalling code in Go, and their form.
pub(super) const SPECIAL: &[(&str, &str)] = &[
    ("k8s.io/apimachinery/pkg/api/resource.Quantity", "quantity"),
    ("k8s.io/apimachinery/pkg/apis/meta/v1.FieldsV1", "raw"),
    ("k8s.io/apimachinery/pkg/apis/meta/v1.MicroTime", "microtime"),
    ("k8s.io/apimachinery/pkg/apis/meta/v1.Time", "time"),
    ("k8s.io/apimachinery/pkg/runtime.RawExtension", "raw"),
    ("k8s.io/apimachinery/pkg/util/intstr.IntOrString", "intorstring"),
    ("k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSON", "raw"),
];

/// The package of the JSON schema types in Go.
const SCHEMA_PROPS: &str = "k8s.io/apiextensions-apiserver/pkg/apis/apiextensions/v1.JSONSchemaProps";

/// Alternatives to a JSON schema, by the suffix of `JSONSchemaProps` in the name.
const SCHEMA_OR: &[(&str, &str)] = &[("OrArray", "list"), ("OrBool", "bool"), ("OrStringArray", "strings")];

/// Packages whose kinds Kubernetes stores as JSON, not protobuf.
const STORED_AS_JSON: &[&str] = &["k8s.io/apiextensions-apiserver/", "k8s.io/kube-aggregator/"];

/// Makes one table.
pub(super) struct Builder<'a> {
    go: &'a GoFacts,
    openapi: &'a OpenApi,
    /// The text of each type, by number.
    types: Vec<String>,
    /// The numbers of known types, by their text or, for structs, their path.
    known: HashMap<String, usize>,
    /// The names of the fields of each struct in Go's order, by its number.
    orders: HashMap<usize, Vec<String>>,
}

/// A field, with what the messages that contain it add.
struct Expanded {
    field: GoField,
    package: String,
    /// Protobuf numbers, from the outermost inlined message inwards; empty if protobuf has none.
    numbers: Vec<String>,
}

// === impl Builder ===

impl<'a> Builder<'a> {
    pub(super) fn new(go: &'a GoFacts, openapi: &'a OpenApi) -> Self {
        Self { go, openapi, types: Vec::new(), known: HashMap::new(), orders: HashMap::new() }
    }

    /// Returns the table's text.
    pub(super) fn finish(self, kinds: &BTreeMap<[String; 3], usize>) -> String {
        let mut text = format!("{HEADER}\n");
        text.push_str(&self.types.concat());
        for ([group, version, kind], id) in kinds {
            let group = if group.is_empty() { "-" } else { group };
            let order = self.orders.get(id).map(|fields| unusual_order(fields)).unwrap_or_default();
            let separator = if order.is_empty() { "" } else { " " };
            // Writing into a string cannot fail.
            let _ = writeln!(text, "k {id} {group} {version} {kind}{separator}{order}");
        }
        text
    }

    /// Returns the type of an OpenAPI component.
    pub(super) fn component(&mut self, name: &str) -> Result<usize, FactsError> {
        self.declared(&go::declared_path(name))
    }

    fn push(&mut self, line: String) -> usize {
        if let Some(known) = self.known.get(&line) {
            return *known;
        }
        let id = self.types.len();
        self.types.push(format!("{line}\n"));
        self.known.insert(line, id);
        id
    }

    fn declared(&mut self, path: &str) -> Result<usize, FactsError> {
        if let Some((_, scalar)) = SPECIAL.iter().find(|(special, _)| *special == path) {
            return Ok(self.push(format!("s {scalar} {} {}", go::openapi_name(path), go::printed(path))));
        }
        if let Some((_, or)) = path
            .strip_prefix(SCHEMA_PROPS)
            .and_then(|suffix| SCHEMA_OR.iter().find(|(known, _)| *known == suffix))
        {
            let schema = self.structure(SCHEMA_PROPS)?;
            return Ok(self.push(format!(
                "o {schema} {or} {} {}",
                go::openapi_name(path),
                go::printed(path)
            )));
        }
        if path.starts_with("k8s.io/apimachinery/pkg/types.") {
            return Ok(self.push(format!("s string - {}", go::printed(path))));
        }
        let Some(alias) = self.go.alias(path) else { return self.structure(path) };
        match self.go.resolve(go::package(path), alias)? {
            GoType::Declared(target) if self.is_struct(&target) => self.structure(path),
            GoType::Declared(target) => self.scalar_like(&target, path),
            GoType::Basic(basic) => self.basic(&basic, go::printed(path)),
            GoType::Pointer(_) => Err(FactsError::Contradiction(format!("{path} is a pointer"))),
            resolved @ (GoType::List(_) | GoType::Map(..)) => {
                self.container(&resolved, "- -", go::printed(path))
            }
        }
    }

    /// Returns the type of a renamed type: that of its target, in the end a built-in type.
    fn scalar_like(&mut self, target: &str, path: &str) -> Result<usize, FactsError> {
        let alias = self.go.alias(target);
        let alias = alias.ok_or_else(|| FactsError::Contradiction(format!("no type {target} for {path}")))?;
        match self.go.resolve(go::package(target), alias)? {
            GoType::Basic(basic) => self.basic(&basic, go::printed(path)),
            GoType::Declared(next) => self.scalar_like(&next, path),
            _ => Err(FactsError::Contradiction(format!("{path} stands for more than a scalar"))),
        }
    }

    fn is_struct(&self, path: &str) -> bool {
        self.go.fields(path).is_some()
    }

    fn basic(&mut self, basic: &str, printed: &str) -> Result<usize, FactsError> {
        let scalar = match basic {
            "string" | "bool" | "int32" | "int64" => basic,
            "int" => "int64",
            "float64" => "double",
            "interface{}" => return Ok(self.push("s any - interface {}".to_owned())),
            _ => return Err(FactsError::Contradiction(format!("Go's {basic} has no scalar"))),
        };
        Ok(self.push(format!("s {scalar} - {printed}")))
    }

    /// Returns a list or map type; `kind` is the list type and the keys of its elements.
    fn container(&mut self, ty: &GoType, kind: &str, printed: &str) -> Result<usize, FactsError> {
        match ty {
            GoType::List(element) if **element == GoType::Basic("byte".to_owned()) => {
                Ok(self.push("s bytes - []uint8".to_owned()))
            }
            GoType::List(element) => {
                let element = self.ty(element, "- -")?;
                Ok(self.push(format!("l {element} {kind} {printed}")))
            }
            GoType::Map(_, value) => {
                let value = self.ty(value, "- -")?;
                Ok(self.push(format!("m {value} {printed}")))
            }
            other => self.ty(other, kind),
        }
    }

    fn ty(&mut self, ty: &GoType, kind: &str) -> Result<usize, FactsError> {
        match ty {
            GoType::Pointer(inner) => self.ty(inner, kind),
            GoType::Basic(basic) => self.basic(basic, basic),
            GoType::List(_) | GoType::Map(..) => self.container(ty, kind, &print(ty)),
            GoType::Declared(path) => match self.go.alias(path) {
                // A named list type: the field determines its list type.
                Some(alias) if alias.starts_with("[]") => {
                    let list = self.go.resolve(go::package(path), alias)?;
                    self.container(&list, kind, go::printed(path))
                }
                _ => self.declared(path),
            },
        }
    }

    /// Returns a struct type, by its Go path.
    pub(super) fn structure(&mut self, path: &str) -> Result<usize, FactsError> {
        if let Some(known) = self.known.get(path) {
            return Ok(*known);
        }
        let id = self.types.len();
        self.types.push(String::new());
        self.known.insert(path.to_owned(), id);
        let name = go::openapi_name(path);
        let schema = self.openapi.schema(&name);
        let atomic =
            schema.is_some_and(|schema| schema.get("x-kubernetes-map-type") == Some(&"atomic".into()));
        let mut text = format!("t {} {name}\n", if atomic { "a" } else { "-" });
        let mut lines = BTreeMap::new();
        let fields = self.expand(path)?;
        self.orders.insert(id, fields.iter().map(|expanded| expanded.field.json.clone()).collect());
        for expanded in fields {
            let line = self.field(&name, &expanded)?;
            lines.entry(expanded.field.json).or_insert(line);
        }
        self.check_against_openapi(&name, &lines)?;
        text.extend(lines.into_values());
        if let Some(slot) = self.types.get_mut(id) {
            *slot = text;
        }
        Ok(id)
    }

    /// Returns the fields of a struct and of the structs inlined in it, its own first.
    fn expand(&self, path: &str) -> Result<Vec<Expanded>, FactsError> {
        let mut own = Vec::new();
        let mut inlined = Vec::new();
        let package = self.fields_of(path)?;
        let (package, fields) = match package {
            Some((package, fields)) => (package, fields.to_vec()),
            None => (go::package(path).to_owned(), self.fields_from_openapi(path)?),
        };
        for field in fields {
            let number = field.protobuf_number().map(str::to_owned);
            if field.inline {
                let GoType::Declared(target) = self.go.resolve(&package, &field.ty)? else {
                    return Err(FactsError::Contradiction(format!("{path} inlines {}", field.ty)));
                };
                for mut inner in self.expand(&target)? {
                    match &number {
                        Some(number) => inner.numbers.insert(0, number.clone()),
                        None => inner.numbers.clear(),
                    }
                    inlined.push(inner);
                }
            } else if !matches!(&*field.json, "" | "-") {
                own.push(Expanded { field, package: package.clone(), numbers: number.into_iter().collect() });
            }
        }
        own.append(&mut inlined);
        Ok(own)
    }

    /// Returns the declared fields of a struct or of the struct it renames, with the package that declares them.
    fn fields_of(&self, path: &str) -> Result<Option<(String, &'a [GoField])>, FactsError> {
        if let Some(fields) = self.go.fields(path) {
            return Ok(Some((go::package(path).to_owned(), fields)));
        }
        let Some(alias) = self.go.alias(path) else { return Ok(None) };
        match self.go.resolve(go::package(path), alias)? {
            GoType::Declared(target) => self.fields_of(&target),
            _ => Ok(None),
        }
    }

    /// Returns the fields of a component that the Go facts lack: an empty struct, or one of strings.
    fn fields_from_openapi(&self, path: &str) -> Result<Vec<GoField>, FactsError> {
        let name = go::openapi_name(path);
        if self.openapi.schema(&name).is_none() {
            return Err(FactsError::Contradiction(format!("nothing is known of {path}")));
        }
        let properties = self.openapi.properties(&name).into_iter().flatten();
        properties
            .map(|(field, schema)| {
                if schema.get("type") != Some(&"string".into()) {
                    return Err(FactsError::Contradiction(format!("{name}.{field} is in no Go facts")));
                }
                let omitempty = !self.openapi.is_required(&name, field);
                let json = field.clone();
                let ty = "string".to_owned();
                Ok(GoField { json, ty, omitempty, ..GoField::default() })
            })
            .collect()
    }

    fn field(&mut self, owner: &str, expanded: &Expanded) -> Result<String, FactsError> {
        let Expanded { field, package, numbers } = expanded;
        let property = self.openapi.properties(owner).and_then(|properties| properties.get(&field.json));
        let resolved = self.go.resolve(package, &field.ty)?;
        let id = self.ty(&resolved, &list_kind(field, property))?;
        let mut flags = String::new();
        let is_container = self.types.get(id).is_some_and(|text| text.starts_with(['l', 'm']));
        let pointer = matches!(resolved, GoType::Pointer(_));
        let in_protobuf =
            !numbers.is_empty() && !STORED_AS_JSON.iter().any(|prefix| package.starts_with(prefix));
        let is_list_kind = field.json == "items" && owner.ends_with("List");
        let map_type = property.and_then(|property| property.get("x-kubernetes-map-type")?.as_str());
        let bytes_list =
            !is_container && property.is_some_and(|it| it.get("x-kubernetes-list-type").is_some());
        let all = [
            ('p', pointer),
            ('e', field.omitempty),
            ('z', field.omitzero),
            ('r', self.openapi.is_required(owner, &field.json)),
            ('n', is_container && !pointer && !field.omitempty && in_protobuf && !is_list_kind),
            ('a', map_type == Some("atomic") || bytes_list),
            ('g', map_type == Some("granular")),
        ];
        flags.extend(all.iter().filter(|(_, set)| *set).map(|(flag, _)| flag));
        let dash = |text: &str| if text.is_empty() { "-".to_owned() } else { text.to_owned() };
        let default =
            default(field, property, &resolved).map(|default| default.to_string()).unwrap_or_default();
        let parts = [
            field.json.clone(),
            id.to_string(),
            dash(&flags),
            dash(&numbers.join(".")),
            dash(&field.patch_strategy),
            dash(&field.patch_merge_key),
            dash(&default),
        ];
        let mut line = parts.join(" ");
        while let Some(shorter) = line.strip_suffix(" -").filter(|text| text.split(' ').count() >= 4) {
            line.truncate(shorter.len());
        }
        Ok(format!(" {line}\n"))
    }

    /// Checks that the Go facts and the documents have the same fields.
    fn check_against_openapi(&self, name: &str, lines: &BTreeMap<String, String>) -> Result<(), FactsError> {
        let Some(properties) = self.openapi.properties(name) else { return Ok(()) };
        match properties.keys().find(|field| !lines.contains_key(*field)) {
            Some(field) => Err(FactsError::Contradiction(format!("{name}.{field} is in no Go facts"))),
            None => Ok(()),
        }
    }
}

/// Returns the fields of a kind after `metadata`, separated by commas, unless their order is the usual one.
fn unusual_order(fields: &[String]) -> String {
    let own = fields.iter().map(String::as_str).filter(|field| !HEAD_FIELDS.contains(field));
    let own: Vec<&str> = own.collect();
    let mut usual = own.clone();
    usual.sort_by_key(|field| (USUAL_FIELDS.iter().position(|known| known == field).unwrap_or(2), *field));
    if own == usual { String::new() } else { own.join(",") }
}

/// Returns the list type and the keys of a list: those in the document, or else those in the markers.
fn list_kind(field: &GoField, property: Option<&Value>) -> String {
    let declared = property.and_then(|property| property.get("x-kubernetes-list-type")?.as_str());
    let keys = property.and_then(|property| property.get("x-kubernetes-list-map-keys")?.as_array());
    let markers = field.marker("+listType");
    let kind = match declared.or_else(|| markers.first().copied().filter(|_| property.is_none())) {
        Some("atomic") => "a",
        Some("set") => "s",
        Some("map") => "m",
        _ => "-",
    };
    let keys: Vec<&str> = match keys {
        Some(keys) => keys.iter().filter_map(Value::as_str).collect(),
        None if property.is_none() => field.marker("+listMapKey"),
        None => Vec::new(),
    };
    format!("{kind} {}", if keys.is_empty() { "-".to_owned() } else { keys.join(",") })
}

/// Returns the default, unless it is what Go writes anyway: the zero value of a value field that is never omitted.
fn default(field: &GoField, property: Option<&Value>, ty: &GoType) -> Option<Value> {
    let default = property?.get("default")?;
    let always_written = !field.omitempty && !matches!(ty, GoType::Pointer(_));
    let is_zero = matches!(default.to_string().as_str(), "0" | "false" | "\"\"");
    let implied = *default == json!({}) || (always_written && is_zero);
    (!implied).then(|| default.clone())
}

/// Returns a type as Go prints it.
fn print(ty: &GoType) -> String {
    match ty {
        GoType::Pointer(inner) => format!("*{}", print(inner)),
        GoType::List(element) => format!("[]{}", print(element)),
        GoType::Map(key, value) => format!("map[{}]{}", print(key), print(value)),
        GoType::Basic(basic) if basic == "byte" => "uint8".to_owned(),
        GoType::Basic(basic) if basic == "interface{}" => "interface {}".to_owned(),
        GoType::Basic(basic) => basic.clone(),
        GoType::Declared(path) => go::printed(path).to_owned(),
    }
}
