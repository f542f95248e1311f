//! `EventRateLimit`: bounds the rate of events of the server, of each namespace, of each user, and of each combination of
//! source and object.

use std::collections::HashMap;
use std::hash::{BuildHasher as _, RandomState};
use std::time::Instant;

use async_trait::async_trait;
use parking_lot::Mutex;
use registry_core::RequestContext;
use registry_core::admission::{ObjectWrite, Operation, ValidatingAdmission};
use registry_core::api::go_text::aggregate;
use registry_core::api::{Object, Reason, StatusError};
use serde::Deserialize;
use serde_json::Value;

use super::settings_error::SettingsError;

/// Number of keys that are remembered for each limit, unless configured.
const DEFAULT_CACHE_SIZE: usize = 4096;

/// The plug-in.
pub(super) struct EventRateLimit {
    limits: Vec<Limit>,
    /// Hashes the keys: they are as long as their clients make them.
    hashers: [RandomState; 2],
}

/// The configuration: the limits.
#[derive(Clone, Debug)]
pub(crate) struct EventRateLimits(Vec<LimitSettings>);

#[derive(Clone, Debug, Deserialize)]
#[serde(rename_all = "camelCase", deny_unknown_fields)]
struct LimitSettings {
    #[serde(rename = "type")]
    kind: LimitKind,
    #[serde(default)]
    qps: i32,
    #[serde(default)]
    burst: i32,
    #[serde(default)]
    cache_size: i32,
}

/// The scope of a limit: each server, namespace, user, or pair of source and object has its own rate.
#[derive(Clone, Copy, Debug, Deserialize, PartialEq, Eq)]
enum LimitKind {
    Server,
    Namespace,
    User,
    SourceAndObject,
}

/// The configuration as it is written.
#[derive(Deserialize)]
#[serde(deny_unknown_fields)]
struct Written {
    #[serde(rename = "apiVersion")]
    _api_version: String,
    #[serde(rename = "kind")]
    _kind: String,
    #[serde(default)]
    limits: Vec<LimitSettings>,
}

// === impl EventRateLimits ===

impl EventRateLimits {
    /// Reads a `Configuration` of `eventratelimit.admission.k8s.io`.
    ///
    /// # Errors
    /// The configuration is not valid; the text names the field.
    pub(crate) fn read(configuration: Value) -> Result<Self, SettingsError> {
        let written: Written = serde_json::from_value(configuration)?;
        if written.limits.is_empty() {
            return Err(SettingsError::NoLimits);
        }
        for (index, limit) in written.limits.iter().enumerate() {
            let check = |field, value: i32, is_valid: bool, rule| {
                if is_valid { Ok(()) } else { Err(SettingsError::Limit { index, field, value, rule }) }
            };
            check("burst", limit.burst, limit.burst > 0, "must be positive")?;
            check("qps", limit.qps, limit.qps > 0, "must be positive")?;
            check("cacheSize", limit.cache_size, limit.cache_size >= 0, "must not be negative")?;
        }
        Ok(Self(written.limits))
    }
}

/// One limit, and the present state of its rates.
struct Limit {
    settings: LimitSettings,
    rates: Mutex<Rates>,
}

/// The rates of keys. When there are as many as the cache may have, the younger generation becomes the older one, which is
/// forgotten: memory is bounded, and every key in use is kept.
struct Rates {
    young: HashMap<Key, Bucket>,
    old: HashMap<Key, Bucket>,
    size: usize,
}

type Key = [u64; 2];

/// A bucket of tokens, which fills up with time.
#[derive(Clone, Copy)]
struct Bucket {
    tokens: f64,
    filled: Instant,
}

// === impl Rates ===

impl Rates {
    /// Takes a token of a key; returns whether there was one.
    fn take(&mut self, key: Key, limit: &LimitSettings, now: Instant) -> bool {
        let most = f64::from(limit.burst);
        let known = self.young.remove(&key).or_else(|| self.old.remove(&key));
        let mut bucket = known.unwrap_or(Bucket { tokens: most, filled: now });
        let passed = now.saturating_duration_since(bucket.filled).as_secs_f64();
        bucket.tokens = (bucket.tokens + passed * f64::from(limit.qps)).min(most);
        bucket.filled = now;
        let has_one = bucket.tokens >= 1.0;
        if has_one {
            bucket.tokens -= 1.0;
        }
        if self.young.len() >= self.size {
            self.old = std::mem::take(&mut self.young);
        }
        self.young.insert(key, bucket);
        has_one
    }
}

impl EventRateLimit {
    /// Creates the plug-in with these limits.
    pub(super) fn new(limits: Option<EventRateLimits>) -> Self {
        let limits = limits.map(|limits| limits.0).unwrap_or_default();
        let limits = limits.into_iter().map(|settings| {
            let configured = usize::try_from(settings.cache_size).unwrap_or_default();
            let size = match configured {
                0 => DEFAULT_CACHE_SIZE,
                size => size,
            };
            let rates = Rates { young: HashMap::new(), old: HashMap::new(), size };
            Limit { settings, rates: Mutex::new(rates) }
        });
        Self { limits: limits.collect(), hashers: [RandomState::new(), RandomState::new()] }
    }

