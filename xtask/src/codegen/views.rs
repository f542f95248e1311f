//! `resources/views/src/generated`: typed views of Kubernetes' types, from the tables of facts.

use std::collections::{BTreeMap, BTreeSet};
use std::fmt::Write as _;

use super::output::Output;
use crate::Failure;
use crate::workspace::Workspace;

/// The table of facts about the types of the built-in resources.
const FACTS: &str = "resources/src/generated/types.facts";

/// The folder of the views.
const FOLDER: &str = "resources/views/src";

/// The first line of every file of views.
const PREAMBLE: &str =
    "// Written by `cargo xtask codegen` from the facts about upstream's types. Do not edit.\n\n";

/// Words of Rust that are names of fields.
const KEYWORDS: [&str; 12] =
    ["as", "continue", "enum", "for", "impl", "in", "match", "mod", "ref", "static", "type", "use"];

/// A type in the table.
enum Type<'a> {
    /// The view of a field without fields of its own.
    Scalar(&'static str),
    List(usize),
    Map(usize),
    Struct(Struct<'a>),
}

/// A struct of the table.
struct Struct<'a> {
    place: Place<'a>,
    fields: Vec<(&'a str, usize)>,
}

/// The module and the name of a struct.
#[derive(Clone, Copy)]
struct Place<'a> {
    group: &'a str,
    version: &'a str,
    name: &'a str,
}

/// The types by their numbers, and the numbers of those that are kinds.
#[derive(Default)]
struct Table<'a> {
    types: Vec<Type<'a>>,
    kinds: BTreeSet<usize>,
}

/// Returns the files of the views.
pub(super) fn emit(workspace: &Workspace) -> Result<Vec<Output>, Failure> {
    let path = workspace.root.join(FACTS);
    let text = std::fs::read_to_string(&path).map_err(|error| format!("{FACTS}: {error}"))?;
    let table = Table::parse(&text)?;
    let mut modules: BTreeMap<(&str, &str), String> = BTreeMap::new();
    for (number, ty) in table.types.iter().enumerate() {
        if let Type::Struct(declared) = ty
            && !declared.place.name.ends_with("List")
            && table.replacement(declared)?.is_none()
        {
            let module = modules.entry((declared.place.group, declared.place.version)).or_default();
            module.push_str(&table.declaration(number, declared)?);
        }
    }
    let folder = workspace.root.join(FOLDER);
    let mut outputs = vec![Output { path: folder.join("generated.rs"), bytes: root(&modules).into_bytes() }];
    for ((group, version), declarations) in modules {
        let path = folder.join(format!("generated/{group}/{version}.rs"));
        let text = format!(
            "{PREAMBLE}//! Types of `{group}/{version}`.\n\nuse crate::declare::prelude::*;\n\n{declarations}"
        );
        outputs.push(Output { path, bytes: text.into_bytes() });
    }
    Ok(outputs)
}

/// Returns the module that declares the others.
fn root(modules: &BTreeMap<(&str, &str), String>) -> String {
    let mut text = format!("{PREAMBLE}//! Views of the types of each group and version.\n");
    let groups: BTreeSet<&str> = modules.keys().map(|(group, _)| *group).collect();
    for group in groups {
        // Writing into a string cannot fail.
        let _ = write!(text, "\n/// Types of the group `{group}`.\npub mod {group} {{\n");
        for (_, version) in modules.keys().filter(|(of, _)| *of == group) {
            let _ = writeln!(text, "    #[rustfmt::skip]\n    pub mod {version};");
        }
        text.push_str("}\n");
    }
    text
}

// === impl Table ===

impl<'a> Table<'a> {
    fn parse(text: &'a str) -> Result<Self, Failure> {
        let mut table = Self::default();
        for (line, number) in text.lines().skip(1).zip(2..) {
            table.line(line).ok_or_else(|| format!("{FACTS}, line {number}: not understood"))?;
        }
        Ok(table)
    }

