//! The evaluation of paths.

use super::fault::Fault;
use super::{Filter, Found, Node, Slice, compare};

/// An evaluation with a limited number of visits. Recursive descents, wildcards and unions multiply, so that a short path
/// could visit an exponential number of values.
struct Evaluation {
    limit: usize,
    visits_left: usize,
}

struct Failure {
    fault: Fault,
    /// Whether there were values where the evaluation failed: a filter for existence accepts them.
    has_values: bool,
}

type Results<'a> = Result<Vec<Found<'a>>, Failure>;

/// Returns the results of the first node, after at most this number of visits.
pub(super) fn find<'a>(nodes: &'a [Node], root: Found<'a>, limit: usize) -> Result<Vec<Found<'a>>, Fault> {
    let mut evaluation = Evaluation { limit, visits_left: limit };
    let mut first = None;
    for node in nodes {
        let results = evaluation.node(node, vec![root]).map_err(|failure| failure.fault)?;
        first.get_or_insert(results);
    }
    Ok(first.unwrap_or_default())
}

// === impl Evaluation ===

impl Evaluation {
    /// Applies nodes, each to the results of the one before it.
    fn nodes<'a>(&mut self, nodes: &'a [Node], input: Vec<Found<'a>>) -> Results<'a> {
        nodes.iter().try_fold(input, |input, node| self.node(node, input))
    }

    fn node<'a>(&mut self, node: &'a Node, input: Vec<Found<'a>>) -> Results<'a> {
        self.visit(input.len() + 1)?;
        match node {
            Node::List(nodes) => self.nodes(nodes, input),
            Node::Text(text) => Ok(vec![Found::String(text)]),
            Node::Number(number) => Ok(vec![Found::Number(number); input.len()]),
            Node::Bool(value) => Ok(vec![Found::Bool(*value); input.len()]),
            Node::Field(name) => Ok(input.into_iter().filter_map(|value| field(value, name)).collect()),
            Node::Slice(slice) => self.slice(*slice, &input),
            Node::Filter(filter) => self.filter(filter, input),
            Node::Wildcard => {
                let mut results = Vec::new();
                for value in input {
                    self.children(value, &mut results)?;
                }
                Ok(results)
            }
            Node::Recursive => {
                let mut results = Vec::new();
                for value in input {
                    self.descend(value, &mut results)?;
                }
                Ok(results)
            }
            Node::Union(lists) => {
                let mut results = Vec::new();
                for nodes in lists {
                    results.extend(self.nodes(nodes, input.clone())?);
                }
                Ok(results)
            }
            Node::Identifier(name) => Err(match name.as_str() {
                "end" => failure(Fault::EndWithoutRange, false),
                "range" => failure(Fault::Range, true),
                other => failure(Fault::UnknownIdentifier(other.to_owned()), true),
            }),
        }
    }

