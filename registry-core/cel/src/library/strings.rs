//! cel-go's string functions. Indexes count characters.

use super::{Call, Native, format_string, list_of_texts, lists};
use crate::budget::check_length;
use crate::value::{Evaluated, Value, fail};

pub(super) fn native(name: &str) -> Option<Native> {
    Some(match name {
        "charAt" => char_at,
        "indexOf" | "lastIndexOf" => index_of,
        "lowerAscii" => lower,
        "upperAscii" => upper,
        "replace" => replace,
        "split" => split,
        "substring" => substring,
        "trim" => trim,
        "join" => join,
        "strings.quote" => quote,
        "reverse" => reverse,
        "format" => format_string::format,
        _ => return None,
    })
}

fn char_at<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    let [Value::String(text), Value::Int(index)] = call.args else {
        return call.no_such_overload();
    };
    let count = text.as_str().chars().count() as i64;
    match usize::try_from(*index) {
        Ok(place) if *index < count => {
            let character: String = text.as_str().chars().skip(place).take(1).collect();
            Ok(Value::string(character))
        }
        Ok(_) if *index == count => Ok(Value::string("")),
        _ => fail(format!("index out of range: {index}")),
    }
}

/// The byte offset of a character.
fn byte_offset(text: &str, characters: usize) -> usize {
    text.char_indices().nth(characters).map_or(text.len(), |(offset, _)| offset)
}

fn index_of<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    let (text, part, offset) = match call.args {
        [Value::List(_), _] => return lists::index_of(call),
        [Value::String(text), Value::String(part)] => (text.as_str(), part.as_str(), None),
        [Value::String(text), Value::String(part), Value::Int(offset)] => {
            (text.as_str(), part.as_str(), Some(*offset))
        }
        _ => return call.no_such_overload(),
    };
    let is_last = call.function == "lastIndexOf";
    let count = text.chars().count() as i64;
    let start = offset.unwrap_or(if is_last { count } else { 0 });
    if part.is_empty() {
        // An empty text is found where the search starts, which is not checked.
        return Ok(Value::Int(start));
    }
    let place = match usize::try_from(start) {
        Ok(place) if offset.is_none() || start < count || (text.is_empty() && start == 0) => place,
        _ => return fail(format!("index out of range: {start}")),
    };
    let at = byte_offset(text, place);
    let found = if is_last {
        let end = (at + part.len()).min(text.len());
        let searched = text.get(..end).or_else(|| text.get(..floor_boundary(text, end)));
        searched.and_then(|searched| searched.rfind(part))
    } else {
        text.get(at..).and_then(|rest| rest.find(part)).map(|found| found + at)
    };
    let index = found.map_or(-1, |found| text.get(..found).unwrap_or_default().chars().count() as i64);
    Ok(Value::Int(index))
}

fn floor_boundary(text: &str, mut at: usize) -> usize {
    while !text.is_char_boundary(at) {
        at -= 1;
    }
    at
}

fn lower<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    match call.args {
        [Value::String(text)] => Ok(Value::string(text.as_str().to_ascii_lowercase())),
        _ => call.no_such_overload(),
    }
}

fn upper<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    match call.args {
        [Value::String(text)] => Ok(Value::string(text.as_str().to_ascii_uppercase())),
        _ => call.no_such_overload(),
    }
}

fn replace<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    let (text, from, to, limit) = match call.args {
        [Value::String(text), Value::String(from), Value::String(to)] => (text, from, to, -1),
        [Value::String(text), Value::String(from), Value::String(to), Value::Int(limit)] => {
            (text, from, to, *limit)
        }
        _ => return call.no_such_overload(),
    };
    let text = text.as_str();
    let from = from.as_str();
    let to = to.as_str();
    let found = if from.is_empty() { text.chars().count() + 1 } else { text.matches(from).count() };
    let count = usize::try_from(limit).map_or(found, |limit| limit.min(found));
    check_length(text.len().saturating_add(count.saturating_mul(to.len())))?;
    Ok(Value::string(text.replacen(from, to, count)))
}

