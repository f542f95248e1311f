//! `/statusz` and `/flagz`: the state and the flags of the server, as text or as an object; the content of `/version`.
//!
//! Kubernetes concept: `k8s.io/apiserver/pkg/server/{statusz,flagz}`.

use bytes::Bytes;
use http::header::WARNING;
use http::{HeaderMap, HeaderValue, StatusCode};
use jiff::Timestamp;
use registry_core::features::{Feature, Features};
use request_info::Query;
use responses::{self, Response};
use serde_json::{Map, Value, json};

use crate::options::{GivenFlags, Options};
use crate::version::{self, EffectiveReleases};

mod flagz;
mod negotiation;
mod statusz;

use negotiation::{Chosen, Version};

/// The name of the component, as kube-apiserver's.
const COMPONENT: &str = "apiserver";
const GROUP: &str = "config.k8s.io";
/// The first lines of a text.
const DISCLAIMER: &str = "Warning: This endpoint is not meant to be machine parseable, has no formatting compatibility guarantees and is for debugging purposes only.";

/// The pages of a server.
#[derive(Debug)]
pub(crate) struct Zpages {
    started: Timestamp,
    /// Put together with their defaults when they are asked for, which is seldom.
    flags: GivenFlags,
    features: Features,
    releases: EffectiveReleases,
    /// The body of `/version`.
    version: Bytes,
}

/// One of the pages.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub(crate) enum Page {
    /// `/statusz`.
    Statusz,
    /// `/flagz`.
    Flagz,
}

// === impl Page ===

impl Page {
    /// Returns the page at a path.
    pub(crate) fn from_path(path: &str) -> Option<Self> {
        match path {
            "/statusz" => Some(Self::Statusz),
            "/flagz" => Some(Self::Flagz),
            _ => None,
        }
    }

    /// Returns its path.
    pub(crate) const fn path(self) -> &'static str {
        match self {
            Self::Statusz => "/statusz",
            Self::Flagz => "/flagz",
        }
    }

    const fn name(self) -> &'static str {
        match self {
            Self::Statusz => "statusz",
            Self::Flagz => "flagz",
        }
    }

    /// Returns the kind of the object.
    const fn kind(self) -> &'static str {
        match self {
            Self::Statusz => "Statusz",
            Self::Flagz => "Flagz",
        }
    }
}

// === impl Zpages ===

impl Default for Zpages {
    fn default() -> Self {
        Self::new(GivenFlags::default(), Features::default(), EffectiveReleases::default())
    }
}

impl Zpages {
    fn new(flags: GivenFlags, features: Features, releases: EffectiveReleases) -> Self {
        let version = version::body(releases);
        Self { started: Timestamp::now(), flags, features, releases, version }
    }

    /// Returns the pages of a server with these options that starts now.
    pub(crate) fn for_options(options: &Options) -> Self {
        let features = options.feature_gates().features();
        Self::new(options.given.clone(), features, options.emulation.releases())
    }

    /// Returns the body of `/version`.
    pub(crate) fn version(&self) -> Bytes {
        self.version.clone()
    }

    /// Returns whether a page is served.
    pub(crate) fn has(&self, page: Page) -> bool {
        self.features.contains(match page {
            Page::Statusz => Feature::ComponentStatusz,
            Page::Flagz => Feature::ComponentFlagz,
        })
    }

    /// Returns a page in the form that the client accepts.
    pub(crate) fn respond(&self, page: Page, headers: &HeaderMap, query: &str) -> Response {
        let has_cbor = self.features.contains(Feature::CBORServingAndStorage);
        match negotiation::choose(page, headers, Query::new(query), has_cbor) {
            Ok(Chosen::Text) => responses::plain_text(self.text(page)),
            Ok(Chosen::Object(output, version)) => {
                let object = self.object(page, version);
                let mut response = responses::value(&output, StatusCode::OK, &object);
                if let (Version::V1Alpha1, Ok(warning)) = (version, deprecation(page).parse::<HeaderValue>())
                {
                    response.headers_mut().insert(WARNING, warning);
                }
                response
            }
            Err(refusal) => responses::status(&refusal),
        }
    }

    fn text(&self, page: Page) -> String {
        let name = page.name();
        let content = match page {
            Page::Statusz => statusz::text(self.started, Timestamp::now(), self.releases.emulation),
            Page::Flagz => flagz::text(&self.flags.all()),
        };
        format!("\n{COMPONENT} {name}\n{DISCLAIMER}\n{content}")
    }

    fn object(&self, page: Page, version: Version) -> Value {
        let mut object = match page {
            Page::Statusz => statusz::object(self.started, Timestamp::now(), self.releases.emulation),
            Page::Flagz => Map::from_iter([("flags".to_owned(), json!(self.flags.all()))]),
        };
        object.insert("kind".to_owned(), page.kind().into());
        object.insert("apiVersion".to_owned(), format!("{GROUP}/{}", version.name()).into());
        object.insert("metadata".to_owned(), json!({ "name": COMPONENT }));
        Value::Object(object)
    }
}

fn deprecation(page: Page) -> String {
    let name = page.name();
    format!("299 - \"This version of the {name} endpoint is deprecated. Please use a newer version.\"")
}
