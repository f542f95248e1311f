//! Hostile inputs: a fixed sequence of thousands of mutations of a small corpus.
//!
//! The same invariants run under libFuzzer in `/fuzz`, without a time limit.

#![allow(
    clippy::unwrap_used,
    clippy::expect_used,
    clippy::indexing_slicing,
    reason = "a test fails by panicking"
)]

use std::time::{Duration, Instant};

#[path = "decoder_fuzz/invariants.rs"]
mod invariants;

/// Maximum size of a mutated input, in bytes; longer ones are truncated.
const MAX_INPUT_BYTES: usize = 4096;

/// Maximum time for an input of this size, even on a busy machine.
const MAX_TIME: Duration = Duration::from_secs(10);

/// Tokens that have a meaning for one of the decoders.
const TOKENS: &[&str] = &[
    "{",
    "}",
    "[",
    "]",
    ",",
    ":",
    "\"",
    "\\",
    "\n",
    "\n  ",
    "- ",
    "? ",
    "&a ",
    "*a",
    "<<: *a\n",
    "!!int ",
    "|\n",
    "null",
    "true",
    "yes",
    "0x1f",
    "1e9",
    "-0.0",
    "9223372036854775808",
    "\\ud800",
    "\u{0}",
    "\u{feff}",
    "é",
    "=",
    "!=",
    "==",
    " in (",
    " notin ",
    ")",
    "!",
    ">",
    "/",
    "~1",
    "~0",
    "/-",
    "/-1",
    "\"$patch\":\"delete\",",
    "\"$patch\":\"replace\",",
    "\"$retainKeys\":[],",
    "\"$setElementOrder/items\":[{\"name\":\"a\"}],",
    "\"$deleteFromPrimitiveList/finalizers\":[\"a\"],",
    "\"metadata\":{",
    "\"resourceVersion\":\"1\",",
    "\"name\":\"a\",",
];

/// A small deterministic generator of numbers (xorshift).
struct Numbers(u64);

impl Numbers {
    fn below(&mut self, limit: usize) -> usize {
        self.0 ^= self.0 << 13;
        self.0 ^= self.0 >> 7;
        self.0 ^= self.0 << 17;
        usize::try_from(self.0 >> 11).unwrap() % limit.max(1)
    }
}

fn mutate<T: AsRef<[u8]>>(input: &mut Vec<u8>, corpus: &[T], numbers: &mut Numbers) {
    for _ in 0..=numbers.below(4) {
        let at = numbers.below(input.len() + 1);
        let end = (at + numbers.below(16)).min(input.len());
        match numbers.below(6) {
            0 => drop(input.drain(at..end)),
            1 => drop(input.splice(at..at, TOKENS[numbers.below(TOKENS.len())].bytes())),
            2 => {
                let piece = input[at..end].to_vec();
                input.splice(at..at, piece.repeat(1 + numbers.below(8)));
            }
            3 if at < input.len() => input[at] = u8::try_from(numbers.below(256)).unwrap(),
            4 => {
                let other = corpus[numbers.below(corpus.len())].as_ref();
                input.splice(at..end, other[numbers.below(other.len())..].iter().copied());
            }
            _ => input.rotate_left(at),
        }
        input.truncate(MAX_INPUT_BYTES);
    }
}

fn run<T: AsRef<[u8]>>(check: fn(&[u8]), corpus: &[T], rounds: usize) {
    let mut numbers = Numbers(0x9e37_79b9_7f4a_7c15);
    let examine = |input: &[u8]| {
        let started = Instant::now();
        let held = std::panic::catch_unwind(|| check(input)).is_ok();
        assert!(held, "input: {:?}", String::from_utf8_lossy(input));
        assert!(started.elapsed() < MAX_TIME, "{:?} takes too long", String::from_utf8_lossy(input));
    };
    for seed in corpus.iter().map(AsRef::as_ref) {
        examine(seed);
        for length in 0..seed.len() {
            examine(&seed[..length]);
        }
    }
    for _ in 0..rounds {
        let mut input = corpus[numbers.below(corpus.len())].as_ref().to_vec();
        mutate(&mut input, corpus, &mut numbers);
        examine(&input);
    }
}

