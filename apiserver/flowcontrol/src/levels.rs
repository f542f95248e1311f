//! All priority levels: the division of the server's seats between them, at a change of the configuration and
//! periodically.
//!
//! Each level has nominal seats by its shares. Of these it lends a part to levels that can use more. What each has at
//! present follows the demand of the last periods.
//!
//! Kubernetes concept: `configController` in `k8s.io/apiserver/pkg/util/flowcontrol`.

use std::collections::BTreeMap;
use std::sync::Arc;

use super::allocation::{Item, allocate};
use super::configuration::LevelConfiguration;
use super::demand::SeatDemand;
use super::level::{Clock, Level};
use super::queue_set::Response;
use super::work::{SeatSeconds, count};
use crate::metrics::LevelNumbers;

/// The part of its nominal seats that one request of a level gets at most.
const MAX_SEATS_PERCENT: usize = 15;

/// The levels by name, those included that are no longer configured but still have requests.
pub(super) struct Levels {
    /// Number of seats of all levels that are limited.
    server_limit: usize,
    clock: Clock,
    by_name: BTreeMap<String, LevelState>,
    /// Sum of the nominal seats. More than the server's limit, because each is rounded up.
    nominal_sum: usize,
    fair_fraction: f64,
}

/// The state of a level.
struct LevelState {
    level: Arc<Level>,
    configuration: LevelConfiguration,
    /// It is no longer configured, and disappears when its last request has ended.
    is_quiescing: bool,
    demand: SeatDemand,
    nominal: usize,
    /// The seats that it does not lend.
    min: usize,
    /// With everything that it may borrow.
    max: usize,
    current: usize,
    target: f64,
}

// === impl Levels ===

impl Levels {
    /// Returns no levels.
    pub(super) fn new(server_limit: usize, clock: Clock) -> Self {
        Self { server_limit, clock, by_name: BTreeMap::new(), nominal_sum: 0, fair_fraction: 0.0 }
    }

    /// Returns a level and its configuration.
    pub(super) fn get(&self, name: &str) -> Option<(&Arc<Level>, &LevelConfiguration)> {
        let state = self.by_name.get(name).filter(|state| !state.is_quiescing)?;
        Some((&state.level, &state.configuration))
    }

    /// Returns all levels, and whether each is about to disappear.
    pub(super) fn all(&self) -> impl Iterator<Item = (&Arc<Level>, bool)> {
        self.by_name.values().map(|state| (&state.level, state.is_quiescing))
    }

    /// Puts these levels in force. A level that is no longer among them stays until its requests have ended.
    pub(super) fn configure(&mut self, wanted: BTreeMap<String, LevelConfiguration>) {
        self.by_name.retain(|name, state| {
            state.is_quiescing = !wanted.contains_key(name);
            !state.is_quiescing || !state.level.requests().is_idle()
        });
        for (name, configuration) in wanted {
            let clock = self.clock;
            let state = self.by_name.entry(name);
            let name = state.key().clone();
            let state = state.or_insert_with(|| LevelState::new(&name, configuration.clone(), clock));
            state.configuration = configuration;
        }
        self.divide();
    }

    /// Adapts the seats of the levels to their demand, and forgets levels that have disappeared. Call it in each period.
    pub(super) fn adjust(&mut self) {
        let before = self.by_name.len();
        self.by_name.retain(|_, state| !state.is_quiescing || !state.level.requests().is_idle());
        if self.by_name.len() == before {
            self.borrow();
        } else {
            self.divide();
        }
    }

    /// Computes the nominal seats.
    fn divide(&mut self) {
        let shares: u64 = self.by_name.values().map(|state| u64::from(state.configuration.shares)).sum();
        let server_limit = self.server_limit;
        for state in self.by_name.values_mut() {
            let product = (server_limit as u64).saturating_mul(u64::from(state.configuration.shares));
            let nominal = usize::try_from(product.div_ceil(shares.max(1))).unwrap_or(usize::MAX);
            let percent = |percent: u32| (nominal.saturating_mul(percent as usize).saturating_add(50)) / 100;
            let lendable = percent(state.configuration.lendable_percent).min(nominal);
            let borrowed = state.configuration.borrowing_percent.map_or(server_limit, percent);
            if state.nominal == 0 && state.current == 0 {
                state.current = nominal - lendable / 2;
            }
            state.nominal = nominal;
            state.min = nominal - lendable;
            state.max = nominal.saturating_add(borrowed);
        }
        self.nominal_sum = self.by_name.values().map(|state| state.nominal).sum();
        self.borrow();
    }

