//! JSON patch, [RFC 6902](https://www.rfc-editor.org/rfc/rfc6902), with the peculiarities of Kubernetes' library:
//! negative indexes count from the end, a missing `value` is null, and the whole document (the empty path) can only be
//! tested and replaced, by an object or a list.

use serde_json::{Map, Value};

use super::shown::Touched;
use super::{MAX_DEPTH, PatchError};
use crate::codec::json::type_name;
use registry_meta::budget::{Budget, memory};

mod pointer;

use pointer::{IndexError, Pointer};

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
    kind: String,
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
            other => return Err(mismatch(other, "value of type []handlers.jsonPatchOp")),
        };
        if operations.len() > MAX_OPERATIONS {
            let count = operations.len();
            return Err(PatchError::TooLarge(format!(
                "The allowed maximum operations in a JSON patch is {MAX_OPERATIONS}, got {count}"
            )));
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
            if let (Some(path), "add" | "replace" | "move" | "copy") =
                (&operation.path, operation.kind.as_str())
            {
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
    fn parse(operation: &Value) -> Result<Self, PatchError> {
        let empty = Map::new();
        let fields = match operation {
            Value::Object(fields) => fields,
            Value::Null => &empty,
            other => return Err(mismatch(other, "value of type handlers.jsonPatchOp")),
        };
        let text = |name: &str| match fields.get(name) {
            None | Some(Value::Null) => Ok(None),
            Some(Value::String(text)) => Ok(Some(text.as_str())),
            Some(other) => Err(mismatch(other, &format!("struct field jsonPatchOp.{name} of type string"))),
        };
        Ok(Self {
            kind: text("op")?.unwrap_or("unknown").to_owned(),
            path: text("path")?.map(Pointer::parse),
            from: text("from")?.map(Pointer::parse),
            value: fields.get("value").cloned().unwrap_or_default(),
        })
    }

    fn path(&self) -> Result<&Pointer, PatchError> {
        let missing =
            || inapplicable(format!("{} operation failed to decode path: missing value", self.kind));
        self.path.as_ref().ok_or_else(missing)
    }

    fn from(&self) -> Result<&Pointer, PatchError> {
        let missing =
            || inapplicable(format!("{} operation failed to decode from: missing value", self.kind));
        self.from.as_ref().ok_or_else(missing)
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
    fn run(&mut self, operation: &PatchOperation) -> Result<(), PatchError> {
        match operation.kind.as_str() {
            "add" => {
                self.take(&operation.value)?;
                self.add(operation.path()?, operation.value.clone(), "add")
            }
            "remove" => self.remove(operation.path()?, "remove").map(drop),
            "replace" => {
                self.take(&operation.value)?;
                self.replace(operation.path()?, operation.value.clone())
            }
            "move" => {
                let moved = self.remove(operation.from()?, "move")?;
                self.add(operation.path()?, moved, "move")
            }
            "copy" => {
                let copy = self.copy(operation.from()?)?;
                self.add(operation.path()?, copy, "copy")
            }
            "test" => self.test(operation.path()?, &operation.value),
            other => Err(inapplicable(format!("Unexpected kind: {other}"))),
        }
    }

    /// Takes the memory of a copy.
    fn take(&self, value: &Value) -> Result<(), PatchError> {
        Ok(self.budget.take_bytes(memory::VALUE_BYTES + memory::value_bytes(value))?)
    }

    fn add(&mut self, path: &Pointer, value: Value, operation: &str) -> Result<(), PatchError> {
        self.check_depth(path, &value)?;
        let missing = || match operation {
            "add" => absent(&format!("add operation does not apply: doc is missing path: \"{path}\"")),
            other => {
                absent(&format!("{other} operation does not apply: doc is missing destination path: {path}"))
            }
        };
        let (parent, key) = path.parent_mut(&mut self.value).ok_or_else(missing)?;
        match parent {
            Value::Object(map) => {
                map.insert(key.to_owned(), value);
            }
            Value::Array(list) if key == "-" => list.push(value),
            Value::Array(list) => {
                let index = pointer::index(key, list.len() + 1).map_err(|why| {
                    let hint = match why {
                        IndexError::Malformed(_) => format!("value was not a proper array index: '{key}': "),
                        IndexError::OutOfRange(_) => String::new(),
                    };
                    inapplicable(format!("error in {operation} for path: '{path}': {hint}{why}"))
                })?;
                self.steps += list.len() - index;
                list.insert(index, value);
            }
            _ => return Err(missing()),
        }
        self.check_steps()
    }

    fn remove(&mut self, path: &Pointer, operation: &str) -> Result<Value, PatchError> {
        let missing = || match operation {
            "remove" => absent(&format!("remove operation does not apply: doc is missing path: \"{path}\"")),
            other => absent(&format!("{other} operation does not apply: doc is missing from path: {path}")),
        };
        let (parent, key) = path.parent_mut(&mut self.value).ok_or_else(missing)?;
        // The library names the key only in moves.
        let named: &dyn std::fmt::Display = if operation == "remove" { path } else { &key };
        let failed = |why: &dyn std::fmt::Display| {
            inapplicable(format!("error in {operation} for path: '{named}': {why}"))
        };
        let removed = match parent {
            Value::Object(map) => {
                let absent = || failed(&format!("Unable to remove nonexistent key: {key}: missing value"));
                map.remove(key).ok_or_else(absent)?
            }
            Value::Array(list) => {
                let index = pointer::index(key, list.len()).map_err(|why| failed(&why))?;
                self.steps += list.len() - index;
                list.remove(index)
            }
            _ => return Err(missing()),
        };
        self.check_steps()?;
        Ok(removed)
    }

    fn replace(&mut self, path: &Pointer, value: Value) -> Result<(), PatchError> {
        self.check_depth(path, &value)?;
        if path.is_whole() {
            return self.replace_whole(value);
        }
        let missing =
            |what: &str| absent(&format!("replace operation does not apply: doc is missing {what}: {path}"));
        let (parent, key) = path.parent_mut(&mut self.value).ok_or_else(|| missing("path"))?;
        // The library sets keys that are absent too.
        if let Value::Object(map) = parent {
            map.insert(key.to_owned(), value);
            return Ok(());
        }
        let target = pointer::child_mut(parent, key).ok().flatten();
        *target.ok_or_else(|| missing("key"))? = value;
        Ok(())
    }

    fn replace_whole(&mut self, value: Value) -> Result<(), PatchError> {
        if !matches!(value, Value::Object(_) | Value::Array(_)) {
            // The library formats an error that is nil.
            let text = "replace operation value must be object or array: %!w(<nil>)";
            return Err(inapplicable(text.to_owned()));
        }
        self.value = value;
        Ok(())
    }

    fn copy(&mut self, from: &Pointer) -> Result<Value, PatchError> {
        let missing = || absent(&format!("copy operation does not apply: doc is missing from path: {from}"));
        let (parent, key) = from.parent_mut(&mut self.value).ok_or_else(missing)?;
        let source = pointer::child_mut(parent, key)
            .map_err(|why| inapplicable(format!("error in copy for from: '{from}': {why}")))?;
        // The copy of a missing field is null.
        let Some(source) = source else { return Ok(Value::Null) };
        let mut counter = ByteCounter { left: MAX_COPIED_BYTES.saturating_sub(self.copied_bytes) };
        let allowed = counter.left;
        if serde_json::to_writer(&mut counter, source).is_err() {
            return Err(PatchError::TooLarge(format!(
                "the copies of a JSON patch may add {MAX_COPIED_BYTES} bytes at most"
            )));
        }
        self.copied_bytes += allowed - counter.left;
        self.budget.take_bytes(memory::VALUE_BYTES + memory::value_bytes(source))?;
        Ok(source.clone())
    }

    fn test(&mut self, path: &Pointer, expected: &Value) -> Result<(), PatchError> {
        let missing = || absent(&format!("test operation does not apply: is missing path: {path}"));
        let found = if path.is_whole() {
            Some(&mut self.value)
        } else {
            let (parent, key) = path.parent_mut(&mut self.value).ok_or_else(missing)?;
            pointer::child_mut(parent, key)
                .map_err(|why| inapplicable(format!("error in test for path: '{path}': {why}")))?
        };
        // A missing field is treated as null.
        if found.map_or(expected.is_null(), |found| found == expected) {
            return Ok(());
        }
        Err(PatchError::TestFailed(format!("testing value {path} failed: test failed")))
    }

    /// Moves and copies could nest a value so deeply that reading or dropping it overflows the stack.
    fn check_depth(&mut self, path: &Pointer, value: &Value) -> Result<(), PatchError> {
        if matches!(value, Value::Array(_) | Value::Object(_)) {
            let room = MAX_DEPTH.saturating_sub(path.depth());
            if !fits(value, room, &mut self.steps) {
                return Err(PatchError::TooLarge(format!("{path} would nest more than {MAX_DEPTH} levels")));
            }
        }
        self.check_steps()
    }

    fn check_steps(&self) -> Result<(), PatchError> {
        if self.steps > MAX_STEPS {
            return Err(PatchError::TooLarge("the JSON patch takes too many steps".to_owned()));
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

fn inapplicable(text: String) -> PatchError {
    PatchError::Inapplicable(text)
}

fn absent(text: &str) -> PatchError {
    inapplicable(format!("{text}: missing value"))
}

/// Returns the error of Go's decoder for JSON of the wrong type.
fn mismatch(found: &Value, wanted: &str) -> PatchError {
    let found = type_name(found);
    PatchError::Malformed(format!("error decoding patch: json: cannot unmarshal {found} into Go {wanted}"))
}

#[cfg(test)]
mod tests;
