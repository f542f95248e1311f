//! The metrics of priority levels and flow schemas.

use registry_core::metrics::Definition;

const FLOW: &[&str] = &["priority_level", "flow_schema"];
const LEVEL: &[&str] = &["priority_level"];
const DURATION_SECONDS: &[f64] = &[0.0, 0.005, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0, 15.0, 30.0];

pub(crate) const REJECTED: Definition = Definition::new(
    "apiserver_flowcontrol_rejected_requests_total",
    "Number of requests rejected by API Priority and Fairness subsystem",
    &["priority_level", "flow_schema", "reason"],
);

pub(crate) const DISPATCHED: Definition = Definition::new(
    "apiserver_flowcontrol_dispatched_requests_total",
    "Number of requests executed by API Priority and Fairness subsystem",
    FLOW,
);

pub(crate) const INQUEUE_REQUESTS: Definition = Definition::new(
    "apiserver_flowcontrol_current_inqueue_requests",
    "Number of requests currently pending in queues of the API Priority and Fairness subsystem",
    FLOW,
);

pub(crate) const INQUEUE_SEATS: Definition = Definition::new(
    "apiserver_flowcontrol_current_inqueue_seats",
    "Number of seats currently pending in queues of the API Priority and Fairness subsystem",
    FLOW,
);

pub(crate) const QUEUE_LENGTH: Definition = Definition::new(
    "apiserver_flowcontrol_request_queue_length_after_enqueue",
    "Length of queue in the API Priority and Fairness subsystem, as seen by each request after it is enqueued",
    FLOW,
).with_buckets(&[0.0, 10.0, 25.0, 50.0, 100.0, 250.0, 500.0, 1000.0]);

pub(crate) const EXECUTING_REQUESTS: Definition = Definition::new(
    "apiserver_flowcontrol_current_executing_requests",
    "Number of requests in initial (for a WATCH) or any (for a non-WATCH) execution stage in the API Priority and Fairness subsystem",
    FLOW,
);

pub(crate) const EXECUTING_SEATS: Definition = Definition::new(
    "apiserver_flowcontrol_current_executing_seats",
    "Concurrency (number of seats) occupied by the currently executing (initial stage for a WATCH, any stage otherwise) requests in the API Priority and Fairness subsystem",
    FLOW,
);

pub(crate) const WAIT: Definition = Definition::new(
    "apiserver_flowcontrol_request_wait_duration_seconds",
    "Length of time a request spent waiting in its queue",
    &["priority_level", "flow_schema", "execute"],
)
.with_buckets(DURATION_SECONDS);

pub(crate) const EXECUTION: Definition = Definition::new(
    "apiserver_flowcontrol_request_execution_seconds",
    "Duration of initial stage (for a WATCH) or any (for a non-WATCH) stage of request execution in the API Priority and Fairness subsystem",
    &["priority_level", "flow_schema", "type"],
).with_buckets(DURATION_SECONDS);

pub(crate) const WATCH_COUNT: Definition = Definition::new(
    "apiserver_flowcontrol_watch_count_samples",
    "count of watchers for mutating requests in API Priority and Fairness",
    FLOW,
)
.with_buckets(&[0.0, 1.0, 10.0, 100.0, 1000.0, 10_000.0]);

pub(crate) const ESTIMATED_SEATS: Definition = Definition::new(
    "apiserver_flowcontrol_work_estimated_seats",
    "Number of estimated seats (maximum of initial and final seats) associated with requests in API Priority and Fairness",
    FLOW,
).with_buckets(&[1.0, 2.0, 4.0, 8.0, 16.0, 32.0, 64.0, 100.0]);

pub(crate) const NO_ACCOMMODATION: Definition = Definition::new(
    "apiserver_flowcontrol_request_dispatch_no_accommodation_total",
    "Number of times a dispatch attempt resulted in a non accommodation due to lack of available seats",
    FLOW,
);

