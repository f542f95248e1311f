//! Resolution of the types in `subresource(Type, …)`, and their path segments, from the implementations of
//! `Subresource`.

use syn::{Expr, ImplItem, ItemImpl, Lit, Path, Type};

use super::path_of;
use crate::Failure;

/// One `impl Subresource for Type`.
#[derive(Debug)]
pub(super) struct Implementation {
    /// The module of the implementation; the type is assumed to be in the same module.
    pub(super) module: Vec<String>,
    /// The type.
    pub(super) type_name: String,
    /// `Subresource::NAME`.
    pub(super) name: String,
}

// === impl Implementation ===

impl Implementation {
    /// Returns the implementation, if the item is one whose name is a string literal.
    pub(super) fn from_item(item: &ItemImpl, module: &[String]) -> Option<Self> {
        let (implemented, _) = item.trait_.as_ref()?;
        if implemented.segments.last()?.ident != "Subresource" {
            return None;
        }
        let Type::Path(implementer) = item.self_ty.as_ref() else { return None };
        let name = item.items.iter().find_map(|item| match item {
            ImplItem::Const(constant) if constant.ident == "NAME" => match &constant.expr {
                Expr::Lit(literal) => match &literal.lit {
                    Lit::Str(text) => Some(text.value()),
                    _ => None,
                },
                _ => None,
            },
            _ => None,
        })?;
        let type_name = implementer.path.segments.last()?.ident.to_string();
        Some(Self { module: module.to_vec(), type_name, name })
    }
}

/// Returns the implementation that a path in an attribute refers to, for a struct in `module`.
pub(super) fn resolve<'a>(
    all: &'a [Implementation],
    path: &Path,
    module: &[String],
) -> Result<&'a Implementation, Failure> {
    let steps: Vec<String> = path.segments.iter().map(|segment| segment.ident.to_string()).collect();
    let written = steps.join("::");
    let Some((name, modules)) = steps.split_last() else {
        return Err("a subresource needs a type".into());
    };
    // After a leading `crate`, `self` or `super`, the remaining modules must be the end of the type's module path.
    let modules: Vec<&String> =
        modules.iter().filter(|step| !matches!(step.as_str(), "crate" | "self" | "super")).collect();
    let fits = |candidate: &&Implementation| {
        let end = candidate.module.iter().rev().take(modules.len());
        candidate.type_name == *name && end.eq(modules.iter().rev().copied())
    };
    let candidates: Vec<&Implementation> = all.iter().filter(fits).collect();
    let here = || candidates.iter().copied().find(|candidate| candidate.module == module);
    match candidates.as_slice() {
        [only] => Ok(only),
        [] => Err(format!(
            "no `impl Subresource for {written}` with `const NAME: &'static str = \"…\"` in this package"
        )
        .into()),
        several => here().ok_or_else(|| {
            let paths: Vec<String> =
                several.iter().map(|candidate| path_of(&candidate.module, &candidate.type_name)).collect();
            format!("`{written}` may be {}: write its path from `crate`", paths.join(" or ")).into()
        }),
    }
}