    fn line(&mut self, line: &'a str) -> Option<()> {
        if let Some(field) = line.strip_prefix(' ') {
            let mut words = field.split(' ');
            let field = (words.next()?, words.next()?.parse().ok()?);
            let Some(Type::Struct(last)) = self.types.last_mut() else { return None };
            last.fields.push(field);
            return Some(());
        }
        let words: Vec<&str> = line.split(' ').collect();
        let ty = match *words.as_slice() {
            ["s", scalar, ..] => Type::Scalar(scalar_view(scalar)?),
            ["l", element, ..] => Type::List(element.parse().ok()?),
            ["m", value, ..] => Type::Map(value.parse().ok()?),
            ["o", ..] => Type::Scalar("Raw"),
            ["t", _, name] => Type::Struct(Struct { place: Place::parse(name)?, fields: Vec::new() }),
            ["k", ty, ..] => {
                self.kinds.insert(ty.parse().ok()?);
                return Some(());
            }
            _ => return None,
        };
        self.types.push(ty);
        Some(())
    }

    /// Returns the declaration of the views of a struct. A kind has the views of a whole object. If the kind is also a part
    /// of other structs, it has the views of a part too.
    fn declaration(&self, number: usize, declared: &Struct<'a>) -> Result<String, Failure> {
        let name = declared.place.name;
        let is_kind = self.kinds.contains(&number);
        let mut text = String::new();
        if is_kind {
            text.push_str(&self.views("kinds", name, &format!("{name}Mut"), declared)?);
        }
        if !is_kind || self.is_part(number) {
            let part = self.part_name(number, name);
            text.push_str(&self.views("structs", &part, &format!("{part}Mut"), declared)?);
        }
        Ok(text)
    }

    fn views(
        &self,
        macro_name: &str,
        name: &str,
        writer: &str,
        declared: &Struct<'a>,
    ) -> Result<String, Failure> {
        let mut text = format!("{macro_name}! {{\n    {name} {writer} {{\n");
        for (field, ty) in self.own_fields(declared)? {
            let method = method_name(field);
            let read = self.view(ty, declared.place, false)?;
            let write = self.view(ty, declared.place, true)?;
            // Writing into a string cannot fail.
            let _ = writeln!(text, "        {method} = \"{field}\": {read}, {write};");
        }
        text.push_str("    }\n}\n\n");
        Ok(text)
    }

    /// Returns the view of a type, as it is written in a module.
    fn view(&self, number: usize, from: Place<'_>, writable: bool) -> Result<String, Failure> {
        let lifetimes = if writable { "'static, 'static" } else { "'v, 'p" };
        let ty = self.types.get(number).ok_or_else(|| format!("{FACTS} has no type {number}"))?;
        Ok(match ty {
            Type::Scalar(view) => format!("{view}<{lifetimes}>"),
            Type::List(element) => format!("List<{}>", self.view(*element, from, writable)?),
            Type::Map(value) => format!("Map<{}>", self.view(*value, from, writable)?),
            Type::Struct(declared) => {
                if let Some(stable) = self.replacement(declared)? {
                    return self.view(stable, from, writable);
                }
                let Place { group, version, name } = declared.place;
                let name = self.part_name(number, name);
                let same = (group, version) == (from.group, from.version);
                let module = if same { String::new() } else { format!("crate::{group}::{version}::") };
                if writable { format!("{module}{name}Mut<'m>") } else { format!("{module}{name}<'v, 'p>") }
            }
        })
    }

    /// Returns the stable struct of the same name as one of an alpha or beta version. It is of the same group, or of any
    /// if the group has no stable version.
    fn stable(&self, unstable: &Struct<'_>) -> Option<(usize, &Struct<'a>)> {
        let place = unstable.place;
        if place.is_stable() {
            return None;
        }
        let structs = self.types.iter().enumerate().filter_map(|(number, ty)| match ty {
            Type::Struct(declared) if declared.place.is_stable() => Some((number, declared)),
            _ => None,
        });
        let is_group_stable = structs.clone().any(|(_, declared)| declared.place.group == place.group);
        let is_near = |other: Place<'_>| other.group == place.group || !is_group_stable;
        structs.into_iter().find(|(_, other)| other.place.name == place.name && is_near(other.place))
    }

    /// Returns the fields of a struct, without those that the stable struct has too: they are read by its views.
    fn own_fields(&self, declared: &Struct<'a>) -> Result<Vec<(&'a str, usize)>, Failure> {
        let stable = self.stable(declared).map_or(&[][..], |(_, stable)| &stable.fields);
        let mut own = Vec::new();
        for (field, ty) in &declared.fields {
            let of_stable = stable.iter().find(|(other, _)| other == field);
            let shown = |ty: usize| self.view(ty, declared.place, false);
            if of_stable.map(|(_, other)| shown(*other)).transpose()? != Some(shown(*ty)?) {
                own.push((*field, *ty));
            }
        }
        Ok(own)
    }