const JSON: &[&str] = &[
    r#"{"apiVersion":"v1","kind":"ConfigMap","metadata":{"labels":{"a":"b"},"name":"x","resourceVersion":"7"},"data":{"k":"v","k":"w"}}"#,
    r#"{"kind":"A","apiVersion":"v1","spec":[1,2.5,-3e7,true,null,{"a":{"b":[[]]}}],"metadata":{"selfLink":"/x","managedFields":[{}]}}"#,
    "[\"\\u00e9\\ud83d\\ude00\\n\", 18446744073709551615, 1e300, -0.0, 0.1]",
    "{\"apiVersion\":\"v1\",\"kind\":\"A\",\"metadata\":{}}\n",
];

const YAML: &[&str] = &[
    "apiVersion: v1\nkind: ConfigMap\nmetadata:\n  name: y\n  labels: {a: b, c: 'd'}\ndata:\n  k: |\n    text\n  l: >-\n    folded\n    text\n",
    "a: &a [1, 0x1f, 017, yes, ~, 2001-01-01, .5, 1e3]\nb: *a\nc: {<<: {k: 1}, l: 2}\n? d\n: \"\\u00e9\\x41\"\n",
    "- !!str 1\n- !!binary aGk=\n- - nested\n  - 'it''s'\n# comment\n--- \nsecond\n",
    r#"{"a": ["b", {"c": null}], "a": 1}"#,
];

const PATCHED: &[&str] = &[
    r#"{"items":[{"name":"a","value":"1","env":[{"name":"E"}]},{"name":"b"}],"finalizers":["a","b"],"labels":{"x":"y"},"spec":{"name":"s","env":[]},"args":["1"]}"#,
];

#[test]
fn json() {
    run(invariants::json, JSON, 20_000);
    run(invariants::stored, JSON, 20_000);
}

#[test]
fn yaml() {
    run(invariants::yaml, YAML, 20_000);
}

/// An object with every type of field, and one as written by other encoders: packed, in parts, with a group.
const PROTOBUF: &[&[u8]] = &[
    b"k8s\0\x0a\x10\x0a\x02v1\x12\x0aEverything\x12\x7b\x0a\x03\0\x01\x02\x12\x06\x0a\x01b\x12\x01\xff\x18\0\
      \x22\x0a\x0a\x01e\x12\x05\x0a\x01x\x0a\0\x28\x01\x32\x0e\x0a\x01n\x10\xfd\xff\xff\xff\xff\xff\xff\xff\xff\x01\
      \x3a\x04\x0a\0\x10\0\x42\x08\x08\x80\xc2\xaf\xf0\x05\x10\0\x4a\x08\x0a\x04deep\x10\x01\x50\0\x50\x05\x5a\x0a\x08\x01\
      \x10\0\x1a\x04http\x62\x06\x0a\x04500m\x6a\x0d\x0a\x0b[1,{\"k\":2}]\x71\0\0\0\0\0\0\xe0\x3f\x7a\x02\x08\x05\x1a\0\x22\0",
    b"k8s\0\x12\x14\x52\x02\x01\x02\xa3\x06\x08\x01\xa4\x06\x3a\0\x3a\0\x32\0\x32\x02\x10\x01",
];

#[test]
fn protobuf() {
    for object in PROTOBUF {
        assert!(invariants::is_protobuf(object), "{object:x?}");
    }
    run(invariants::protobuf, PROTOBUF, 40_000);
}

#[test]
fn cbor() {
    let corpus: &[&[u8]] = &[
        b"\xd9\xd9\xf7\xa3\x44data\xa2\x41b\xd6\x41\xff\x42aa\xd6\x42\0\x01\x44kind\x41C\x41l\x84\x01\x20\xf9\x38\0\xf6",
        b"\xbf\x61a\x9f\x01\x18\x20\x19\x01\0\xff\x61b\x7f\x61x\x61y\xff\x61c\x5f\x41x\xff\xff",
        b"\x88\xfb\x3f\xf1\x99\x99\x99\x99\x99\x9a\xfa\x47\xc3\x50\x40\x1b\x7f\xff\xff\xff\xff\xff\xff\xff\xc0\x61z\xd5\x41\xff\xd7\x41\xff\xf5\x80",
    ];
    run(invariants::cbor, corpus, 40_000);
}

