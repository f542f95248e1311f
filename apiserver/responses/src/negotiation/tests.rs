use super::*;

const TEXT: Formats = Formats { protobuf: false, cbor: false, tables: true };
const PROTOBUF: Formats = Formats { protobuf: true, cbor: false, tables: true };
const ALL: Formats = Formats { protobuf: true, cbor: true, tables: true };

fn headers(accept: &[&str]) -> HeaderMap {
    let mut headers = HeaderMap::new();
    for value in accept {
        headers.append(ACCEPT, value.parse().unwrap());
    }
    headers
}

fn negotiate(accept: &str, endpoint: Endpoint) -> Result<(Format, ResponseShape), StatusError> {
    Output::negotiate(&headers(&[accept]), Query::default(), endpoint, TEXT)
        .map(|output| (output.format, output.shape))
}

#[test]
fn falls_back_along_the_clauses() {
    let json = Ok((Format::Json, ResponseShape::Whole));
    for accept in [
        "*/*",
        "application/json",
        "application/vnd.kubernetes.protobuf, application/json",
        "application/vnd.kubernetes.protobuf,*/*",
        "text/html, application/json;q=0.5",
        "application/json;as=Table;v=v9;g=meta.k8s.io, application/json",
        "application/json;as=Wardrobe;v=v1;g=meta.k8s.io, application/json",
        "application/yaml;q=0.1, application/json;q=0.2",
        "application/yaml;q=0, application/json",
        "application/yaml;as=Table, application/json",
        "application/yaml;v=v1, application/json",
        "application/yaml;stream=zork, application/json;stream=watch;zork=1",
        "application/yaml;sv=v2, application/json;sv=v1",
    ] {
        assert_eq!(negotiate(accept, Endpoint::Object), json, "{accept}");
    }
    let several = headers(&["text/plain", "application/yaml"]);
    let output = Output::negotiate(&several, Query::default(), Endpoint::Object, TEXT).unwrap();
    assert_eq!(output.format, Format::Yaml);
}

#[test]
fn knows_the_transformations() {
    let table = "application/json;as=Table;v=v1;g=meta.k8s.io,application/json;as=Table;v=v1beta1;g=meta.k8s.io,application/json";
    assert_eq!(
        negotiate(table, Endpoint::Collection),
        Ok((Format::Json, ResponseShape::Table(MetaVersion::V1)))
    );
    assert_eq!(negotiate(table, Endpoint::Document), Ok((Format::Json, ResponseShape::Whole)));
    let partial = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1,application/json;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
    assert_eq!(
        negotiate(partial, Endpoint::Object),
        Ok((Format::Protobuf, ResponseShape::Partial(MetaVersion::V1)))
    );
}

#[test]
fn refuses_what_it_does_not_give() {
    let available =
        "Available representations: application/json, application/yaml, application/vnd.kubernetes.protobuf";
    for accept in ["text/plain", "application/*", "application/xml"] {
        let failure = negotiate(accept, Endpoint::Object).unwrap_err();
        assert_eq!(failure.code, 406);
        assert_eq!(failure.message, format!("406: Not Acceptable\n\n{available}"));
        assert!(failure.details.is_some());
    }
    let failure = negotiate("text/plain", Endpoint::Collection).unwrap_err();
    assert!(failure.message.ends_with("application/vnd.kubernetes.protobuf;stream=watch"));
    let streamed = "application/json;stream=watch, application/vnd.kubernetes.protobuf;stream=watch";
    let whole = "application/json, application/yaml";
    for (accept, types) in [
        ("application/yaml", streamed),
        ("application/yaml;as=Table;g=meta.k8s.io;v=v1", streamed),
        ("application/vnd.kubernetes.protobuf;as=Table;g=meta.k8s.io;v=v1", whole),
        ("application/json;as=Zork;g=meta.k8s.io;v=v1", whole),
    ] {
        let failure = negotiate(accept, Endpoint::Watch).unwrap_err();
        let expected = format!("only the following media types are accepted: {types}");
        assert_eq!((failure.code, failure.message), (406, expected), "{accept}");
    }
    let custom = Output::negotiate(&headers(&["application/yaml"]), Query::default(), Endpoint::Watch, TEXT);
    assert!(custom.unwrap_err().message.ends_with(streamed), "metadata of any kind are protobuf");
    assert_eq!(
        negotiate("application/json;as=Table;v=v1;g=meta.k8s.io", Endpoint::Document).unwrap_err().code,
        406
    );
    let errors = Output::for_errors(&headers(&["application/yaml"]), Query::default(), false);
    assert_eq!(errors.format, Format::Yaml);
    // Errors have no transformation, so that what is accepted with one only is not accepted for them.
    let partial = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;v=v1;g=meta.k8s.io";
    for (accepted, format) in
        [(vec![partial], Format::Json), (vec![partial, "application/yaml"], Format::Yaml)]
    {
        assert_eq!(Output::for_errors(&headers(&accepted), Query::default(), false).format, format);
    }
}

