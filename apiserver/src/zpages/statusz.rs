//! The state of the server.

use jiff::Timestamp;
use jiff::tz::TimeZone;
use registry_core::release::Release;
use serde_json::{Map, Value, json};

use crate::version::GIT_VERSION;

/// The endpoints for operators.
const PATHS: [&str; 7] = ["/flagz", "/healthz", "/livez", "/metrics", "/readyz", "/statusz", "/version"];

/// Returns the state as text.
pub(super) fn text(started: Timestamp, now: Timestamp, emulation: Release) -> String {
    // The date as `date` prints it.
    let since = started.to_zoned(TimeZone::UTC).strftime("%a %b %e %H:%M:%S UTC %Y");
    let up = seconds_between(started, now);
    let (hours, minutes, seconds) = (up / 3600, up / 60 % 60, up % 60);
    let version = binary_version();
    let paths = PATHS.join(" ");
    format!(
        "\nStarted:  {since}\nUp:  {hours} hr {minutes:02} min {seconds:02} sec\nGo version:  none\nBinary version:  {version}\nEmulation version:  {emulation}\nPaths:  {paths}\n"
    )
}

/// Returns the fields of the object.
pub(super) fn object(started: Timestamp, now: Timestamp, emulation: Release) -> Map<String, Value> {
    let fields = [
        ("startTime", started.strftime("%Y-%m-%dT%H:%M:%SZ").to_string().into()),
        ("uptimeSeconds", seconds_between(started, now).into()),
        ("goVersion", "".into()),
        ("binaryVersion", binary_version().into()),
        ("emulationVersion", emulation.to_string().into()),
        ("paths", json!(PATHS)),
    ];
    fields.into_iter().map(|(name, value)| (name.to_owned(), value)).collect()
}

fn binary_version() -> &'static str {
    GIT_VERSION.trim_start_matches('v')
}

fn seconds_between(started: Timestamp, now: Timestamp) -> i64 {
    (now.as_second() - started.as_second()).max(0)
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn the_text_is_kubernetes() {
        let started: Timestamp = "2026-11-02T03:34:51Z".parse().unwrap();
        let now: Timestamp = "2026-11-03T04:35:00Z".parse().unwrap();
        let expected = format!(
            "
Started:  Mon Nov  2 03:34:51 UTC 2026
Up:  25 hr 00 min 09 sec
Go version:  none
Binary version:  1.36.2+orlop.{}
Emulation version:  1.36
Paths:  /flagz /healthz /livez /metrics /readyz /statusz /version
",
            env!("CARGO_PKG_VERSION")
        );
        let emulation = Release::new(1, 36);
        assert_eq!(text(started, now, emulation), expected);
        let object = object(started, now, emulation);
        assert_eq!(object["startTime"], "2026-11-02T03:34:51Z");
        assert_eq!(object["uptimeSeconds"], 90_009);
        assert_eq!(seconds_between(now, started), 0, "a clock that was set back");
    }
}
