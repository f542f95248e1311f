//! Quantities such as `500m` and `1Gi`.

use super::{Call, Foreign, Native};
use crate::value::{Evaluated, EvaluationError, Value, fail};
use registry_schema::Quantity;

/// Nanos of one.
const ONE: i128 = 1_000_000_000;

pub(super) fn native(name: &str) -> Option<Native> {
    Some(match name {
        "quantity" => quantity,
        "isQuantity" => is_quantity,
        "sign" => sign,
        "asInteger" => as_integer,
        "isInteger" => is_integer,
        "asApproximateFloat" => as_float,
        "add" | "sub" => add,
        "isGreaterThan" | "isLessThan" | "compareTo" => compare,
        _ => return None,
    })
}

fn quantity<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    let [Value::String(text)] = call.args else {
        return call.no_such_overload();
    };
    match Quantity::parse(text.as_str()) {
        Ok(quantity) => Ok(Value::foreign(Foreign::Quantity(quantity))),
        Err(error) => fail(error.to_string()),
    }
}

fn is_quantity<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    match call.args {
        [Value::String(text)] => Ok(Value::Bool(Quantity::parse(text.as_str()).is_ok())),
        _ => call.no_such_overload(),
    }
}

fn receiver<'c>(call: &Call<'_, 'c>) -> Result<&'c Quantity, Box<EvaluationError>> {
    match call.args.first() {
        Some(Value::Foreign(foreign)) => match foreign.as_ref() {
            Foreign::Quantity(quantity) => Ok(quantity),
            _ => call.no_such_overload(),
        },
        _ => call.no_such_overload(),
    }
}

/// The quantity in nanos. Those that do not fit are far above what computes exactly.
fn nanos(quantity: &Quantity) -> Result<i128, Box<EvaluationError>> {
    quantity.nanos().map_or_else(|| fail("quantity is too large"), Ok)
}

fn sign<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    Ok(Value::Int(nanos(receiver(call)?)?.signum() as i64))
}

fn whole(quantity: &Quantity) -> Option<i64> {
    let nanos = quantity.nanos()?;
    (nanos % ONE == 0).then(|| i64::try_from(nanos / ONE).ok())?
}

fn as_integer<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    match whole(receiver(call)?) {
        Some(number) => Ok(Value::Int(number)),
        None => fail("cannot convert value to integer"),
    }
}

fn is_integer<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    Ok(Value::Bool(whole(receiver(call)?).is_some()))
}

fn as_float<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    let nanos = nanos(receiver(call)?)?;
    // Whole numbers are exact; others are as near as a division gets.
    Ok(Value::Double(if nanos % ONE == 0 { (nanos / ONE) as f64 } else { nanos as f64 / ONE as f64 }))
}

fn add<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    let first = receiver(call)?;
    let second = match call.args.get(1) {
        Some(Value::Int(number)) => i128::from(*number) * ONE,
        Some(Value::Foreign(foreign)) => match foreign.as_ref() {
            Foreign::Quantity(quantity) => nanos(quantity)?,
            _ => return call.no_such_overload(),
        },
        _ => return call.no_such_overload(),
    };
    let second = if call.function == "sub" { -second } else { second };
    match nanos(first)?.checked_add(second) {
        Some(sum) => Ok(Value::foreign(Foreign::Quantity(first.with_nanos(sum)))),
        None => fail("quantity is too large"),
    }
}

fn compare<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    let [Value::Foreign(first), Value::Foreign(second)] = call.args else {
        return call.no_such_overload();
    };
    let ordering = match (first.as_ref(), second.as_ref()) {
        (Foreign::Quantity(a), Foreign::Quantity(b)) => a.compare(b),
        (Foreign::Semver(a), Foreign::Semver(b)) => a.compare(b),
        _ => return call.no_such_overload(),
    };
    Ok(match call.function {
        "isGreaterThan" => Value::Bool(ordering.is_gt()),
        "isLessThan" => Value::Bool(ordering.is_lt()),
        _ => Value::Int(ordering as i64),
    })
}
