//! URLs.

use super::{Call, Native, list_of_texts};
use crate::value::foreign::url::Url;
use crate::value::{Entries, Evaluated, EvaluationError, Foreign, Value, fail};

pub(super) fn native(name: &str) -> Option<Native> {
    Some(match name {
        "url" => url,
        "isURL" => is_url,
        "getScheme" | "getHost" | "getHostname" | "getPort" | "getEscapedPath" => part,
        "getQuery" => query,
        _ => return None,
    })
}

fn url<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    let [Value::String(text)] = call.args else {
        return call.no_such_overload();
    };
    match Url::parse_request(text.as_str()) {
        Ok(url) => Ok(Value::foreign(Foreign::Url(Box::new(url)))),
        Err(error) => fail(format!("URL parse error during conversion from string: {error}")),
    }
}

fn is_url<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    match call.args {
        [Value::String(text)] => Ok(Value::Bool(Url::parse_request(text.as_str()).is_ok())),
        _ => call.no_such_overload(),
    }
}

fn receiver<'c>(call: &Call<'_, 'c>) -> Result<&'c Url, Box<EvaluationError>> {
    match call.args {
        [Value::Foreign(foreign)] => match foreign.as_ref() {
            Foreign::Url(url) => Ok(url),
            _ => call.no_such_overload(),
        },
        _ => call.no_such_overload(),
    }
}

fn part<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    let url = receiver(call)?;
    Ok(Value::string(match call.function {
        "getScheme" => url.scheme.as_str(),
        "getHost" => url.host.as_str(),
        "getHostname" => url.hostname(),
        "getPort" => url.port(),
        _ => url.path.as_str(),
    }))
}

fn query<'a>(call: &mut Call<'a, '_>) -> Evaluated<'a> {
    let mut entries = Entries::new();
    for (key, values) in receiver(call)?.query() {
        let key = Value::string(key);
        if let Some(index) = key.to_key() {
            entries.insert(index, (key, list_of_texts(values)));
        }
    }
    Ok(Value::map(entries))
}
