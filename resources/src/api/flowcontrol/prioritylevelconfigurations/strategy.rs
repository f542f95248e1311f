//! Rules of PriorityLevelConfigurations.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::{ErrorList, FieldError, FieldPath};
use registry_core::resource::ObjectStrategy;
use resource_views::flowcontrol::v1::{
    LimitedPriorityLevelConfiguration, PriorityLevelConfiguration, PriorityLevelConfigurationMut,
    PriorityLevelConfigurationSpec, QueuingConfiguration,
};
use serde_json::Value;

use crate::api::flowcontrol::{conditions, mandatory};
use crate::support::field::ShownAsGo as _;

const MAX_QUEUES: i64 = 10_000_000;
/// Number of bits of a flow's hash, from which its queues are chosen (shuffle sharding).
const HASH_BITS: f64 = 60.0;
/// An annotation of a former version, which conversion removes.
const PRESERVE_ZERO: &str = "flowcontrol.k8s.io/v1beta3-preserve-zero-concurrency-shares";

/// Defaults and validation of concurrency limits and queuing.
pub(super) struct PriorityLevelStrategy;

impl ObjectStrategy for PriorityLevelStrategy {
    fn apply_defaults(&self, object: &mut Object) {
        let Some(mut spec) = PriorityLevelConfigurationMut(object).spec().present() else { return };
        spec.exempt().edit(|mut exempt| {
            exempt.nominal_concurrency_shares().or(0);
            exempt.lendable_percent().or(0);
        });
        spec.limited().edit(|mut limited| {
            limited.nominal_concurrency_shares().or(30);
            limited.lendable_percent().or(0);
            limited.limit_response().edit(|mut response| {
                response.queuing().edit(|mut queuing| {
                    queuing.queues().or_if_zero(64);
                    queuing.hand_size().or_if_zero(8);
                    queuing.queue_length_limit().or_if_zero(50);
                });
            });
        });
    }

    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        if object.annotation(PRESERVE_ZERO).is_some() {
            let path = FieldPath::new("metadata").child("annotations");
            let detail = format!("annotation '{PRESERVE_ZERO}' is forbidden");
            errors.push(FieldError::forbidden(path, detail));
        }
        let spec = PriorityLevelConfiguration(object).spec();
        check_type(&spec, object.name(), &mut errors);
        check_mandatory(&spec, object.name(), &mut errors);
        conditions::check(&PriorityLevelConfiguration(object).status().conditions().seen_as(), &mut errors);
        errors
    }

    fn validate_status_update(&self, _context: &RequestContext, new: &Object, _old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        conditions::check(&PriorityLevelConfiguration(new).status().conditions().seen_as(), &mut errors);
        errors
    }
}

fn check_type(spec: &PriorityLevelConfigurationSpec<'_, '_>, name: &str, errors: &mut ErrorList) {
    let kind = spec.r#type();
    let limited = spec.limited();
    let exempt = spec.exempt();
    if (name == "exempt") != (kind.text() == "Exempt") {
        errors.push(kind.invalid("must be 'Exempt' if and only if `name` is 'exempt'"));
    }
    match kind.text() {
        "Exempt" => {
            if limited.exists() {
                errors.push(limited.forbidden("must be nil if the type is not Limited"));
            }
            if exempt.exists() {
                let shares = exempt.nominal_concurrency_shares();
                if shares.number() < 0 {
                    errors.push(shares.invalid("must be a non-negative integer"));
                }
                exempt.lendable_percent().check_between(0, 100, errors);
            }
        }
        "Limited" => {
            if exempt.exists() {
                errors.push(exempt.forbidden("must be nil if the type is Limited"));
            }
            if limited.exists() {
                check_limited(&limited, errors);
            } else {
                errors.push(limited.required("must not be empty when type is Limited"));
            }
        }
        _ => errors.push(FieldError::not_supported(kind.path(), kind.text(), &["Exempt", "Limited"])),
    }
}

fn check_mandatory(spec: &PriorityLevelConfigurationSpec<'_, '_>, name: &str, errors: &mut ErrorList) {
    let Some(fixed) = mandatory::priority_level(name) else { return };
    let mut own = spec.value().cloned().unwrap_or_default();
    let mut exception = "";
    if let (true, Value::Object(own)) = (name == "exempt", &mut own) {
        own.remove("exempt");
        exception = " except the 'spec.exempt' field";
    }
    if own != fixed {
        let detail = format!("spec of '{name}'{exception} must equal the fixed value");
        errors.push(spec.invalid_as("<flowcontrol.PriorityLevelConfigurationSpec>", detail));
    }
}