    /// Returns the stable struct that has all fields of a struct, which has no views then.
    fn replacement(&self, declared: &Struct<'a>) -> Result<Option<usize>, Failure> {
        let Some((stable, _)) = self.stable(declared) else { return Ok(None) };
        Ok(self.own_fields(declared)?.is_empty().then_some(stable))
    }

    /// Returns the name of the view of a struct that is a part of an object.
    fn part_name(&self, number: usize, name: &str) -> String {
        if self.kinds.contains(&number) { format!("{name}Part") } else { name.to_owned() }
    }

    /// Whether a type is the type of a field, other than the items of a list of objects.
    fn is_part(&self, number: usize) -> bool {
        let holds = |field: usize| {
            field == number
                || matches!(self.types.get(field), Some(Type::List(inner) | Type::Map(inner)) if *inner == number)
        };
        self.types.iter().any(|ty| match ty {
            Type::Struct(declared) if !declared.place.name.ends_with("List") => {
                declared.fields.iter().any(|(_, field)| holds(*field))
            }
            _ => false,
        })
    }
}

// === impl Place ===

impl<'a> Place<'a> {
    /// Parses an OpenAPI name, `io.k8s.api.core.v1.Pod`.
    fn parse(name: &'a str) -> Option<Self> {
        let mut parts = name.rsplit('.');
        let (name, version, group) = (parts.next()?, parts.next()?, parts.next()?);
        // `io.k8s.apimachinery.pkg.version.Info` has no version.
        let version = if version == "version" { "v1" } else { version };
        Some(Self { group: if group == "pkg" { "version" } else { group }, version, name })
    }

    /// Whether this is neither an alpha nor a beta version.
    fn is_stable(&self) -> bool {
        !self.version.contains("alpha") && !self.version.contains("beta")
    }
}

/// Returns the view of a scalar.
fn scalar_view(scalar: &str) -> Option<&'static str> {
    Some(match scalar {
        "string" => "Text",
        "int32" | "int64" => "Integer",
        "double" => "Double",
        "bool" => "Boolean",
        "bytes" => "Bytes",
        "quantity" => "Quantity",
        "time" | "microtime" => "Time",
        "intorstring" => "IntOrString",
        "raw" | "any" => "Raw",
        _ => return None,
    })
}

/// Returns the name of the method of a field: `cluster_ips` for `clusterIPs`, `r#type` for `type`.
fn method_name(field: &str) -> String {
    let letters: Vec<char> = field.chars().filter(|letter| *letter != '$').collect();
    let mut name = String::new();
    for (place, letter) in letters.iter().enumerate() {
        let before = place.checked_sub(1).and_then(|before| letters.get(before)).copied();
        let after = letters.get(place + 1).copied();
        // The plural of an abbreviation is one word: `IPs`.
        let ends_plural = after == Some('s') && letters.get(place + 2).is_none_or(|next| next.is_uppercase());
        let begins_word = letter.is_uppercase()
            && before.is_some_and(|before| {
                !before.is_uppercase() || after.is_some_and(char::is_lowercase) && !ends_plural
            });
        if begins_word && !name.ends_with('_') {
            name.push('_');
        }
        match letter {
            '-' => name.push('_'),
            letter => name.extend(letter.to_lowercase()),
        }
    }
    if KEYWORDS.contains(&name.as_str()) { format!("r#{name}") } else { name }
}

#[cfg(test)]
mod tests {
    use super::method_name;

    #[test]
    fn methods_are_named_as_the_fields_of_structs_are() {
        for (field, expected) in [
            ("holderIdentity", "holder_identity"),
            ("clusterIPs", "cluster_ips"),
            ("hostIP", "host_ip"),
            ("nonResourceURLs", "non_resource_urls"),
            ("loadBalancerIP", "load_balancer_ip"),
            ("externalIPsOf", "external_ips_of"),
            ("IPBlock", "ip_block"),
            ("type", "r#type"),
            ("$ref", "r#ref"),
            ("x-kubernetes-int-or-string", "x_kubernetes_int_or_string"),
        ] {
            assert_eq!(method_name(field), expected);
        }
    }
}
