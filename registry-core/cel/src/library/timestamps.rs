//! Parts of timestamps and durations.

use super::{Call, Native};
use crate::value::{Evaluated, Value};

pub(super) fn native(name: &str) -> Option<Native> {
    let is_getter = matches!(
        name,
        "getDate"
            | "getDayOfMonth"
            | "getDayOfWeek"
            | "getDayOfYear"
            | "getFullYear"
            | "getHours"
            | "getMilliseconds"
            | "getMinutes"
            | "getMonth"
            | "getSeconds"
    );
    is_getter.then_some(part as Native)
}

fn part<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    let (time, zone) = match call.args {
        [Value::Duration(nanoseconds)] => return duration_part(call, *nanoseconds),
        [Value::Timestamp(time)] => (time, None),
        [Value::Timestamp(time), Value::String(zone)] => (time, Some(zone.as_str())),
        _ => return call.no_such_overload(),
    };
    let civil = time.in_zone(zone)?;
    let part = match call.function {
        "getDate" => i64::from(civil.day()),
        "getDayOfMonth" => i64::from(civil.day()) - 1,
        "getDayOfWeek" => i64::from(civil.weekday().to_sunday_zero_offset()),
        "getDayOfYear" => i64::from(civil.day_of_year()) - 1,
        "getFullYear" => i64::from(civil.year()),
        "getHours" => i64::from(civil.hour()),
        "getMilliseconds" => i64::from(civil.subsec_nanosecond() / 1_000_000),
        "getMinutes" => i64::from(civil.minute()),
        "getMonth" => i64::from(civil.month()) - 1,
        _ => i64::from(civil.second()),
    };
    Ok(Value::Int(part))
}

fn duration_part<'a>(call: &Call<'a, '_>, nanoseconds: i64) -> Evaluated<'a> {
    let unit = match call.function {
        "getHours" => 3_600_000_000_000,
        "getMinutes" => 60_000_000_000,
        "getSeconds" => 1_000_000_000,
        "getMilliseconds" => 1_000_000,
        _ => return call.no_such_overload(),
    };
    Ok(Value::Int(nanoseconds / unit))
}
