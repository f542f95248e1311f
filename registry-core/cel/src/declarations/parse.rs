//! Reads the table of overloads. It is part of the program: what it holds is checked by a test.

use std::collections::HashMap;
use std::sync::Arc;

use super::{CostClass, Function, Library, Overload, named_type};
use crate::syntax::ast::Name;
use crate::types::{OpaqueType, Param, Type};

/// One overload a line: library, function, identifier (with `*` if it has a receiver), arguments, result, and the class of its
/// cost if that is not always 1.
const TABLE: &str = include_str!("overloads.txt");

pub(super) fn functions() -> HashMap<&'static str, Function> {
    let mut functions: HashMap<&'static str, Function> = HashMap::new();
    for (name, overload) in TABLE.lines().filter_map(line) {
        functions
            .entry(name)
            .or_insert_with(|| Function { name, overloads: Vec::new() })
            .overloads
            .push(overload);
    }
    functions
}

fn line(line: &'static str) -> Option<(&'static str, Overload)> {
    let (library, rest) = line.split_once(' ')?;
    let (function, rest) = rest.split_once(' ')?;
    let (id, rest) = rest.split_once(' ')?;
    let (args, rest) = rest.strip_prefix('(')?.split_once(") -> ")?;
    let (result, cost) = match rest.split_once(" : ") {
        Some((result, class)) => (result, CostClass::from_name(class)?),
        None => (rest, CostClass::One),
    };
    let mut types = Reader { rest: args };
    let mut parsed = Vec::new();
    while !types.rest.is_empty() {
        parsed.push(types.read()?);
        types.rest = types.rest.strip_prefix(", ").unwrap_or(types.rest);
    }
    let result = Reader { rest: result }.read()?;
    let is_generic = parsed.iter().chain([&result]).any(has_parameter);
    let overload = Overload {
        id: id.trim_end_matches('*'),
        library: library_of(library)?,
        is_member: id.ends_with('*'),
        args: parsed,
        result,
        is_generic,
        cost,
    };
    Some((function, overload))
}

fn library_of(name: &str) -> Option<Library> {
    Some(match name {
        "standard" => Library::Standard,
        "k8s-lists" => Library::KubernetesLists,
        "regex" => Library::Regex,
        "url" => Library::Url,
        "authorizer" => Library::Authorizer,
        "authorizer-selectors" => Library::AuthorizerSelectors,
        "quantity" => Library::Quantity,
        "optional" => Library::Optional,
        "strings" => Library::Strings,
        "sets" => Library::Sets,
        "ip" => Library::Ip,
        "cidr" => Library::Cidr,
        "format" => Library::Format,
        "comprehensions" => Library::Comprehensions,
        "semver" => Library::Semver,
        "lists" => Library::Lists,
        "jsonpatch" => Library::JsonPatch,
        _ => return None,
    })
}

struct Reader {
    rest: &'static str,
}

impl Reader {
    fn read(&mut self) -> Option<Type> {
        let end = self.rest.find(['(', ')', ',']).unwrap_or(self.rest.len());
        let (name, rest) = self.rest.split_at_checked(end)?;
        self.rest = rest;
        let mut parameters = Vec::new();
        if let Some(rest) = self.rest.strip_prefix('(') {
            self.rest = rest;
            while !self.rest.starts_with(')') {
                parameters.push(self.read()?);
                self.rest = self.rest.strip_prefix(", ").unwrap_or(self.rest);
            }
            self.rest = self.rest.strip_prefix(')')?;
        }
        let mut parameters = parameters.into_iter();
        match name {
            "list" => Some(Type::list(parameters.next()?)),
            "map" => Some(Type::map(parameters.next()?, parameters.next()?)),
            "optional_type" => Some(Type::Opaque(Arc::new(OpaqueType {
                name: Name::from(name),
                parameters: vec![parameters.next()?],
            }))),
            "type" => Some(Type::Type(parameters.next().map(Arc::new))),
            _ if name.len() == 1 => name.chars().next().map(|letter| Type::Param(Param::Declared(letter))),
            _ => named_type(name),
        }
    }
}

fn has_parameter(of: &Type) -> bool {
    match of {
        Type::Param(_) => true,
        Type::List(element) => has_parameter(element),
        Type::Map(entry) => has_parameter(&entry.0) || has_parameter(&entry.1),
        Type::Opaque(opaque) => opaque.parameters.iter().any(has_parameter),
        Type::Type(of) => of.as_deref().is_some_and(has_parameter),
        _ => false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn every_line_of_the_table_is_an_overload() {
        let count: usize = functions().values().map(|function| function.overloads.len()).sum();
        assert_eq!(count, TABLE.lines().count());
        assert_eq!(count, 343);
        let functions = functions();
        let signature = |name: &str, id: &str| {
            let overload = functions[name].overloads.iter().find(|overload| overload.id == id).unwrap();
            let args: Vec<_> = overload.args.iter().map(ToString::to_string).collect();
            format!("({}) -> {}", args.join(", "), overload.result)
        };
        assert_eq!(
            signature("_[_]", "optional_map_index_value"),
            "(optional_type(map(K, V)), K) -> optional_type(V)"
        );
        assert_eq!(signature("type", "type"), "(A) -> type(A)");
    }
}
