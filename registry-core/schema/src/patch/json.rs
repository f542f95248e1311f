//! JSON patch, [RFC 6902](https://www.rfc-editor.org/rfc/rfc6902), with the peculiarities of Kubernetes' library:
//! negative indexes count from the end, a missing `value` is null, and the whole document (the empty path) cannot be
//! replaced.

use serde_json::{Map, Value};

use super::shown::Touched;
use super::{Inapplicable, MAX_DEPTH, Malformed, Operation, PatchError, Place, TooLarge};
use crate::codec::json::type_name;
use registry_meta::budget::{Budget, memory};

mod pointer;

use pointer::Pointer;

/// Maximum number of operations in a patch.
const MAX_OPERATIONS: usize = 10_000;

/// Maximum size of the JSON that all copies of a patch add, in bytes.
const MAX_COPIED_BYTES: usize = 3 * 1024 * 1024;

/// Maximum number of list elements and tree nodes that a patch moves or visits: thousands of insertions at the front of
/// a long list would occupy a CPU for minutes.
const MAX_STEPS: usize = 10_000_000;

/// A parsed patch.
#[derive(Clone, Debug)]
pub struct JsonPatch {
    operations: Vec<PatchOperation>,
    unknown_fields: Vec<String>,
}

/// One operation. Missing members are reported only when it is applied.
#[derive(Clone, Debug)]
struct PatchOperation {
    /// The operation, or the error of applying one of an unknown name.
    kind: Result<Operation, Inapplicable>,
    path: Option<Pointer>,
    from: Option<Pointer>,
    value: Value,
}

/// The state of applying a patch, with its remaining budget.
struct Application<'b> {
    value: Value,
    budget: &'b Budget,
    copied_bytes: usize,
    steps: usize,
}

// === impl JsonPatch ===

impl JsonPatch {
    /// Parses a patch from JSON.
    ///
    /// # Errors
    /// [`PatchError::Malformed`] if it is not a list of operations, [`PatchError::TooLarge`] if there are too many.
    pub fn parse(patch: &Value) -> Result<Self, PatchError> {
        let operations = match patch {
            Value::Array(operations) => operations.as_slice(),
            Value::Null => &[],
            other => return Err(Malformed::Operations(type_name(other)).into()),
        };
        if operations.len() > MAX_OPERATIONS {
            return Err(TooLarge::Operations { count: operations.len(), most: MAX_OPERATIONS }.into());
        }
        let unknown_fields = unknown_fields(operations);
        let operations = operations.iter().map(PatchOperation::parse).collect::<Result<_, _>>()?;
        Ok(Self { operations, unknown_fields })
    }

    /// Returns the parts of a document that the operations visit.
    pub fn touched(&self) -> Touched {
        let mut all = Touched::default();
        for operation in &self.operations {
            for pointer in [&operation.path, &operation.from].into_iter().flatten() {
                all.at(pointer.parents());
            }
            let replaces = match operation.kind {
                Ok(Operation::Add | Operation::Replace | Operation::Move | Operation::Copy) => true,
                Ok(Operation::Remove | Operation::Test) | Err(_) => false,
            };
            if let Some(path) = operation.path.as_ref().filter(|_| replaces) {
                all.at(path.steps()).replace();
            }
        }
        all
    }

    /// Returns the paths of unknown members of operations, such as `[0].form`.
    pub fn unknown_fields(&self) -> &[String] {
        &self.unknown_fields
    }

    /// Applies all operations or none. What they add takes from the budget.
    ///
    /// # Errors
    /// [`PatchError::Inapplicable`] if an operation does not apply to the value, [`PatchError::TooLarge`] if the
    /// operations cost too much.
    pub fn apply(&self, value: &mut Value, budget: &Budget) -> Result<(), PatchError> {
        let mut application = Application { value: value.clone(), budget, copied_bytes: 0, steps: 0 };
        for operation in &self.operations {
            budget.take_steps(1)?;
            application.run(operation)?;
        }
        *value = application.value;
        Ok(())
    }
}