    /// Computes the present seats from the demand since the last time, and puts them in force.
    fn borrow(&mut self) {
        let now = self.clock.now();
        let mut left = self.nominal_sum;
        let mut items = Vec::new();
        let (mut min_sum, mut least_sum) = (0, 0);
        for state in self.by_name.values_mut() {
            let observed = state.level.requests().statistics(now).take_demand(now);
            state.demand.update(observed);
            let least = state.least();
            if state.is_exempt() {
                state.target = count(least);
                left = left.saturating_sub(least);
                continue;
            }
            state.target = count(least).max(state.demand.smoothed);
            items.push(Item { target: state.target, lower: count(least), upper: count(state.max) });
            min_sum += state.min;
            least_sum += least;
        }
        let allocation =
            if left > min_sum && left > least_sum { allocate(count(self.nominal_sum), &items) } else { None };
        let is_scarce = left <= least_sum;
        self.fair_fraction = allocation.as_ref().map_or(0.0, |allocation| allocation.fair_fraction);
        let mut seats = allocation.into_iter().flat_map(|allocation| allocation.seats);
        for state in self.by_name.values_mut() {
            let least = state.least();
            if state.is_exempt() {
                state.current = least;
            } else if left <= min_sum {
                state.current = state.min;
            } else if is_scarce {
                let part = count(left - min_sum) / count(least_sum - min_sum);
                state.current = state.min + rounded(count(least - state.min) * part);
            } else if let Some(seats) = seats.next() {
                state.current = rounded(seats);
            }
            state.put_in_force(self.server_limit);
        }
    }

    /// Returns the state for metrics, and the multiple of its target that each level gets.
    pub(super) fn numbers(&self) -> (Vec<LevelNumbers>, f64) {
        (self.by_name.values().map(|state| state.numbers(self.clock)).collect(), self.fair_fraction)
    }
}

// === impl LevelState ===

impl LevelState {
    fn new(name: &str, configuration: LevelConfiguration, clock: Clock) -> Self {
        Self {
            level: Level::new(name, &configuration, clock),
            configuration,
            is_quiescing: false,
            demand: SeatDemand::default(),
            nominal: 0,
            min: 0,
            max: 0,
            current: 0,
            target: 0.0,
        }
    }

    fn is_exempt(&self) -> bool {
        self.configuration.response == Response::Exempt
    }

    /// Returns the seats that it keeps at least: those that it does not lend, and those that it used itself.
    fn least(&self) -> usize {
        let used = rounded(self.demand.high_watermark);
        let used = if self.is_exempt() { used } else { used.min(self.nominal) };
        self.min.max(used)
    }

    fn put_in_force(&self, server_limit: usize) {
        let tenth = (server_limit + 5) / 10;
        let denominator = if self.current > 0 { self.current } else { tenth.max(1) };
        let max_seats = match self.configuration.response {
            Response::Queue { dealer, .. } => {
                let part = (self.nominal * MAX_SEATS_PERCENT).div_ceil(100);
                part.min(self.nominal / dealer.hand_size()).max(1)
            }
            Response::Exempt | Response::Reject => 0,
        };
        self.level.configure(self.configuration.response, self.current, denominator, max_seats);
    }

    fn numbers(&self, clock: Clock) -> LevelNumbers {
        let mut requests = self.level.requests();
        let statistics = requests.statistics(clock.now());
        let bounds = |(min, max): (SeatSeconds, SeatSeconds)| (min.as_f64(), max.as_f64());
        LevelNumbers {
            name: self.level.name().to_owned(),
            nominal_limit: count(self.nominal),
            lower_limit: count(self.min),
            upper_limit: count(self.max),
            current_limit: count(self.current),
            target: self.target,
            demand_high_watermark: self.demand.high_watermark,
            demand_average: self.demand.average,
            demand_deviation: self.demand.deviation,
            demand_smoothed: self.demand.smoothed,
            progress: statistics.progress.as_f64(),
            dispatch_progress: statistics.dispatch_progress.as_f64(),
            latest_start: statistics.latest_start.as_f64(),
            next_start: bounds(statistics.next_start),
            next_discounted_start: bounds(statistics.next_discounted_start),
            waiting_requests: statistics.waiting_requests.clone(),
            executing_requests: statistics.executing_requests.clone(),
            seats: statistics.seats.clone(),
            demanded: statistics.demand.clone(),
        }
    }
}

#[expect(clippy::cast_possible_truncation, clippy::cast_sign_loss, reason = "the conversion saturates")]
fn rounded(seats: f64) -> usize {
    seats.round() as usize
}
