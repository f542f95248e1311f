//! The scaling behavior in its annotation. Kubernetes writes its internal type there, which has no JSON names: fields
//! have their Go names, and are null when unset.

use registry_core::resource::conversion::ConversionError;
use serde::{Deserialize, Serialize};
use serde_json::Value;

/// The scaling behavior. Written for the annotation; read from either form.
#[derive(Serialize, Deserialize)]
#[serde(rename_all(serialize = "PascalCase"))]
pub(super) struct Behavior {
    #[serde(default, alias = "scaleUp", alias = "ScaleUp")]
    scale_up: Option<Rules>,
    #[serde(default, alias = "scaleDown", alias = "ScaleDown")]
    scale_down: Option<Rules>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all(serialize = "PascalCase"))]
struct Rules {
    #[serde(default, alias = "stabilizationWindowSeconds", alias = "StabilizationWindowSeconds")]
    stabilization_window_seconds: Option<i32>,
    #[serde(default, alias = "selectPolicy", alias = "SelectPolicy")]
    select_policy: Option<String>,
    #[serde(default, alias = "Policies")]
    policies: Option<Vec<Policy>>,
    #[serde(default, alias = "Tolerance")]
    tolerance: Option<String>,
}

#[derive(Serialize, Deserialize)]
#[serde(rename_all(serialize = "PascalCase"))]
struct Policy {
    #[serde(default, alias = "Type")]
    r#type: String,
    #[serde(default, alias = "Value")]
    value: i32,
    #[serde(default, alias = "periodSeconds", alias = "PeriodSeconds")]
    period_seconds: i32,
}

/// Converts the field to the annotation's form.
pub(super) fn to_annotation(field: Value) -> Result<Behavior, ConversionError> {
    Ok(serde_json::from_value(field)?)
}

/// Converts the annotation to the field's form; `None` when it is empty.
pub(super) fn from_annotation(behavior: Behavior) -> Option<Value> {
    let mut fields = serde_json::Map::new();
    for (name, rules) in [("scaleUp", behavior.scale_up), ("scaleDown", behavior.scale_down)] {
        if let Some(rules) = rules {
            fields.insert(name.to_owned(), rules.into_field());
        }
    }
    (!fields.is_empty()).then_some(Value::Object(fields))
}

// === impl Rules ===

impl Rules {
    fn into_field(self) -> Value {
        let policies = self.policies.map(|policies| {
            let field = |policy: Policy| {
                serde_json::json!({
                    "type": policy.r#type, "value": policy.value, "periodSeconds": policy.period_seconds,
                })
            };
            policies.into_iter().map(field).collect::<Value>()
        });
        let fields = [
            ("stabilizationWindowSeconds", self.stabilization_window_seconds.map(Value::from)),
            ("selectPolicy", self.select_policy.map(Value::from)),
            ("policies", policies),
            ("tolerance", self.tolerance.map(Value::from)),
        ];
        let set = fields.into_iter().filter_map(|(name, value)| Some((name.to_owned(), value?)));
        Value::Object(set.collect())
    }
}