#[test]
fn reads_body_types_and_encodings() {
    let mut headers = HeaderMap::new();
    assert_eq!(Format::from_body(&headers, PROTOBUF), Ok(Format::Json));
    headers.insert(http::header::CONTENT_TYPE, "application/yaml; charset=utf-8".parse().unwrap());
    assert_eq!(Format::from_body(&headers, PROTOBUF), Ok(Format::Yaml));
    headers.insert(http::header::CONTENT_TYPE, "Application/JSON; charset=utf-8;".parse().unwrap());
    assert_eq!(Format::from_body(&headers, PROTOBUF), Ok(Format::Json));
    headers.insert(http::header::CONTENT_TYPE, "application/json; charset".parse().unwrap());
    assert_eq!(Format::from_body(&headers, PROTOBUF).unwrap_err().code, 415);
    headers.insert(http::header::CONTENT_TYPE, "application/cbor".parse().unwrap());
    assert_eq!(Format::from_body(&headers, PROTOBUF).unwrap_err().code, 415);

    let unreadable = || http::HeaderValue::from_bytes(b"application/json;\xff=1").unwrap();
    headers.insert(http::header::CONTENT_TYPE, unreadable());
    assert_eq!(Format::from_body(&headers, PROTOBUF).unwrap_err().code, 415);
    headers.insert(ACCEPT, unreadable());
    let refused = Output::negotiate(&headers, Query::default(), Endpoint::Object, PROTOBUF).unwrap_err();
    assert_eq!(refused.code, 406);
    headers.remove(ACCEPT);

    assert!(!accepts_gzip(&headers));
    headers.insert(ACCEPT_ENCODING, "deflate, gzip;q=0.5".parse().unwrap());
    assert!(accepts_gzip(&headers));
    headers.insert(ACCEPT_ENCODING, "gzip;q=0".parse().unwrap());
    assert!(!accepts_gzip(&headers));
}

#[test]
fn gives_tables_of_what_can_be_read_only() {
    let formats = Formats { tables: false, ..PROTOBUF };
    let negotiate =
        |accept: &str| Output::negotiate(&headers(&[accept]), Query::default(), Endpoint::Object, formats);
    let table = "application/json;as=Table;v=v1;g=meta.k8s.io";
    let refused = negotiate(table).unwrap_err();
    assert_eq!(refused.code, 406);
    assert_eq!(
        refused.message,
        "only the following media types are accepted: application/json, application/yaml, application/vnd.kubernetes.protobuf"
    );
    let fallen_back = negotiate(&format!("{table},application/json")).unwrap();
    assert_eq!(fallen_back.shape, ResponseShape::Whole);
}

#[test]
fn gives_protobuf_of_what_has_it() {
    let negotiate = |accept, endpoint, protobuf| {
        let formats = Formats { protobuf, cbor: false, tables: true };
        Output::negotiate(&headers(&[accept]), Query::default(), endpoint, formats)
            .map(|output| (output.format, output.shape))
            .map_err(|failure| failure.code)
    };
    let protobuf = "application/vnd.kubernetes.protobuf";
    assert_eq!(negotiate(protobuf, Endpoint::Object, true), Ok((Format::Protobuf, ResponseShape::Whole)));
    assert_eq!(negotiate(protobuf, Endpoint::Watch, true), Ok((Format::Protobuf, ResponseShape::Whole)));
    assert_eq!(negotiate(protobuf, Endpoint::Object, false), Err(406));
    let partial = "application/vnd.kubernetes.protobuf;as=PartialObjectMetadata;g=meta.k8s.io;v=v1";
    let metadata = Ok((Format::Protobuf, ResponseShape::Partial(MetaVersion::V1)));
    assert_eq!(negotiate(partial, Endpoint::Object, false), metadata);
    let table = "application/vnd.kubernetes.protobuf;as=Table;g=meta.k8s.io;v=v1";
    assert_eq!(negotiate(table, Endpoint::Collection, true), Err(406));
    let body = HeaderMap::from_iter([(http::header::CONTENT_TYPE, protobuf.parse().unwrap())]);
    assert_eq!(Format::from_body(&body, PROTOBUF), Ok(Format::Protobuf));
    assert_eq!(Format::from_body(&body, TEXT).unwrap_err().code, 415);
}

#[test]
fn speaks_cbor_when_it_is_switched_on() {
    let negotiate = |accept, endpoint, formats| {
        Output::negotiate(&headers(&[accept]), Query::default(), endpoint, formats)
            .map(|output| (output.format, output.shape))
            .map_err(|failure| failure.message)
    };
    let whole = Ok((Format::Cbor, ResponseShape::Whole));
    let preferred = "application/cbor, application/json;q=0.9";
    assert_eq!(negotiate(preferred, Endpoint::Object, ALL), whole);
    assert_eq!(negotiate("application/cbor", Endpoint::Watch, ALL), whole);
    assert_eq!(negotiate("application/cbor-seq, application/json;q=0.9", Endpoint::Watch, ALL), whole);
    assert_eq!(Format::Cbor.stream_media_type(), "application/cbor-seq");
    let table = "application/cbor;as=Table;g=meta.k8s.io;v=v1";
    assert_eq!(
        negotiate(table, Endpoint::Collection, ALL),
        Ok((Format::Cbor, ResponseShape::Table(MetaVersion::V1)))
    );
    let refused = negotiate("text/html", Endpoint::Collection, ALL).unwrap_err();
    assert!(
        refused
            .contains("application/vnd.kubernetes.protobuf, application/cbor, application/json;stream=watch")
    );
    assert!(refused.ends_with(", application/cbor-seq"));
    let body = HeaderMap::from_iter([(http::header::CONTENT_TYPE, "application/cbor".parse().unwrap())]);
    assert_eq!(Format::from_body(&body, ALL), Ok(Format::Cbor));

    assert_eq!(negotiate(preferred, Endpoint::Object, PROTOBUF), Ok((Format::Json, ResponseShape::Whole)));
    assert!(negotiate("application/cbor", Endpoint::Object, PROTOBUF).is_err());
    for (cbor, format) in [(true, Format::Cbor), (false, Format::Json)] {
        let errors = Output::for_errors(&headers(&[preferred]), Query::default(), cbor);
        assert_eq!(errors.format, format);
    }
}
