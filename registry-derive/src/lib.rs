//! `#[derive(Resource)]`: turns an annotated struct into an API resource.
//!
//! The grammar of `#[resource(…)]` is in `registry-grammar`, which `cargo xtask codegen` shares; this crate generates
//! tokens from the model, with one emitter per output. Expansions are thin calls into `registry-core`, and nothing is
//! generated after an error.

mod expand;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Declares an API resource from a struct, or from a foreign type that a unit struct represents.
///
/// ```ignore
/// #[derive(Resource, Serialize, Deserialize, JsonSchema, Clone, Debug, Default)]
/// #[resource(
///     group = "zoo.example.dev", version = "v1", short = "enc", categories("all"),
///     selectable(spec.keeper, status.phase), index(spec.keeper),
///     column("Keeper", spec.keeper), column("Phase", status.phase),
///     scale(replicas = spec.replicas, current = status.replicas, selector = status.selector),
///     strategy = EnclosureStrategy,
/// )]
/// pub struct Enclosure {
///     pub metadata: ObjectMeta,
///     pub spec: EnclosureSpec,
///     #[resource(status)]
///     pub status: Option<EnclosureStatus>,
/// }
///
/// #[derive(Resource)]
/// #[resource(version = "v1", object = k8s_openapi::api::core::v1::Pod, short = "po", status)]
/// pub struct Pods;
/// ```
///
/// The attribute's grammar:
///
#[doc = include_str!("../grammar/grammar.md")]
#[proc_macro_derive(Resource, attributes(resource))]
pub fn derive_resource(input: TokenStream) -> TokenStream {
    expand::expand(&parse_macro_input!(input as DeriveInput)).into()
}