#[test]
fn selectors() {
    let labels = ["app in (a,b),tier=x,!canary", "example.com/x!=a, n>5 ,m<7", "x notin (),y==,in in (in)"];
    run(invariants::label_selector, &labels, 40_000);
    let fields = [
        "metadata.name=c1,metadata.namespace!=n",
        r"a==x\,y\=z\\,b=",
        "spec.nodeName=,,status.phase!=Running",
    ];
    run(invariants::field_selector, &fields, 40_000);
}

#[test]
fn json_patches() {
    run(
        invariants::json_patch,
        &with_patches(&[
            r#"[{"op":"add","path":"/items/-","value":{"name":"c"}},{"op":"remove","path":"/labels/x"}]"#,
            r#"[{"op":"copy","from":"/items/0","path":"/spec/env/0"},{"op":"move","from":"/spec","path":"/s"},{"op":"test","path":"/finalizers/1","value":"b"},{"op":"replace","path":"/args/-1","value":[]}]"#,
        ]),
        20_000,
    );
}

#[test]
fn merge_patches() {
    let patches = [
        r#"{"items":null,"labels":{"x":null,"z":"1"},"spec":{"env":[null]}}"#,
        "[1]",
        r#"{"args":{"a":{"b":null}}}"#,
    ];
    run(invariants::merge_patch, &with_patches(&patches), 20_000);
}

#[test]
fn strategic_patches() {
    run(
        invariants::strategic_patch,
        &with_patches(&[
            r#"{"items":[{"name":"a","env":[{"name":"F"},{"$patch":"delete","name":"E"}]},{"name":"c"},{"$patch":"delete","name":"b"}],"labels":{"x":null}}"#,
            r#"{"$setElementOrder/items":[{"name":"b"},{"name":"a"}],"items":[{"name":"a","value":"2"}],"$deleteFromPrimitiveList/finalizers":["a"],"spec":{"$retainKeys":["name"],"name":"t"}}"#,
            r#"{"items":[{"$patch":"replace"},{"name":"z"}],"finalizers":["c"],"spec":{"$patch":"replace"},"status":{"$patch":"delete"}}"#,
        ]),
        20_000,
    );
}

fn with_patches(patches: &[&str]) -> Vec<&'static str> {
    let lines = PATCHED.iter().flat_map(|value| patches.iter().map(move |patch| format!("{value}\n{patch}")));
    lines.map(|text| &*text.leak()).collect()
}

const EXPRESSIONS: &[&str] = &[
    "self.l.all(x, x > 0 && x in [1, 2, 3]) || has(self.m.a) ? self.s.size() == 4 : self.d < 1.5e3",
    "self.l.map(i, v, {v: i}).filter(m, size(m) > 0).flatten().sortBy(x, -x)[?0].optMap(x, x + 1).orValue(-1)",
    "'%s %d %.2f'.format([self.s, self.n, self.d]).replace('t', 'tt').split(' ').join('-').matches('^[a-z]+$')",
    "timestamp('2023-01-01T00:00:00Z') + duration('1h') > timestamp(0) && b'\\xff' != bytes(r'\\n')",
    "quantity('1Gi').add(1).isGreaterThan(quantity('5m')) && cidr('10.0.0.0/8').containsIP(ip('10.0.0.1'))",
    "self.?m[?'b'].c.or(optional.none()).hasValue() && semver('1.2.3').major() == 1 && url('/a').getHost() == ''",
    "{'a': 1u, 'b': 2u}.transformMap(k, v, v * 2u).all(k, v, v % 2u == 0u) && !(1 - -1 == 0x1F / 2)",
    "lists.range(10).slice(1, 3).reverse().distinct().sum() + [[1]].flatten().max() + 'abc'.lastIndexOf('c')",
];

#[test]
fn expressions() {
    run(invariants::cel, EXPRESSIONS, 10_000);
}
