//! Items used by the derive's expansions. Not a public interface; it can change together with the derive.

mod typed;

use std::marker::PhantomData;
use std::sync::OnceLock;

use schemars::JsonSchema;
use serde::Serialize;
use serde::de::DeserializeOwned;

pub use k8s_openapi;

use crate::api::{GroupVersionKind, Object};
use crate::registry::storage_map::Subresource;
use crate::resource::conversion::{ConversionError, Spoke};
pub use crate::resource::field;
use crate::resource::typed::{check, drop_absent};
use crate::resource::{Resource, Strategy};
use crate::rest::{Connecter, Getter, GracefulDeleter, NamedCreater, Patcher, Updater};
use crate::schema::{FieldNumbers, Schema};

/// A compiled-in type with a schema. Implemented for all types with `JsonSchema`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` has no schema",
    label = "needs `#[derive(JsonSchema)]`",
    note = "add `JsonSchema` (of the crate `schemars`) to the derives of this struct and of the types of its fields, or give a schema: `schema = path::to::function`"
)]
pub trait HasSchema: JsonSchema {}

#[diagnostic::do_not_recommend]
impl<T: JsonSchema> HasSchema for T {}

/// A compiled-in type that is read from and written as JSON. Implemented for all types with `Serialize` and
/// `Deserialize`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` cannot be read from and written as JSON",
    label = "needs `#[derive(Serialize, Deserialize)]`",
    note = "add `Serialize` and `Deserialize` (of the crate `serde`) to the derives of this struct and of the types of its fields"
)]
pub trait HasJson: Serialize + DeserializeOwned {}

#[diagnostic::do_not_recommend]
impl<T: Serialize + DeserializeOwned> HasJson for T {}

/// Returns the schema of a compiled-in type, compiled on first use. With field numbers (the text of the lock file next
/// to the crate's storage map) it has a protobuf form. If the schema cannot fully describe the struct, validation also
/// deserialises objects into the struct.
pub fn own_schema<T: HasSchema + HasJson>(
    cell: &'static OnceLock<Schema>,
    kind: GroupVersionKind,
    field_numbers: Option<&'static str>,
) -> Schema {
    let compiled = cell.get_or_init(|| {
        let mut generated = schemars::schema_for!(T).to_value();
        let has_unions = typed::has_unions(&generated);
        if has_unions {
            typed::keep_flattened(&mut generated);
        }
        let schema = Schema::from_json_schema(&generated, kind);
        let schema = if has_unions { schema.with_typed_check(check::<T>) } else { schema };
        match field_numbers {
            Some(lock) => schema.with_numbers(&T::schema_name(), &FieldNumbers::parse(lock)),
            None => schema,
        }
    });
    compiled.clone()
}

/// A type that is converted from another version. Implemented for all types with `TryFrom` or `From`.
#[diagnostic::on_unimplemented(
    message = "`{Self}` is not made from `{Source}`, which `hub = …` needs",
    label = "needs `impl TryFrom<{Source}> for {Self}`",
    note = "a spoke and its hub are made from each other: `impl TryFrom` both ways, or `From` where nothing can go wrong; an error has to implement `Display`"
)]
pub trait MadeFrom<Source>: Sized {
    /// Converts from the other version.
    ///
    /// # Errors
    /// Fails if the value cannot be represented in this version.
    fn made_from(source: Source) -> Result<Self, ConversionError>;
}

#[diagnostic::do_not_recommend]
impl<Source, T: TryFrom<Source, Error: std::fmt::Display>> MadeFrom<Source> for T {
    fn made_from(source: Source) -> Result<Self, ConversionError> {
        Self::try_from(source).map_err(|error| ConversionError::Unrepresentable(error.to_string()))
    }
}

/// Converts an object between versions through the Rust types. (The caller sets its type afterwards.)
///
/// # Errors
/// Fails if the object does not match the source type or cannot be represented in the target version.
pub fn converted<Source, Target>(object: &Object) -> Result<Object, ConversionError>
where
    Source: DeserializeOwned,
    Target: MadeFrom<Source> + Serialize,
{
    let source = object.view::<Source>()?;
    let converted = Target::made_from(source)?;
    let mut converted = Object::from_typed(&converted)?;
    drop_absent(&mut converted.0, &object.0);
    Ok(converted)
}

/// Compiles only if `S` is a spoke of `H`.
pub const fn is_spoke_of<S: Spoke<Hub = H>, H: Resource>() {}

/// Determines the object type of a strategy: the strategy's own for typed strategies; any for erased ones. Method calls
/// prefer the inherent `object`, so the trait's is used only if there is no [`Strategy`].
pub struct StrategyOf<S>(PhantomData<S>);

/// Represents an object type in [`StrategyOf`].
pub struct Handles<T>(PhantomData<T>);

/// Object type of a strategy without a declared type.
pub trait HandlesAny: Sized {
    /// Returns any requested type.
    fn object<T>(&self) -> Handles<T> {
        Handles(PhantomData)
    }
}

// === impl StrategyOf ===

impl<S> StrategyOf<S> {
    /// Creates the marker for `S`.
    #[expect(clippy::new_without_default, reason = "a question to the compiler, never a value")]
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<S: Strategy> StrategyOf<S> {
    /// Returns the strategy's object type.
    pub fn object(&self) -> Handles<S::Object> {
        Handles(PhantomData)
    }
}

impl<S> HandlesAny for StrategyOf<S> {}

/// Compiles only if `S` is a subresource below `R`.
pub const fn is_subresource_of<R: Resource, S: Subresource<Parent = R>>() {}

/// Compiles only if `S` serves `connect`.
pub const fn serves_connect<S: Connecter>() {}

/// Compiles only if `S` serves `create`.
pub const fn serves_create<S: NamedCreater>() {}

/// Compiles only if `S` serves `delete`.
pub const fn serves_delete<S: GracefulDeleter>() {}

/// Compiles only if `S` serves `get`.
pub const fn serves_get<S: Getter>() {}

/// Compiles only if `S` serves `patch`.
pub const fn serves_patch<S: Patcher>() {}

/// Compiles only if `S` serves `update`.
pub const fn serves_update<S: Updater>() {}