    fn check(&self, context: &RequestContext, event: &Object, now: Instant) -> Result<(), StatusError> {
        let mut reached = Vec::new();
        for limit in &self.limits {
            let key = key(limit.settings.kind, context, event);
            let hash = self.hashers.each_ref().map(|hasher| hasher.hash_one(&key));
            let mut rates = limit.rates.lock();
            if !rates.take(hash, &limit.settings, now) {
                reached.push(format!("limit reached on type {:?} for key {key}", limit.settings.kind));
            }
        }
        if reached.is_empty() {
            return Ok(());
        }
        let text = format!("Too many requests: {}", aggregate(reached));
        Err(StatusError::new(Reason::TooManyRequests, text))
    }
}

/// Returns what an event counts for.
fn key(kind: LimitKind, context: &RequestContext, event: &Object) -> String {
    match kind {
        LimitKind::Server => String::new(),
        LimitKind::Namespace => context.namespace.clone(),
        LimitKind::User => context.user.name.clone(),
        LimitKind::SourceAndObject => {
            // The fields have other names in `events.k8s.io`.
            let text = |paths: [[&str; 2]; 2]| {
                paths.iter().find_map(|path| event.get_str(path)).unwrap_or_default().to_owned()
            };
            let source =
                ["component", "host"].map(|field| text([["source", field], ["deprecatedSource", field]]));
            let object = ["kind", "namespace", "name", "uid", "apiVersion"]
                .map(|field| text([["involvedObject", field], ["regarding", field]]));
            [source.concat(), object.concat()].concat()
        }
    }
}

#[async_trait]
impl ValidatingAdmission for EventRateLimit {
    async fn validate(&self, context: &RequestContext, write: ObjectWrite<'_>) -> Result<(), StatusError> {
        let Some(event) = write.object else { return Ok(()) };
        let is_event = write.attributes.resource.resource == "events"
            && matches!(write.attributes.resource.group, "" | "events.k8s.io")
            && Operation::WRITES.contains(&write.attributes.operation);
        if !is_event || write.attributes.dry_run.is_on() {
            return Ok(());
        }
        self.check(context, event, Instant::now())
    }
}

#[cfg(test)]
mod tests {
    use std::time::Duration;

    use registry_core::context::UserInfo;
    use serde_json::json;

    use super::*;

    fn plugin(limits: Value) -> Result<EventRateLimit, SettingsError> {
        let mut configuration =
            json!({"apiVersion": "eventratelimit.admission.k8s.io/v1alpha1", "kind": "Configuration"});
        configuration["limits"] = limits;
        Ok(EventRateLimit::new(Some(EventRateLimits::read(configuration)?)))
    }

    fn context(user: &str, namespace: &str) -> RequestContext {
        RequestContext::new(UserInfo { name: user.to_owned(), ..UserInfo::default() }, namespace)
    }

    #[test]
    fn each_key_has_a_rate_of_its_own() {
        let plugin = plugin(json!([{"type": "Namespace", "qps": 1, "burst": 2}])).unwrap();
        let now = Instant::now();
        let event = Object::default();
        let send = |namespace: &str, now| plugin.check(&context("u", namespace), &event, now);
        assert!(send("a", now).is_ok() && send("a", now).is_ok());
        let refused = send("a", now).unwrap_err();
        assert_eq!(refused.message, "Too many requests: limit reached on type Namespace for key a");
        assert_eq!(refused.code, 429);
        assert!(send("b", now).is_ok());
        let later = now + Duration::from_secs(1);
        assert!(send("a", later).is_ok() && send("a", later).is_err());
    }

    #[test]
    fn a_flood_of_keys_takes_bounded_memory_and_forgets_none_in_use() {
        let limits = json!([{"type": "SourceAndObject", "qps": 1, "burst": 1, "cacheSize": 10}]);
        let plugin = plugin(limits).unwrap();
        let now = Instant::now();
        let context = context("u", "n");
        let event = |name: String| Object::from_value(json!({"involvedObject": {"name": name}})).unwrap();
        assert!(plugin.check(&context, &event("used".to_owned()), now).is_ok());
        for round in 0..10_000 {
            assert!(plugin.check(&context, &event(format!("e{round}")), now).is_ok());
            assert!(plugin.check(&context, &event("used".to_owned()), now).is_err(), "{round}");
        }
        let rates = plugin.limits[0].rates.lock();
        assert!(rates.young.len() + rates.old.len() <= 20);
        drop(rates);
        // Both forms of an event count for the same object.
        let other = Object::from_value(json!({"regarding": {"name": "used"}})).unwrap();
        assert!(plugin.check(&context, &other, now).is_err());
    }

    #[test]
    fn limits_are_checked() {
        for (limits, field) in [
            (json!([]), "limits:"),
            (json!([{"type": "Server", "qps": 1}]), "limits[0].burst"),
            (json!([{"type": "User", "qps": 1, "burst": 1, "cacheSize": -1}]), "limits[0].cacheSize"),
            (json!([{"type": "Zork", "qps": 1, "burst": 1}]), "unknown variant"),
        ] {
            let refused = plugin(limits).err().unwrap().to_string();
            assert!(refused.contains(field), "{refused}");
        }
    }
}
