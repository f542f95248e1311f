//! The configuration of a priority level, from its stored object.
//!
//! Kubernetes concept: `PriorityLevelConfigurationSpec`.

use http::HeaderValue;
use k8s_openapi::api::flowcontrol::v1::{
    LimitResponse, PriorityLevelConfiguration, PriorityLevelConfigurationSpec,
};

use super::queue_set::Response;
use super::sharding::Dealer;

/// The level of requests that are never limited.
pub(super) const EXEMPT: &str = "exempt";
/// The level of requests that match no other schema.
pub(super) const CATCH_ALL: &str = "catch-all";

/// Shares of a limited level that sets none.
const DEFAULT_SHARES: i32 = 30;
/// Numbers of a level with queues that sets none.
const DEFAULT_QUEUES: i32 = 64;
const DEFAULT_HAND_SIZE: i32 = 8;
const DEFAULT_QUEUE_LENGTH: i32 = 50;

/// A priority level as configured.
#[derive(Clone, Debug)]
pub struct LevelConfiguration {
    /// Names the level in responses; `None` if it is not stored.
    pub(super) uid: Option<HeaderValue>,
    /// The treatment of requests without seats.
    pub(super) response: Response,
    /// The part of the server's seats, relative to other levels.
    pub(super) shares: u32,
    /// The part of the seats that other levels may borrow, in percent.
    pub(super) lendable_percent: u32,
    /// Maximum number of seats that may be borrowed, in percent of its own seats; `None` is no limit.
    pub(super) borrowing_percent: Option<u32>,
}

// === impl LevelConfiguration ===

impl LevelConfiguration {
    /// Returns the configuration of a stored level, or `None` if it contradicts itself, in which case the level is
    /// treated as missing.
    pub fn new(level: PriorityLevelConfiguration) -> Option<Self> {
        let uid = level.metadata.uid.and_then(|uid| HeaderValue::try_from(uid).ok())?;
        let spec = level.spec?;
        let is_exempt = spec.type_ == "Exempt";
        let is_named_exempt = level.metadata.name.as_deref() == Some(EXEMPT);
        let is_consistent = is_exempt == spec.exempt.is_some()
            && is_exempt == spec.limited.is_none()
            && is_exempt == is_named_exempt;
        if !is_consistent {
            return None;
        }
        Self::from_spec(spec, Some(uid))
    }

    /// Returns the configuration of a level; `None` if it has no numbers, or impossible ones.
    pub(super) fn from_spec(spec: PriorityLevelConfigurationSpec, uid: Option<HeaderValue>) -> Option<Self> {
        if let Some(exempt) = spec.exempt {
            return Some(Self {
                uid,
                response: Response::Exempt,
                shares: unsigned(exempt.nominal_concurrency_shares.unwrap_or(0)),
                lendable_percent: unsigned(exempt.lendable_percent.unwrap_or(0)),
                borrowing_percent: None,
            });
        }
        let limited = spec.limited?;
        Some(Self {
            uid,
            response: response_of(limited.limit_response)?,
            shares: unsigned(limited.nominal_concurrency_shares.unwrap_or(DEFAULT_SHARES)),
            lendable_percent: unsigned(limited.lendable_percent.unwrap_or(0)),
            borrowing_percent: limited.borrowing_limit_percent.map(unsigned),
        })
    }
}

/// Returns what happens to requests without seats, or `None` if the numbers are impossible.
fn response_of(response: Option<LimitResponse>) -> Option<Response> {
    let response = response.unwrap_or_default();
    match (response.type_.as_str(), response.queuing) {
        ("Queue", Some(queuing)) => {
            let queues = unsigned(queuing.queues.unwrap_or(DEFAULT_QUEUES));
            let hand_size = unsigned(queuing.hand_size.unwrap_or(DEFAULT_HAND_SIZE));
            let max_length = unsigned(queuing.queue_length_limit.unwrap_or(DEFAULT_QUEUE_LENGTH));
            let dealer = Dealer::new(queues, hand_size)?;
            Some(Response::Queue { dealer, max_length: max_length as usize })
        }
        ("Reject", None) => Some(Response::Reject),
        _ => None,
    }
}

fn unsigned(number: i32) -> u32 {
    u32::try_from(number).unwrap_or(0)
}

#[cfg(test)]
mod tests {
    use serde_json::{Value, json};

    use super::*;

    fn level(name: &str, spec: &Value) -> Option<LevelConfiguration> {
        let level = json!({"metadata": {"name": name, "uid": "u"}, "spec": spec});
        LevelConfiguration::new(serde_json::from_value(level).expect("a level"))
    }

    #[test]
    fn a_level_that_contradicts_itself_does_not_exist() {
        let queuing =
            json!({"type": "Queue", "queuing": {"queues": 16, "handSize": 4, "queueLengthLimit": 9}});
        let limited = json!({"nominalConcurrencyShares": 7, "lendablePercent": 50, "limitResponse": queuing});
        let good = level("mine", &json!({"type": "Limited", "limited": limited})).expect("a level");
        assert_eq!((good.shares, good.lendable_percent, good.borrowing_percent), (7, 50, None));
        let expected = Response::Queue { dealer: Dealer::new(16, 4).unwrap(), max_length: 9 };
        assert_eq!(good.response, expected);
        let reject = json!({"limitResponse": {"type": "Reject"}});
        for (name, spec) in [
            ("mine", json!({"type": "Limited"})),
            ("mine", json!({"type": "Exempt", "exempt": {}})),
            ("exempt", json!({"type": "Limited", "limited": reject})),
            ("mine", json!({"type": "Limited", "limited": reject, "exempt": {}})),
            ("mine", json!({"type": "Limited", "limited": {"limitResponse": {"type": "Queue"}}})),
        ] {
            assert!(level(name, &spec).is_none(), "{name}: {spec}");
        }
        assert_eq!(
            level("exempt", &json!({"type": "Exempt", "exempt": {}})).unwrap().response,
            Response::Exempt
        );
        let defaulted = level("mine", &json!({"type": "Limited", "limited": reject})).unwrap();
        assert_eq!((defaulted.response, defaulted.shares), (Response::Reject, 30));
    }
}
