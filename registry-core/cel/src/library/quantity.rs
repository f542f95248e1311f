//! Quantities such as `500m` and `1Gi`.

use super::{Call, Native};
use crate::value::{Evaluated, EvaluationError, Foreign, Value, fail};
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
    match call.foreign(0) {
        Some(Foreign::Quantity(quantity)) => Ok(quantity),
        _ => call.no_such_overload(),
    }
}

fn sign<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    let quantity = receiver(call)?;
    Ok(Value::Int(i64::from(quantity.is_positive()) - i64::from(quantity.is_negative())))
}

fn whole(quantity: &Quantity) -> Option<i64> {
    quantity.value().filter(|_| quantity.is_whole()).and_then(|value| i64::try_from(value).ok())
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
    Ok(Value::Double(receiver(call)?.to_f64()))
}

fn add<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    let first = receiver(call)?;
    let number;
    let second = match call.args.get(1) {
        Some(Value::Int(whole)) => {
            number = first.with_nanos(i128::from(*whole) * ONE);
            &number
        }
        Some(Value::Foreign(foreign)) => match foreign.as_ref() {
            Foreign::Quantity(quantity) => quantity,
            _ => return call.no_such_overload(),
        },
        _ => return call.no_such_overload(),
    };
    let result = if call.function == "sub" { first.minus(second) } else { first.plus(second) };
    Ok(Value::foreign(Foreign::Quantity(result)))
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