pub(crate) const CURRENT_R: Definition =
    Definition::new("apiserver_flowcontrol_current_r", "R(time of last change)", LEVEL);

pub(crate) const DISPATCH_R: Definition =
    Definition::new("apiserver_flowcontrol_dispatch_r", "R(time of last dispatch)", LEVEL);

pub(crate) const LATEST_S: Definition =
    Definition::new("apiserver_flowcontrol_latest_s", "S(most recently dispatched request)", LEVEL);

pub(crate) const NEXT_S: Definition = Definition::new(
    "apiserver_flowcontrol_next_s_bounds",
    "min and max, over queues, of S(oldest waiting request in queue)",
    &["priority_level", "bound"],
);

pub(crate) const NEXT_DISCOUNTED_S: Definition = Definition::new(
    "apiserver_flowcontrol_next_discounted_s_bounds",
    "min and max, over queues, of S(oldest waiting request in queue) - estimated work in progress",
    &["priority_level", "bound"],
);

pub(crate) const NOMINAL_LIMIT: Definition = Definition::new(
    "apiserver_flowcontrol_nominal_limit_seats",
    "Nominal number of execution seats configured for each priority level",
    LEVEL,
);

pub(crate) const LOWER_LIMIT: Definition = Definition::new(
    "apiserver_flowcontrol_lower_limit_seats",
    "Configured lower bound on number of execution seats available to each priority level",
    LEVEL,
);

pub(crate) const UPPER_LIMIT: Definition = Definition::new(
    "apiserver_flowcontrol_upper_limit_seats",
    "Configured upper bound on number of execution seats available to each priority level",
    LEVEL,
);

pub(crate) const CURRENT_LIMIT: Definition = Definition::new(
    "apiserver_flowcontrol_current_limit_seats",
    "current derived number of execution seats available to each priority level",
    LEVEL,
);

pub(crate) const DEMAND_HIGH_WATERMARK: Definition = Definition::new(
    "apiserver_flowcontrol_demand_seats_high_watermark",
    "High watermark, over last adjustment period, of demand_seats",
    LEVEL,
);

pub(crate) const DEMAND_AVERAGE: Definition = Definition::new(
    "apiserver_flowcontrol_demand_seats_average",
    "Time-weighted average, over last adjustment period, of demand_seats",
    LEVEL,
);

pub(crate) const DEMAND_DEVIATION: Definition = Definition::new(
    "apiserver_flowcontrol_demand_seats_stdev",
    "Time-weighted standard deviation, over last adjustment period, of demand_seats",
    LEVEL,
);

pub(crate) const DEMAND_SMOOTHED: Definition =
    Definition::new("apiserver_flowcontrol_demand_seats_smoothed", "Smoothed seat demands", LEVEL);

pub(crate) const TARGET: Definition =
    Definition::new("apiserver_flowcontrol_target_seats", "Seat allocation targets", LEVEL);

pub(crate) const FAIR_FRACTION: Definition = Definition::new(
    "apiserver_flowcontrol_seat_fair_frac",
    "Fair fraction of server's concurrency to allocate to each priority level that can use it",
    &[],
);

pub(crate) const DEMAND: Definition = Definition::new(
    "apiserver_flowcontrol_demand_seats",
    "Observations, at the end of every nanosecond, of (the number of seats each priority level could use) / (nominal number of seats for that level)",
    LEVEL,
);

pub(crate) const SEAT_UTILIZATION: Definition = Definition::new(
    "apiserver_flowcontrol_priority_level_seat_utilization",
    "Observations, at the end of every nanosecond, of utilization of seats for any stage of execution (but only initial stage for WATCHes)",
    &["priority_level", "phase"],
);

pub(crate) const REQUEST_UTILIZATION: Definition = Definition::new(
    "apiserver_flowcontrol_priority_level_request_utilization",
    "Observations, at the end of every nanosecond, of number of requests (as a fraction of the relevant limit) waiting or in any stage of execution (but only initial stage for WATCHes)",
    &["phase", "priority_level"],
);
