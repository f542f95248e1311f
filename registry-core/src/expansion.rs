//! What expansions of the derive call. Authors write nothing against it, so it may change with the derive.

use std::marker::PhantomData;
use std::sync::OnceLock;

use schemars::JsonSchema;

pub use k8s_openapi;

use crate::api::{GroupVersionKind, Object};
use crate::registry::storage_map::Subresource;
pub use crate::resource::field;
use crate::resource::{Resource, Strategy};
use crate::rest::{Connecter, Getter, GracefulDeleter, NamedCreater, Patcher, Updater};
use crate::schema::Schema;

/// NewFunc: an object with nothing set but its type.
pub fn new_object(kind: GroupVersionKind) -> Object {
    let mut object = Object::default();
    object.set_type(&kind.group_version().api_version(), kind.kind);
    object
}

/// The schema of an author's own struct, compiled on first use.
pub fn own_schema<T: JsonSchema>(cell: &'static OnceLock<Schema>, kind: GroupVersionKind) -> &'static Schema {
    cell.get_or_init(|| Schema::from_json_schema(schemars::schema_for!(T).as_value(), kind))
}

/// The type of object a strategy handles: the strategy's own for typed ones; any for erased ones, which have
/// none. Method calls prefer the inherent `object`, so the trait's is used only where there is no [`Strategy`].
pub struct StrategyOf<S>(PhantomData<S>);

/// Stands for an object's type in [`StrategyOf`].
pub struct Handles<T>(PhantomData<T>);

/// The object of a strategy that says nothing of its type.
pub trait HandlesAny: Sized {
    /// Whatever is asked for.
    fn object<T>(&self) -> Handles<T> {
        Handles(PhantomData)
    }
}

// === impl StrategyOf ===

impl<S> StrategyOf<S> {
    /// The question about `S`.
    #[expect(clippy::new_without_default, reason = "a question to the compiler, never a value")]
    pub const fn new() -> Self {
        Self(PhantomData)
    }
}

impl<S: Strategy> StrategyOf<S> {
    /// The strategy's own object type.
    pub fn object(&self) -> Handles<S::Object> {
        Handles(PhantomData)
    }
}

impl<S> HandlesAny for StrategyOf<S> {}

/// Compiles only if `S` is a subresource below `R`.
pub const fn is_subresource_of<R: Resource, S: Subresource<Parent = R>>() {}

/// Compiles only if `S` connects.
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
