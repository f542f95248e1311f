//! `/debug/api_priority_and_fairness/…`: the levels, queues and requests as text.
//!
//! Kubernetes concept: `apf_controller_debug.go`. The columns are aligned as Go's `tabwriter` does it.

use std::time::{Duration, SystemTime};

use jiff::Timestamp;
use registry_core::go_duration;
use request_info::query_pairs;

use super::level::Level;
use super::queue_set::{QueueDump, RequestDump};

/// The path before the name of a page.
pub(super) const PREFIX: &str = "/debug/api_priority_and_fairness/";

/// Width of a column at least.
const MIN_WIDTH: usize = 8;

const LEVEL_COLUMNS: &[&str] = &[
    "PriorityLevelName",
    "ActiveQueues",
    "IsIdle",
    "IsQuiescing",
    "WaitingRequests",
    "ExecutingRequests",
    "DispatchedRequests",
    "RejectedRequests",
    "TimedoutRequests",
    "CancelledRequests",
];
const QUEUE_COLUMNS: &[&str] = &[
    "PriorityLevelName",
    "Index",
    "PendingRequests",
    "ExecutingRequests",
    "SeatsInUse",
    "NextDispatchR",
    "InitialSeatsSum",
    "MaxSeatsSum",
    "TotalWorkSum",
];
const REQUEST_COLUMNS: &[&str] = &[
    "PriorityLevelName",
    "FlowSchemaName",
    "QueueIndex",
    "RequestIndexInQueue",
    // As Kubernetes spells it.
    "FlowDistingsher",
    "ArriveTime",
    "InitialSeats",
    "FinalSeats",
    "AdditionalLatency",
    "StartTime",
];
const DETAIL_COLUMNS: &[&str] =
    &["UserName", "Verb", "APIPath", "Namespace", "Name", "APIVersion", "Resource", "SubResource"];

/// The separator of columns in the details of a request, and before alignment.
pub(super) const SEPARATOR: &str = ",\t";

/// Returns the page of the levels.
pub(super) fn priority_levels<'a>(levels: impl Iterator<Item = (&'a Level, bool)>, now: Duration) -> String {
    let mut rows = vec![LEVEL_COLUMNS.join(SEPARATOR)];
    for (level, is_quiescing) in levels {
        let dump = level.requests().dump(now);
        let active = dump.queues.iter().filter(|queue| queue.waiting > 0).count();
        rows.push(
            [
                level.name(),
                &active.to_string(),
                &dump.is_idle.to_string(),
                &is_quiescing.to_string(),
                &dump.waiting.to_string(),
                &dump.executing.to_string(),
                &dump.dispatched.to_string(),
                &dump.rejected.to_string(),
                // Kubernetes counts requests that waited too long as cancelled.
                "0",
                &dump.cancelled.to_string(),
            ]
            .join(SEPARATOR),
        );
    }
    aligned(&rows)
}

/// Returns the page of the queues.
pub(super) fn queues<'a>(levels: impl Iterator<Item = &'a Level>, now: Duration) -> String {
    let mut rows = vec![QUEUE_COLUMNS.join(SEPARATOR)];
    for level in levels {
        let queues = level.requests().dump(now).queues;
        rows.extend(queues.iter().map(|queue| queue_row(level.name(), queue)));
    }
    aligned(&rows)
}

fn queue_row(level: &str, queue: &QueueDump) -> String {
    [
        level,
        &queue.index.to_string(),
        &queue.waiting.to_string(),
        &queue.executing.to_string(),
        &queue.seats_in_use.to_string(),
        &queue.next_start.to_string(),
        &queue.initial_seats.to_string(),
        &queue.max_seats.to_string(),
        &queue.work.to_string(),
    ]
    .join(SEPARATOR)
}

/// Returns the page of the requests.
pub(super) fn requests<'a>(
    levels: impl Iterator<Item = &'a Level>,
    now: Duration,
    has_details: bool,
) -> String {
    let mut header = REQUEST_COLUMNS.join(SEPARATOR);
    if has_details {
        header.push_str(SEPARATOR);
        header.push_str(&DETAIL_COLUMNS.join(SEPARATOR));
    }
    let mut rows = vec![header];
    let began = SystemTime::now().checked_sub(now).unwrap_or(SystemTime::UNIX_EPOCH);
    for level in levels {
        let requests = level.requests().dump_requests(now);
        rows.extend(requests.iter().map(|request| request_row(level.name(), request, began, has_details)));
    }
    aligned(&rows)
}

fn request_row(level: &str, request: &RequestDump, began: SystemTime, has_details: bool) -> String {
    let index = |index: Option<String>| index.unwrap_or_else(|| "-1".to_owned());
    let at = |time: Option<Duration>| {
        // Go's zero time.
        time.map_or_else(|| "0001-01-01T00:00:00Z".to_owned(), |since| written(began + since))
    };
    let mut row = [
        level,
        &request.schema,
        &index(request.queue.map(|queue| queue.to_string())),
        &index(request.position.map(|position| position.to_string())),
        &request.distinguisher,
        &at(Some(request.arrived)),
        &request.work.initial_seats.to_string(),
        &request.work.final_seats.to_string(),
        &go_duration::format(request.work.additional_latency),
        &at(request.started),
    ]
    .join(SEPARATOR);
    if has_details {
        row.push_str(SEPARATOR);
        row.push_str(&request.details);
    }
    row
}

/// Returns a time in RFC 3339, without trailing zeros.
fn written(time: SystemTime) -> String {
    Timestamp::try_from(time).unwrap_or(Timestamp::UNIX_EPOCH).to_string()
}

/// Returns whether the page of the requests has all columns: the parameter is given, and not empty.
pub(super) fn wants_details(query: &str) -> bool {
    query_pairs(query)
        .find(|(name, _)| name == "includeRequestDetails")
        .is_some_and(|(_, value)| !value.is_empty())
}

/// Aligns the columns of rows that are separated by tabs. As for Go's `tabwriter`, text after the last tab of a row
/// belongs to no column, and a column ends where a row does not have it.
fn aligned(rows: &[String]) -> String {
    let cells: Vec<Vec<&str>> = rows.iter().map(|row| row.split('\t').collect()).collect();
    let columns = cells.iter().map(Vec::len).max().unwrap_or(0).saturating_sub(1);
    let width = |column: usize| {
        let terminated = cells.iter().filter(|row| row.len() > column + 1);
        let widest = terminated.filter_map(|row| row.get(column)).map(|cell| cell.chars().count()).max();
        (widest.unwrap_or(0) + 1).max(MIN_WIDTH)
    };
    let widths: Vec<usize> = (0..columns).map(width).collect();
    let mut text = String::new();
    for row in &cells {
        for (number, cell) in row.iter().enumerate() {
            text.push_str(cell);
            if let Some(width) = widths.get(number).filter(|_| number + 1 < row.len()) {
                let padding = width.saturating_sub(cell.chars().count());
                text.extend(std::iter::repeat_n(' ', padding));
            }
        }
        text.push('\n');
    }
    text
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn columns_are_aligned_as_go_aligns_them() {
        let rows = ["Name,\tCount,\tLast".to_owned(), "a-long-name,\t1,\tx".to_owned()];
        assert_eq!(aligned(&rows), "Name,        Count,  Last\na-long-name, 1,      x\n");
    }
}