    fn slice<'a>(&mut self, slice: Slice, input: &[Found<'a>]) -> Results<'a> {
        let mut results = Vec::new();
        for value in input {
            let items = match value {
                Found::Null => continue,
                Found::Array(items) => *items,
                other => return Err(failure(Fault::NoList(go_type(*other)), true)),
            };
            let Some((start, end)) = bounds(slice, items.len())? else { return Ok(results) };
            let step = match slice.step {
                Some(step) if step <= 0 => return Err(failure(Fault::InvalidStep, true)),
                Some(step) => usize::try_from(step).unwrap_or(usize::MAX),
                None => 1,
            };
            let selected = items.get(start..end).unwrap_or_default();
            self.visit(selected.len() / step)?;
            results.extend(selected.iter().step_by(step).map(Found::from));
        }
        Ok(results)
    }

    fn filter<'a>(&mut self, filter: &'a Filter, input: Vec<Found<'a>>) -> Results<'a> {
        let mut results = Vec::new();
        for value in input {
            let Found::Array(items) = value else {
                let shown = if value == Found::Null { "<nil>".to_owned() } else { value.to_string() };
                return Err(failure(Fault::NotFiltered(shown), true));
            };
            for item in items.iter().map(Found::from) {
                if self.is_selected(filter, item, !results.is_empty())? {
                    results.push(item);
                }
            }
        }
        Ok(results)
    }

    fn is_selected<'a>(
        &mut self,
        filter: &'a Filter,
        item: Found<'a>,
        has_results: bool,
    ) -> Result<bool, Failure> {
        let left = self.nodes(&filter.left, vec![item]);
        let Some((operator, right)) = &filter.comparison else {
            return match left {
                Ok(left) => Ok(!left.is_empty()),
                Err(_) if self.visits_left == 0 => Err(self.too_many()),
                Err(failure) => Ok(failure.has_values),
            };
        };
        let outside = |error: Failure| Failure { has_values: true, ..error };
        let Some(left) = only(&left.map_err(outside)?)? else { return Ok(false) };
        let right = self.nodes(right, vec![item]).map_err(outside)?;
        let Some(right) = only(&right)? else { return Ok(false) };
        compare::holds(left, operator, right).map_err(|error| failure(error.into(), has_results))
    }

    /// Adds a value that has children, and everything below it, to the results. A string has characters.
    fn descend<'a>(&mut self, value: Found<'a>, results: &mut Vec<Found<'a>>) -> Result<(), Failure> {
        let mut pending = vec![value];
        while let Some(value) = pending.pop() {
            self.visit(1)?;
            if !is_empty(value) {
                results.push(value);
                let from = pending.len();
                self.children(value, &mut pending)?;
                // The first child is on top.
                if let Some(children) = pending.get_mut(from..) {
                    children.reverse();
                }
            }
        }
        Ok(())
    }

    /// Adds the elements of a list or object to the results.
    fn children<'a>(&mut self, value: Found<'a>, results: &mut Vec<Found<'a>>) -> Result<(), Failure> {
        match value {
            Found::Array(items) => {
                self.visit(items.len())?;
                results.extend(items.iter().map(Found::from));
            }
            Found::Object(fields) => {
                self.visit(fields.len())?;
                results.extend(fields.values().map(Found::from));
            }
            Found::Null | Found::Bool(_) | Found::Number(_) | Found::String(_) => {}
        }
        Ok(())
    }

    fn visit(&mut self, values: usize) -> Result<(), Failure> {
        let Some(left) = self.visits_left.checked_sub(values) else {
            self.visits_left = 0;
            return Err(self.too_many());
        };
        self.visits_left = left;
        Ok(())
    }

    fn too_many(&self) -> Failure {
        failure(Fault::TooManyVisits(self.limit), false)
    }
}

fn field<'a>(value: Found<'a>, name: &str) -> Option<Found<'a>> {
    match value {
        Found::Object(fields) => fields.get(name).map(Found::from),
        _ => None,
    }
}

/// Returns the range of a slice in a list; `None` if it selects nothing.
fn bounds(slice: Slice, length: usize) -> Result<Option<(usize, usize)>, Failure> {
    let length_signed = i64::try_from(length).unwrap_or(i64::MAX);
    let mut start = slice.start.unwrap_or_default();
    if start < 0 {
        start = start.saturating_add(length_signed);
    }
    let mut end = slice.end.unwrap_or(length_signed);
    if end < 0 || (end == 0 && slice.is_index) {
        end = end.saturating_add(length_signed);
    }
    if start == end {
        return Ok(None);
    }
    let outside = |index: i64| failure(Fault::OutOfBounds { index, length }, true);
    let first = usize::try_from(start).ok().filter(|start| *start < length).ok_or_else(|| outside(start))?;
    let last = usize::try_from(end).ok().filter(|end| *end <= length);
    let last = last.ok_or_else(|| outside(end.wrapping_sub(1)))?;
    if first > last {
        return Err(failure(Fault::EndBeforeStart { start, end }, true));
    }
    Ok(Some((first, last)))
}

/// Returns the only value; `None` if there is none.
fn only<'a>(values: &[Found<'a>]) -> Result<Option<Found<'a>>, Failure> {
    match values {
        [] => Ok(None),
        [only] => Ok(Some(*only)),
        _ => Err(failure(Fault::SeveralCompared, true)),
    }
}

fn is_empty(value: Found<'_>) -> bool {
    match value {
        Found::Null | Found::Bool(_) | Found::Number(_) => true,
        Found::String(text) => text.is_empty(),
        Found::Array(items) => items.is_empty(),
        Found::Object(fields) => fields.is_empty(),
    }
}

fn failure(fault: Fault, has_values: bool) -> Failure {
    Failure { fault, has_values }
}

/// Formats the type of a value as [`go_text::type_name`](crate::go_text::type_name) does.
fn go_type(value: Found<'_>) -> &'static str {
    match value {
        Found::Null => "<nil>",
        Found::Bool(_) => "bool",
        Found::Number(number) if number.is_i64() => "int64",
        Found::Number(_) => "float64",
        Found::String(_) => "string",
        Found::Array(_) => "[]interface {}",
        Found::Object(_) => "map[string]interface {}",
    }
}
