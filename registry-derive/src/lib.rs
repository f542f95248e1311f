//! `#[derive(Resource)]`: an annotated struct becomes an API resource.
//!
//! The grammar of `#[resource(…)]` lives in `registry-grammar`, which `cargo xtask codegen` shares; here the model is
//! turned into tokens, one emitter per output. Expansions are thin calls into `registry-core`, and nothing is
//! emitted after an error.

mod expand;

use proc_macro::TokenStream;
use syn::{DeriveInput, parse_macro_input};

/// Makes an API resource of a struct, or of a foreign type a unit struct stands for.
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
/// Everything the attribute can say:
///
#[doc = include_str!("../grammar/grammar.md")]
#[proc_macro_derive(Resource, attributes(resource))]
pub fn derive_resource(input: TokenStream) -> TokenStream {
    expand::expand(&parse_macro_input!(input as DeriveInput)).into()
}
