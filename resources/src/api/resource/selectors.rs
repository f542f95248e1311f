//! Expressions that select devices.
//!
//! Kubernetes concept: `k8s.io/dynamic-resource-allocation/cel`.

use std::collections::BTreeMap;
use std::sync::{Arc, LazyLock};

use registry_core::api::FieldError;
use registry_core::api::validation::ErrorList;
use registry_core::cel::{
    CompileFailure, DeclType, Environment, Field as DeclaredField, Libraries, Library, ObjectType, Shape,
    Type,
};

use registry_core::context::Budget;
use resource_views::resource::v1::DeviceSelector;
use resource_views::{List, Text};

/// Maximum number of selectors of a request or of a class.
const MAX_SELECTORS: usize = 32;
/// Maximum length of an expression, in bytes.
const MAX_EXPRESSION_BYTES: usize = 10 << 10;
/// Maximum estimated cost of an expression.
const MAX_COST: u64 = 1_000_000;

const MAX_DOMAIN_BYTES: u64 = 63;
const MAX_DRIVER_BYTES: u64 = 63;
const MAX_ATTRIBUTES: u64 = 32;
const MAX_ATTRIBUTE_BYTES: u64 = 64;

/// Expressions over the variable `device`.
static ENVIRONMENT: LazyLock<Environment> = LazyLock::new(|| {
    let device = device();
    Environment::new(Libraries::for_stored_expressions().with(Library::Bindings))
        .with_variable("device", device.cel_type().clone())
        .with_sizes_of(device)
});

/// The type of a device: its driver, and its attributes and capacities by domain and name.
fn device() -> DeclType {
    let by_domain = |inner: DeclType| {
        DeclType::new(Shape::Map(Arc::new(inner.with_max_elements(MAX_ATTRIBUTES))))
            .with_max_elements(MAX_ATTRIBUTES)
    };
    let attribute = DeclType::new(Shape::Any).with_max_elements(MAX_ATTRIBUTE_BYTES);
    let quantity = ObjectType::without_fields("kubernetes.Quantity");
    let quantity = DeclType::new(Shape::Object(Arc::new(quantity))).with_min_serialized_size(8);
    let attributes = DeclType::new(Shape::Map(Arc::new(attribute))).with_selectable_entries();
    let capacities = DeclType::new(Shape::Map(Arc::new(quantity)));
    let fields = [
        ("driver", DeclType::new(Shape::String).with_max_elements(MAX_DRIVER_BYTES.max(MAX_DOMAIN_BYTES))),
        ("allowMultipleAllocations", DeclType::new(Shape::Bool).with_max_elements(1)),
        ("attributes", by_domain(attributes)),
        ("capacity", by_domain(capacities)),
    ];
    let fields: BTreeMap<_, _> = fields
        .into_iter()
        .map(|(name, declared)| (name.into(), DeclaredField { json_name: name.into(), declared }))
        .collect();
    DeclType::new(Shape::Object(Arc::new(ObjectType::new("kubernetes.DRADevice", fields))))
}

/// Checks selectors. Their expressions must compile within the budget of the request, and must be cheap enough.
pub(super) fn check(selectors: &List<DeviceSelector<'_, '_>>, budget: &Budget, errors: &mut ErrorList) {
    if !selectors.check_count(MAX_SELECTORS, errors) {
        return;
    }
    for selector in selectors.elements() {
        let cel = selector.cel();
        if cel.exists() {
            check_expression(&cel.expression(), budget, errors);
        } else {
            errors.push(cel.required(""));
        }
    }
}

fn check_expression(expression: &Text<'_, '_>, budget: &Budget, errors: &mut ErrorList) {
    if expression.text().len() > MAX_EXPRESSION_BYTES {
        errors.push(FieldError::too_long(expression.path(), MAX_EXPRESSION_BYTES));
        return;
    }
    let program = match ENVIRONMENT.compile(expression.text(), budget) {
        Ok(program) => program,
        Err(failure @ CompileFailure::Errors(_)) => {
            errors.push(expression.invalid_text(failure.to_string()));
            return;
        }
        Err(failure @ (CompileFailure::Instantiation(_) | CompileFailure::Exhausted(_))) => {
            errors.push(FieldError::internal(expression.path(), failure.to_string()));
            return;
        }
    };
    match program.output_type() {
        Type::Bool | Type::Any => {}
        other => {
            let detail = format!("must evaluate to bool or the unknown type, not {other}");
            errors.push(expression.invalid_text(detail));
            return;
        }
    }
    if program.cost_estimate().max > MAX_COST {
        errors.push(expression.forbidden("too complex, exceeds cost limit"));
    }
}

#[cfg(test)]
mod tests {
    use super::*;
    use resource_views::{Typed as _, View};
    use serde_json::json;

    #[test]
    fn expressions_are_compiled_for_devices() {
        let errors = |expression: &str| {
            let selectors = json!([{"cel": {"expression": expression}}]);
            let mut errors = ErrorList::default();
            check(&List::typed(View::root(&selectors)), &Budget::default(), &mut errors);
            errors.0.iter().map(ToString::to_string).collect::<Vec<_>>().join("\n")
        };
        for good in [
            "device.driver == \"a.b\"",
            "device.attributes[\"a.b\"].healthy",
            "device.attributes[\"a.b\"].name == \"x\" && device.allowMultipleAllocations",
            "device.capacity[\"a.b\"].memory.isGreaterThan(quantity(\"1Gi\"))",
            "cel.bind(dra, device.attributes[\"a.b\"], dra.one && dra.two)",
            "device.attributes[\"a.b\"].version.isGreaterThan(semver(\"1.0.0\"))",
        ] {
            assert_eq!(errors(good), "", "{good}");
        }
        assert!(errors("device.driver").ends_with("must evaluate to bool or the unknown type, not string"));
        assert!(errors("device.none").contains("undefined field 'none'"));
        assert!(
            errors("device.attributes[true].x")
                .contains("'_[_]' applied to '(map(string, map(string, any)), bool)'")
        );
        assert_eq!(
            errors(&" ".repeat(10_241)),
            "[0].cel.expression: Too long: may not be more than 10240 bytes"
        );
        let costly =
            "device.attributes[\"dra.example.com\"].map(s, s.lowerAscii()).map(s, s.size()).sum() == 0";
        assert_eq!(errors(costly), "");
    }
}
