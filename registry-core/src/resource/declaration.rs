//! Checks a declaration against the schema, for errors that the compiler cannot detect because only the schema
//! determines the JSON names and types of fields.

use std::collections::BTreeSet;

use super::{Cell, ColumnType, ResourceDescription};
use crate::schema::{Scalar, TypeRef};

/// The use of a field in a declaration.
#[derive(Clone, Copy)]
enum Use {
    Selectable,
    Column(ColumnType),
    Scale,
}

/// Returns the errors in the declaration of a custom kind; empty if it is valid, and for built-in kinds.
pub(crate) fn problems(resource: &ResourceDescription) -> Vec<String> {
    if resource.is_builtin {
        return Vec::new();
    }
    let schema = (resource.schema)();
    let mut uses: Vec<(Use, &[&str])> = Vec::new();
    for field in resource.selectable {
        uses.push((Use::Selectable, field.path));
        if !field.other_path.is_empty() {
            uses.push((Use::Selectable, field.other_path));
        }
    }
    for column in resource.columns {
        match column.cell {
            Cell::Path(path) | Cell::Text(path) | Cell::Whole(path) | Cell::Flag(path) => {
                uses.push((Use::Column(column.kind), path));
            }
            Cell::Age(path) => uses.push((Use::Column(ColumnType::Date), path)),
            Cell::Computed(_) | Cell::Dated(_) => {}
        }
    }
    if let Some(scale) = &resource.scale {
        uses.extend([(Use::Scale, scale.replicas), (Use::Scale, scale.current)]);
        uses.extend(scale.selector.map(|path| (Use::Scale, path)));
    }
    let problem = |(how, path): (Use, &[&str])| problem(schema.root(), how, path);
    uses.into_iter().filter_map(problem).collect()
}

/// Returns the paths of fields whose JSON names are not in camelCase.
pub(crate) fn snake_case_fields(resource: &ResourceDescription) -> Vec<String> {
    let mut found = Vec::new();
    if !resource.is_builtin {
        collect(&(resource.schema)().root(), "", &mut BTreeSet::new(), &mut found);
    }
    found
}

fn problem(root: TypeRef<'_>, how: Use, path: &[&str]) -> Option<String> {
    let mut ty = root;
    for (index, step) in path.iter().enumerate() {
        // Maps and open schemas can contain any field.
        if ty.is_open() || ty.value().is_some() || ty.keeps_unknown() {
            return None;
        }
        let Some(field) = ty.field(step) else {
            let parent = path.get(..index).unwrap_or_default().join(".");
            return Some(format!(
                "{} names `{}`, but `{parent}` has no field `{step}` in JSON: add `#[serde(rename_all = \"camelCase\")]` to its \
                 struct, or give the JSON path, `path.to.field = \"path.to.field\"`",
                how.written(),
                path.join("."),
            ));
        };
        ty = field.ty();
    }
    if how.takes(&ty) {
        return None;
    }
    Some(format!(
        "{} names `{}`, which is {}: {}",
        how.written(),
        path.join("."),
        described(&ty),
        how.advice()
    ))
}

fn collect(ty: &TypeRef<'_>, path: &str, seen: &mut BTreeSet<String>, found: &mut Vec<String>) {
    if let Some(below) = ty.element().or_else(|| ty.value()) {
        collect(&below, path, seen, found);
        return;
    }
    let is_kubernetes = ty.name().is_some_and(|name| name.starts_with("io.k8s."));
    if is_kubernetes || ty.name().is_some_and(|name| !seen.insert(name.to_owned())) {
        return;
    }
    for field in ty.fields() {
        let below =
            if path.is_empty() { field.name().to_owned() } else { format!("{path}.{}", field.name()) };
        if field.name().contains('_') {
            found.push(below.clone());
        }
        collect(&field.ty(), &below, seen, found);
    }
}

fn described(ty: &TypeRef<'_>) -> String {
    if ty.is_struct() {
        return "an object".to_owned();
    }
    if ty.element().is_some() {
        return "a list".to_owned();
    }
    if ty.value().is_some() {
        return "a map".to_owned();
    }
    format!("a value of type `{}`", ty.go_name())
}

// === impl Use ===

impl Use {
    const fn written(self) -> &'static str {
        match self {
            Self::Selectable => "`selectable(…)`",
            Self::Column(_) => "`column(…)`",
            Self::Scale => "`scale(…)`",
        }
    }

    const fn advice(self) -> &'static str {
        match self {
            Self::Selectable => "selectors compare texts, whole numbers and booleans; name a field below it",
            Self::Column(_) => {
                "give the type of the field, `type = string`, `integer`, `number`, `boolean` or `date`; a list or an object is \
                 shown by a function, see `columns = …`"
            }
            Self::Scale => "it names two whole numbers and a label selector",
        }
    }

    fn takes(self, ty: &TypeRef<'_>) -> bool {
        // The compiler checks the fields of a scale.
        if ty.is_open() || matches!(self, Self::Scale) {
            return true;
        }
        let Some(scalar) = ty.scalar() else { return false };
        match self {
            Self::Selectable => !matches!(scalar, Scalar::Double | Scalar::Bytes),
            Self::Column(ColumnType::String) => {
                !matches!(scalar, Scalar::Int32 | Scalar::Int64 | Scalar::Double | Scalar::Bool)
            }
            Self::Column(ColumnType::Integer) => {
                matches!(scalar, Scalar::Int32 | Scalar::Int64 | Scalar::IntOrString)
            }
            Self::Column(ColumnType::Number) => {
                matches!(scalar, Scalar::Int32 | Scalar::Int64 | Scalar::Double | Scalar::Quantity)
            }
            Self::Column(ColumnType::Boolean) => matches!(scalar, Scalar::Bool),
            Self::Column(ColumnType::Date) => {
                matches!(scalar, Scalar::Time | Scalar::MicroTime | Scalar::String)
            }
            Self::Scale => true,
        }
    }
}
