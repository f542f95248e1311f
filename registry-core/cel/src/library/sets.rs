//! Lists as sets.

use super::{Call, Native};
use crate::budget::CostBudget;
use crate::value::{Evaluated, EvaluationError, Value, compare};

pub(super) fn native(name: &str) -> Option<Native> {
    Some(match name {
        "sets.contains" => contains,
        "sets.equivalent" => equivalent,
        "sets.intersects" => intersects,
        _ => return None,
    })
}

fn lists<'a>(call: &Call<'a, '_>) -> Result<(Vec<Value<'a>>, Vec<Value<'a>>), Box<EvaluationError>> {
    match call.args {
        [Value::List(first), Value::List(second)] => {
            call.budget.visit(first.len() + second.len())?;
            Ok((first.to_vec()?, second.to_vec()?))
        }
        _ => call.no_such_overload(),
    }
}

fn holds<'a>(
    list: &[Value<'a>],
    wanted: &Value<'a>,
    budget: &CostBudget<'_>,
) -> Result<bool, Box<EvaluationError>> {
    for element in list {
        if compare::equal(element, wanted, budget)? {
            return Ok(true);
        }
    }
    Ok(false)
}

fn holds_all<'a>(
    list: &[Value<'a>],
    wanted: &[Value<'a>],
    budget: &CostBudget<'_>,
) -> Result<bool, Box<EvaluationError>> {
    for element in wanted {
        if !holds(list, element, budget)? {
            return Ok(false);
        }
    }
    Ok(true)
}

fn contains<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    let (first, second) = lists(call)?;
    holds_all(&first, &second, call.budget).map(Value::Bool)
}

fn equivalent<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    let (first, second) = lists(call)?;
    let holds = holds_all(&first, &second, call.budget)? && holds_all(&second, &first, call.budget)?;
    Ok(Value::Bool(holds))
}

fn intersects<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    let (first, second) = lists(call)?;
    for element in &second {
        if holds(&first, element, call.budget)? {
            return Ok(Value::Bool(true));
        }
    }
    Ok(Value::Bool(false))
}