fn split<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    let (text, separator, limit) = match call.args {
        [Value::String(text), Value::String(separator)] => (text.as_str(), separator.as_str(), -1),
        [Value::String(text), Value::String(separator), Value::Int(limit)] => {
            (text.as_str(), separator.as_str(), *limit)
        }
        _ => return call.no_such_overload(),
    };
    let limit = match limit {
        0 => return Ok(Value::list(Vec::new())),
        limit => usize::try_from(limit).unwrap_or(usize::MAX),
    };
    let parts: Vec<String> = if separator.is_empty() {
        let mut parts: Vec<String> = text.chars().take(limit.saturating_sub(1)).map(String::from).collect();
        let rest = text.get(byte_offset(text, parts.len())..).unwrap_or_default();
        if !rest.is_empty() {
            parts.push(rest.to_owned());
        }
        parts
    } else {
        text.splitn(limit, separator).map(str::to_owned).collect()
    };
    call.work(parts.len())?;
    Ok(list_of_texts(parts))
}

fn substring<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    let (text, start, end) = match call.args {
        [Value::String(text), Value::Int(start)] => (text.as_str(), *start, None),
        [Value::String(text), Value::Int(start), Value::Int(end)] => (text.as_str(), *start, Some(*end)),
        _ => return call.no_such_overload(),
    };
    let count = text.chars().count() as i64;
    if let Some(end) = end
        && start > end
    {
        return fail(format!("invalid substring range. start: {start}, end: {end}"));
    }
    if !(0..=count).contains(&start) {
        return fail(format!("index out of range: {start}"));
    }
    let end = end.unwrap_or(count);
    if !(0..=count).contains(&end) {
        return fail(format!("index out of range: {end}"));
    }
    let from = byte_offset(text, start as usize);
    let to = byte_offset(text, end as usize);
    Ok(Value::string(text.get(from..to).unwrap_or_default()))
}

fn trim<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    match call.args {
        [Value::String(text)] => Ok(Value::string(text.as_str().trim())),
        _ => call.no_such_overload(),
    }
}

fn join<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    let (list, separator) = match call.args {
        [Value::List(list)] => (list, ""),
        [Value::List(list), Value::String(separator)] => (list, separator.as_str()),
        _ => return call.no_such_overload(),
    };
    let mut joined = String::new();
    for (index, element) in list.iter().enumerate() {
        call.budget.visit(1)?;
        let element = element?;
        let Some(text) = element.as_str() else {
            return fail(format!("join: invalid input: {element}"));
        };
        check_length(joined.len() + separator.len() + text.len())?;
        if index > 0 {
            joined.push_str(separator);
        }
        joined.push_str(text);
    }
    Ok(Value::string(joined))
}

fn quote<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    let [Value::String(text)] = call.args else {
        return call.no_such_overload();
    };
    let mut quoted = String::with_capacity(text.as_str().len() + 2);
    quoted.push('"');
    for character in text.as_str().chars() {
        match character {
            '\u{7}' => quoted.push_str("\\a"),
            '\u{8}' => quoted.push_str("\\b"),
            '\u{c}' => quoted.push_str("\\f"),
            '\n' => quoted.push_str("\\n"),
            '\r' => quoted.push_str("\\r"),
            '\t' => quoted.push_str("\\t"),
            '\u{b}' => quoted.push_str("\\v"),
            '\\' => quoted.push_str("\\\\"),
            '"' => quoted.push_str("\\\""),
            other => quoted.push(other),
        }
    }
    quoted.push('"');
    Ok(Value::string(quoted))
}

fn reverse<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    match call.args {
        [Value::String(text)] => Ok(Value::string(text.as_str().chars().rev().collect::<String>())),
        [Value::List(list)] => {
            call.budget.visit(list.len())?;
            let mut elements = list.to_vec()?;
            elements.reverse();
            Ok(Value::list(elements))
        }
        _ => call.no_such_overload(),
    }
}