impl PatchOperation {
    fn parse(operation: &Value) -> Result<Self, Malformed> {
        let empty = Map::new();
        let fields = match operation {
            Value::Object(fields) => fields,
            Value::Null => &empty,
            other => return Err(Malformed::Operation(type_name(other))),
        };
        let text = |member: &'static str| match fields.get(member) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.as_str())),
            Some(other) => Err(Malformed::Member { member, found: type_name(other) }),
        };
        let kind = text("op")?.unwrap_or("unknown");
        Ok(Self {
            kind: Operation::named(kind).ok_or_else(|| Inapplicable::UnknownOperation(kind.to_owned())),
            path: text("path")?.map(Pointer::parse),
            from: text("from")?.map(Pointer::parse),
            value: fields.get("value").cloned().unwrap_or_default(),
        })
    }
}

fn unknown_fields(operations: &[Value]) -> Vec<String> {
    const KNOWN: [&str; 4] = ["op", "path", "from", "value"];
    let fields = operations.iter().enumerate().flat_map(|(index, operation)| {
        operation.as_object().into_iter().flat_map(Map::keys).map(move |field| (index, field))
    });
    let unknown = fields.filter(|(_, field)| !KNOWN.contains(&field.as_str()));
    unknown.map(|(index, field)| format!("[{index}].{field}")).collect()
}

// === impl Application ===