fn check_limited(limited: &LimitedPriorityLevelConfiguration<'_, '_>, errors: &mut ErrorList) {
    let shares = limited.nominal_concurrency_shares();
    if shares.number() < 0 {
        errors.push(shares.invalid("must be a non-negative integer"));
    }
    limited.lendable_percent().check_between(0, 100, errors);
    let borrowing = limited.borrowing_limit_percent();
    if borrowing.integer().is_some_and(|percent| percent < 0) {
        errors.push(borrowing.invalid("if specified, must be a non-negative integer"));
    }
    let response = limited.limit_response();
    let kind = response.r#type();
    let queuing = response.queuing();
    match kind.text() {
        "Reject" if queuing.exists() => {
            errors.push(queuing.forbidden("must be nil if limited.limitResponse.type is not Limited"));
        }
        "Reject" => {}
        "Queue" if !queuing.exists() => {
            errors.push(queuing.required("must not be empty if limited.limitResponse.type is Limited"));
        }
        "Queue" => check_queuing(&queuing, errors),
        other => errors.push(FieldError::not_supported(kind.path(), other, &["Queue", "Reject"])),
    }
}

fn check_queuing(queuing: &QueuingConfiguration<'_, '_>, errors: &mut ErrorList) {
    let length = queuing.queue_length_limit();
    let queues = queuing.queues();
    let hand = queuing.hand_size();
    let queue_count = queues.number();
    let hand_size = hand.number();
    if length.number() <= 0 {
        errors.push(length.invalid("must be positive"));
    }
    if queue_count <= 0 {
        errors.push(queues.invalid("must be positive"));
    } else if queue_count > MAX_QUEUES {
        errors.push(queues.invalid(format!("must not be greater than {MAX_QUEUES}")));
    }
    if hand_size <= 0 {
        errors.push(hand.invalid("must be positive"));
    } else if hand_size > queue_count {
        errors.push(hand.invalid(format!("should not be greater than queues ({queue_count})")));
    } else if entropy_bits(queue_count, hand_size) > HASH_BITS {
        errors.push(hand.invalid(format!(
            "required entropy bits of deckSize {queue_count} and handSize {hand_size} should not be greater than {HASH_BITS}"
        )));
    }
}

/// Returns the number of bits to choose a hand of queues, as Kubernetes counts them: as if a queue could be chosen twice. A
/// level with more than [`HASH_BITS`] could not be put in force (`Dealer` of `orlop-flowcontrol`).
#[expect(clippy::cast_precision_loss, reason = "all but small numbers are refused")]
fn entropy_bits(queues: i64, hand_size: i64) -> f64 {
    ((queues as f64).log2() * hand_size as f64).ceil()
}

#[cfg(test)]
mod tests {
    use super::*;
    use serde_json::json;

    #[test]
    fn a_level_is_limited_unless_it_is_the_exempt_one() {
        let causes = |name: &str, spec: Value| {
            let level = json!({"metadata": {"name": name}, "spec": spec});
            let mut level = Object::from_value(level).unwrap();
            PriorityLevelStrategy.apply_defaults(&mut level);
            let errors = PriorityLevelStrategy.validate(&RequestContext::default(), &level);
            errors.0.iter().map(|error| error.field.to_string()).collect::<Vec<_>>()
        };
        let none: [&str; 0] = [];
        let queue = |queuing: Value| json!({"type": "Limited", "limited": {"limitResponse": {"type": "Queue", "queuing": queuing}}});
        assert_eq!(causes("a", queue(json!({}))), none);
        assert_eq!(causes("exempt", json!({"type": "Exempt", "exempt": {"lendablePercent": 10}})), none);
        assert_eq!(causes("a", json!({"type": "Exempt"})), ["spec.type"]);
        assert_eq!(causes("a", json!({"type": "Limited"})), ["spec.limited"]);
        assert_eq!(causes("catch-all", queue(json!({}))), ["spec"]);
        let field = |name: &str| format!("spec.limited.limitResponse.queuing.{name}");
        assert_eq!(causes("a", queue(json!(null))), ["spec.limited.limitResponse.queuing"]);
        assert_eq!(causes("a", queue(json!({"queues": 4}))), [field("handSize")]);
        for (queues, hand_size) in [(1000, 9), (64, 11), (19, 19)] {
            let queuing = json!({"queues": queues, "handSize": hand_size});
            assert_eq!(causes("a", queue(queuing)), [field("handSize")], "{hand_size} of {queues}");
        }
        assert_eq!(causes("a", queue(json!({"queues": 64, "handSize": 10}))), none);
        assert_eq!(causes("a", queue(json!({"queueLengthLimit": -1}))), [field("queueLengthLimit")]);
    }
}
