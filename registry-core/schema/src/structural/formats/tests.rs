use super::*;

fn check(name: &str, valid: &[&str], invalid: &[&str]) {
    let format = Format::for_kind(Kind::String, name).unwrap_or_else(|| panic!("{name} is not known"));
    for text in valid {
        assert!(format.accepts(text), "{text:?} is a valid {name}");
    }
    for text in invalid {
        assert!(!format.accepts(text), "{text:?} is not a valid {name}");
    }
}

#[test]
fn names_and_addresses_have_their_formats() {
    check(
        "hostname",
        &["a", "example.com", "1a.example.org", "ü.example.com"],
        &["-a", "a_b", "a..b", "", "a.b-"],
    );
    check(
        "ipv4",
        &["1.2.3.4", "01.002.3.4", "::ffff:1.2.3.4"],
        &["1.2.3", "1.2.3.256", "zork", "1.2.3.4.5", "::1"],
    );
    check(
        "ipv6",
        &["::1", "fe80::1:2", "::ffff:1.2.3.4"],
        &["1.2.3.4", ":::", "::1%eth0", "::ffff:01.2.3.4"],
    );
    check(
        "cidr",
        &["10.0.0.0/8", "::/0", "1.2.3.4/032"],
        &["10.0.0.0", "10.0.0.0/33", "::/129", "10.0.0.0/", "a/8"],
    );
    check(
        "mac",
        &["01:23:45:67:89:ab", "01-23-45-67-89-AB", "0123.4567.89ab"],
        &["01:23", "01:23:45:67:89:zz", ""],
    );
    check("k8s-short-name", &["a", "a-b", "0"], &["a-", "-a", "A", "a.b", "", &"a".repeat(64)]);
    check("k8s-long-name", &["a.b", "a", &"a".repeat(100)], &["a..b", ".a", "A", "", &"a".repeat(254)]);
}

#[test]
fn identifiers_have_their_formats() {
    let uuid = "f81d4fae-7dec-41d0-8765-00a0c91e6bf6";
    check(
        "uuid",
        &[uuid, &uuid.replace('-', ""), &uuid.to_uppercase()],
        &["f81d", &uuid.replace('f', "g"), ""],
    );
    check("uuid4", &[uuid], &[&uuid.replace("-41d0", "-31d0"), &uuid.replace("-8765", "-7765")]);
    check("uuid3", &[&uuid.replace("-41d0", "-31d0")], &[uuid]);
    check("uuid5", &[&uuid.replace("-41d0", "-51d0")], &[uuid]);
    check("isbn", &["0321751043", "978-0321751041"], &["0321751042", "1"]);
    check("isbn10", &["0-321-75104-3", "080442957X"], &["978-0321751041"]);
    check("isbn13", &["978-0321751041"], &["0321751043", "9780321751042"]);
    check("creditcard", &["4111 1111 1111 1111"], &["4111 1111 1111 1112", "1"]);
    check("ssn", &["111-22-3333", "111 22 3333"], &["111223333", "1", "١١١-22-3333"]);
    check(
        "bsonobjectid",
        &["507f1f77bcf86cd799439011"],
        &["507f1f77bcf86cd79943901", "z07f1f77bcf86cd799439011"],
    );
    check("hexcolor", &["#fff", "ABCDEF"], &["#ffff", "zzz", ""]);
    check("rgbcolor", &["rgb(255, 0, 1)"], &["rgb(256,0,0)", "rgb(1,2)"]);
    check("byte", &["aGVsbG8=", "AAAA"], &["!!", "a", ""]);
    check("password", &["", "x"], &[]);
}

#[test]
fn times_have_their_formats() {
    check("date", &["2024-02-29", "0001-01-01"], &["2023-02-29", "2024-1-1", "2024-01-01T", "24-01-01", ""]);
    check(
        "date-time",
        &[
            "2014-12-15T19:30:20.000Z",
            "2014-12-15t19:30:20z",
            "2014-12-15T19:30:20+01:00",
            "2014-12-15T19:30:20,5Z",
        ],
        &["2014-12-15", "2014-12-15T24:00:00Z", "2014-12-15T19:30:60Z", "zork", "2014-12-15T19:30:20", ""],
    );
    check(
        "duration",
        &["1h30m", "0", "-1.5h", "22 ns", "5 minutes", ".5s", "1.s", "in 3 weeks", "1µs"],
        &["", "5", "1x", "-", "99999999999999999999s", "h"],
    );
    assert!(Format::for_kind(Kind::String, "datetime") == Format::for_kind(Kind::Any, "date-time"));
    assert!(
        Format::for_kind(Kind::String, "int32").is_none()
            && Format::for_kind(Kind::Integer, "int-32").is_none()
    );
}

#[test]
fn uris_have_their_format() {
    check(
        "uri",
        &["http://a/b?c=d", "/a/b", "mailto:a@b.c", "http://[::1]:80/", "http://u:p@h:1/%41", "a+b:c", "*"],
        &["", "a/b", ":a", "http://h:x/", "http://a b/", "http://h/%zz", "http://[::1/", "a\nb", "1a:b"],
    );
}

#[test]
fn mail_addresses_have_their_format() {
    check(
        "email",
        &[
            "a@b.c",
            "A B <a@b.c>",
            "<a@b>",
            "\"a b\"@c",
            "a@[1.2.3.4]",
            "a@b (x)",
            "\"A, B\" <a@b.c>",
            "é@b.c",
        ],
        &["", "a", "a@", "@b", "a b@c", "a..b@c", "a@b@c", "<a@b", "a@b>", "\"\"@b", "a@b, c@d", "A <>"],
    );
}