impl Application<'_> {
    fn run(&mut self, patch: &PatchOperation) -> Result<(), PatchError> {
        let operation = match &patch.kind {
            Ok(operation) => *operation,
            Err(unknown) => return Err(unknown.clone().into()),
        };
        let path = || patch.path.as_ref().ok_or(Inapplicable::NoMember { operation, member: "path" });
        let from = || patch.from.as_ref().ok_or(Inapplicable::NoMember { operation, member: "from" });
        match operation {
            Operation::Add => {
                self.take(&patch.value)?;
                self.add(path()?, patch.value.clone(), operation)
            }
            Operation::Remove => self.remove(path()?, operation).map(drop),
            Operation::Replace => {
                self.take(&patch.value)?;
                self.replace(path()?, patch.value.clone())
            }
            Operation::Move => {
                let moved = self.remove(from()?, operation)?;
                self.add(path()?, moved, operation)
            }
            Operation::Copy => {
                let copy = self.copy(from()?)?;
                self.add(path()?, copy, operation)
            }
            Operation::Test => self.test(path()?, &patch.value),
        }
    }

    /// Takes the memory of a copy.
    fn take(&self, value: &Value) -> Result<(), PatchError> {
        Ok(self.budget.take_bytes(memory::VALUE_BYTES + memory::value_bytes(value))?)
    }

    fn add(&mut self, path: &Pointer, value: Value, operation: Operation) -> Result<(), PatchError> {
        self.check_depth(path, &value)?;
        let place = if operation == Operation::Add { Place::Quoted } else { Place::Destination };
        let missing = || absent(operation, place, path);
        let (parent, key) = path.parent_mut(&mut self.value).ok_or_else(missing)?;
        match parent {
            Value::Object(map) => {
                map.insert(key.to_owned(), value);
            }
            Value::Array(list) if key == "-" => list.push(value),
            Value::Array(list) => {
                let index = pointer::index(key, list.len() + 1).map_err(|source| Inapplicable::NoPlace {
                    operation,
                    path: path.to_string(),
                    source,
                })?;
                self.steps += list.len() - index;
                list.insert(index, value);
            }
            _ => return Err(missing().into()),
        }
        self.check_steps()
    }

    fn remove(&mut self, path: &Pointer, operation: Operation) -> Result<Value, PatchError> {
        let is_removal = operation == Operation::Remove;
        let place = if is_removal { Place::Quoted } else { Place::From };
        let missing = || absent(operation, place, path);
        let (parent, key) = path.parent_mut(&mut self.value).ok_or_else(missing)?;
        // The library names the key only in moves.
        let named = || if is_removal { path.to_string() } else { key.to_owned() };
        let removed = match parent {
            Value::Object(map) => {
                let absent = || Inapplicable::NoKey { operation, path: named(), key: key.to_owned() };
                map.remove(key).ok_or_else(absent)?
            }
            Value::Array(list) => {
                let no_element =
                    |source| Inapplicable::NoElement { operation, member: "path", path: named(), source };
                let index = pointer::index(key, list.len()).map_err(no_element)?;
                self.steps += list.len() - index;
                list.remove(index)
            }
            _ => return Err(missing().into()),
        };
        self.check_steps()?;
        Ok(removed)
    }

    fn replace(&mut self, path: &Pointer, value: Value) -> Result<(), PatchError> {
        self.check_depth(path, &value)?;
        if path.is_whole() {
            return self.replace_whole(value);
        }
        let missing = |place| absent(Operation::Replace, place, path);
        let (parent, key) = path.parent_mut(&mut self.value).ok_or_else(|| missing(Place::Path))?;
        // The library sets keys that are absent too.
        if let Value::Object(map) = parent {
            map.insert(key.to_owned(), value);
            return Ok(());
        }
        let target = pointer::child_mut(parent, key).ok().flatten();
        *target.ok_or_else(|| missing(Place::Key))? = value;
        Ok(())
    }

    fn replace_whole(&mut self, value: Value) -> Result<(), PatchError> {
        if !matches!(value, Value::Object(_) | Value::Array(_)) {
            return Err(Inapplicable::ScalarDocument.into());
        }
        self.value = value;
        Ok(())
    }

    fn copy(&mut self, from: &Pointer) -> Result<Value, PatchError> {
        let operation = Operation::Copy;
        let missing = || absent(operation, Place::From, from);
        let (parent, key) = from.parent_mut(&mut self.value).ok_or_else(missing)?;
        let source = pointer::child_mut(parent, key).map_err(|source| Inapplicable::NoElement {
            operation,
            member: "from",
            path: from.to_string(),
            source,
        })?;
        // The copy of a missing field is null.
        let Some(source) = source else { return Ok(Value::Null) };
        let mut counter = ByteCounter { left: MAX_COPIED_BYTES.saturating_sub(self.copied_bytes) };
        let allowed = counter.left;
        if serde_json::to_writer(&mut counter, source).is_err() {
            return Err(TooLarge::Copies(MAX_COPIED_BYTES).into());
        }
        self.copied_bytes += allowed - counter.left;
        self.budget.take_bytes(memory::VALUE_BYTES + memory::value_bytes(source))?;
        Ok(source.clone())
    }

    fn test(&mut self, path: &Pointer, expected: &Value) -> Result<(), PatchError> {
        let operation = Operation::Test;
        let missing = || absent(operation, Place::Tested, path);
        let found = if path.is_whole() {
            Some(&mut self.value)
        } else {
            let (parent, key) = path.parent_mut(&mut self.value).ok_or_else(missing)?;
            pointer::child_mut(parent, key).map_err(|source| Inapplicable::NoElement {
                operation,
                member: "path",
                path: path.to_string(),
                source,
            })?
        };
        // A missing field is treated as null.
        if found.map_or(expected.is_null(), |found| found == expected) {
            return Ok(());
        }
        Err(PatchError::TestFailed { path: path.to_string() })
    }

    /// Moves and copies could nest a value so deeply that reading or dropping it overflows the stack.
    fn check_depth(&mut self, path: &Pointer, value: &Value) -> Result<(), PatchError> {
        if matches!(value, Value::Array(_) | Value::Object(_)) {
            let room = MAX_DEPTH.saturating_sub(path.depth());
            if !fits(value, room, &mut self.steps) {
                return Err(TooLarge::Depth { path: path.to_string(), most: MAX_DEPTH }.into());
            }
        }
        self.check_steps()
    }

    fn check_steps(&self) -> Result<(), PatchError> {
        if self.steps > MAX_STEPS {
            return Err(TooLarge::Steps.into());
        }
        Ok(())
    }
}

/// Whether the nesting depth of a value is within the limit; counts the visited nodes.
fn fits(value: &Value, room: usize, steps: &mut usize) -> bool {
    let Some(room) = room.checked_sub(1) else { return !matches!(value, Value::Array(_) | Value::Object(_)) };
    let mut child_fits = |child: &Value| {
        *steps += 1;
        fits(child, room, steps)
    };
    match value {
        Value::Array(list) => list.iter().all(child_fits),
        Value::Object(map) => map.values().all(&mut child_fits),
        _ => true,
    }
}

/// A writer that counts bytes, up to a limit.
struct ByteCounter {
    left: usize,
}

impl std::io::Write for ByteCounter {
    fn write(&mut self, bytes: &[u8]) -> std::io::Result<usize> {
        self.left = self.left.checked_sub(bytes.len()).ok_or(std::io::ErrorKind::StorageFull)?;
        Ok(bytes.len())
    }

    fn flush(&mut self) -> std::io::Result<()> {
        Ok(())
    }
}

fn absent(operation: Operation, place: Place, path: &Pointer) -> Inapplicable {
    Inapplicable::Absent { operation, place, path: path.to_string() }
}

#[cfg(test)]
mod tests;
