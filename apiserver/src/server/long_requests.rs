//! Runs requests with large bodies, and lists of many objects, on threads of their own.
//!
//! Decoding, validating and merging a body of some MiB occupies a thread for many milliseconds without yielding. On the
//! runtime that serves connections, a few such requests would delay all others, and TLS handshakes. So would lists, whose
//! objects are selected, and in protobuf encoded, before the response begins. Their handlers therefore run on the threads
//! for [`LongWork`]. So do requests whose expressions turn out to take long, or whose stored object turns out to be large,
//! from there on: what a policy or a definition asks about a small object can take long, and a short patch can be for an
//! object of some MiB. The connection's runtime waits for the response, and its deadline still ends the request: the
//! handler is dropped at its next `await`, and what it does before that ends with its
//! [budget](registry_core::context::Budget), which learns here that nobody waits any more.

use std::future::poll_fn;
use std::panic::resume_unwind;
use std::sync::Arc;
use std::task::Poll;

use axum::body::Body;
use futures::future::BoxFuture;
use http::header::ACCEPT;
use http::{HeaderMap, HeaderValue, Request};
use http_body::Body as _;
use registry_core::RequestContext;
use registry_core::context::{Abandoned, Place};
use request_info::{RequestInfo, Verb};
use responses::Response;
use tracing::Instrument as _;

use crate::filters::{Dispatch, ExpectedWork};

use super::long_work::{LongProgress, LongWork};

/// Minimum size of a large body; bodies of unknown size count as large too. A smaller request takes about as
/// long as the change of threads.
const LARGE_BYTES: u64 = 64 * 1024;

/// Dispatches requests, those with much work on threads of their own.
pub(super) struct LongRequests<D> {
    inner: Arc<D>,
    long_work: Arc<LongWork>,
}

// === impl LongRequests ===

impl<D: Dispatch> LongRequests<D> {
    pub(super) fn new(inner: Arc<D>, long_work: Arc<LongWork>) -> Self {
        Self { inner, long_work }
    }
}

impl<D: Dispatch> Dispatch for LongRequests<D> {
    fn dispatch(
        self: &Arc<Self>,
        info: RequestInfo,
        mut context: RequestContext,
        request: Request<Body>,
        work: ExpectedWork,
    ) -> BoxFuture<'static, Response> {
        let progress = (work == ExpectedWork::LongList).then(|| self.long_work.begin_response());
        let moves = match &progress {
            Some(list) => !list.stays(),
            None => work == ExpectedWork::Matching || is_large(&info, request.body()),
        };
        if !moves && !may_evaluate(&info) && !is_encoded(&info, request.headers()) {
            let handler = self.inner.dispatch(info, context, request, work);
            return match progress {
                Some(progress) => Box::pin(during(progress, handler)),
                None => handler,
            };
        }
        let abandoned = Abandoned::default();
        let guard = abandoned.on_drop();
        context.budget.end_with(abandoned);
        let place = Place::default();
        context.budget.leave_by(place.clone());
        let handler = self.inner.dispatch(info, context, request, work);
        let long_work = self.long_work.clone();
        Box::pin(async move {
            let _until_the_response = (progress, guard);
            handle(handler, moves, &place, &long_work).await
        })
    }
}

/// Handles a request while `progress` counts it as a long one.
async fn during(progress: LongProgress, handler: BoxFuture<'static, Response>) -> Response {
    let response = handler.await;
    drop(progress);
    response
}

/// Handles a request, on the threads for long work if it `moves`, or from where it is to leave its place.
async fn handle(
    mut handler: BoxFuture<'static, Response>,
    moves: bool,
    place: &Place,
    long_work: &LongWork,
) -> Response {
    if !moves {
        let outcome = poll_fn(|task| match handler.as_mut().poll(task) {
            Poll::Ready(response) => Poll::Ready(Some(response)),
            Poll::Pending if place.is_to_leave() => Poll::Ready(None),
            Poll::Pending => Poll::Pending,
        });
        if let Some(response) = outcome.await {
            return response;
        }
    }
    place.set_left();
    match long_work.spawn(handler.in_current_span()).await {
        Ok(response) => response,
        // The filters handle a panic, as for all other requests.
        Err(failed) => resume_unwind(failed.try_into_panic().unwrap_or_else(|error| Box::new(error))),
    }
}

/// Returns whether expressions may be evaluated for a request: those of policies, webhooks and definitions, for writes.
fn may_evaluate(info: &RequestInfo) -> bool {
    let is_write = matches!(
        info.verb,
        Verb::Create | Verb::Update | Verb::Patch | Verb::Delete | Verb::DeleteCollection
    );
    is_write && info.resource.is_some() && !info.is_long_running()
}

/// Returns whether the response to a request is an object that may be encoded for it: stored objects are in JSON.
fn is_encoded(info: &RequestInfo, headers: &HeaderMap) -> bool {
    let is_other = |accepted: &HeaderValue| accepted != "application/json" && accepted != "*/*";
    let is_object = info.verb == Verb::Get && info.resource.is_some() && !info.is_long_running();
    is_object && headers.get(ACCEPT).is_some_and(is_other)
}

/// Returns whether a request has a large body that is read as a whole.
fn is_large(info: &RequestInfo, body: &Body) -> bool {
    let size = body.size_hint();
    let may_be_large = size.exact().unwrap_or(u64::MAX) >= LARGE_BYTES;
    may_be_large && !body.is_end_stream() && info.resource.is_some() && !info.is_long_running()
}

#[cfg(test)]
mod tests {
    use std::thread;

    use http_body_util::BodyExt as _;
    use registry_core::cel::{CostBudget, Environment, EvaluationError};
    use registry_core::context::Budget;

    use super::super::long_work::THREAD_NAME;
    use super::*;

    /// Responds with the name of the thread that it runs on.
    struct ThreadName;

    impl Dispatch for ThreadName {
        fn dispatch(
            self: &Arc<Self>,
            _: RequestInfo,
            _: RequestContext,
            request: Request<Body>,
            _: ExpectedWork,
        ) -> BoxFuture<'static, Response> {
            Box::pin(async move {
                assert!(request.uri().path() != "/api/v1/panic", "as it was asked to");
                Response::new(thread::current().name().unwrap_or_default().to_owned().into())
            })
        }
    }

    async fn thread_of(served: &Arc<LongRequests<ThreadName>>, uri: &str, body: Body) -> String {
        thread_of_request(served, Request::post(uri).body(body).unwrap(), ExpectedWork::Usual).await
    }

    async fn thread_of_request(
        served: &Arc<LongRequests<ThreadName>>,
        request: Request<Body>,
        work: ExpectedWork,
    ) -> String {
        let info = RequestInfo::parse(request.method(), request.uri());
        let response = served.dispatch(info, RequestContext::system(""), request, work).await;
        let bytes = response.into_body().collect().await.unwrap().to_bytes();
        String::from_utf8(bytes.to_vec()).unwrap()
    }

    #[tokio::test]
    async fn only_requests_with_large_bodies_and_long_lists_leave_the_thread() {
        let long_work = Arc::new(LongWork::start().unwrap());
        let served = Arc::new(LongRequests::new(Arc::new(ThreadName), long_work.clone()));
        let here = thread::current().name().unwrap_or_default().to_owned();
        let config_maps = "/api/v1/namespaces/a/configmaps";
        let large = || Body::from(vec![b' '; 64 * 1024]);
        let chunked = Body::from_stream(futures::stream::iter([Ok::<_, std::io::Error>("{}")]));
        assert_eq!(thread_of(&served, config_maps, Body::from("{}")).await, here);
        assert_eq!(thread_of(&served, config_maps, Body::empty()).await, here);
        assert_eq!(thread_of(&served, config_maps, large()).await, THREAD_NAME);
        assert_eq!(thread_of(&served, config_maps, chunked).await, THREAD_NAME);
        assert_eq!(thread_of(&served, "/api/v1/namespaces/a/pods/b/proxy/", large()).await, here);
        let list = || Request::get(config_maps).body(Body::empty()).unwrap();
        assert_eq!(thread_of_request(&served, list(), ExpectedWork::Usual).await, here);
        let long = ExpectedWork::LongList;
        assert_eq!(thread_of_request(&served, list(), long).await, here, "it is the only one");
        assert_eq!(thread_of_request(&served, list(), ExpectedWork::Matching).await, THREAD_NAME);
        let _another = long_work.begin_response();
        assert_eq!(thread_of_request(&served, list(), long).await, THREAD_NAME);
    }

    /// Evaluates an expression that takes long, again if it has to. Responds with the name of the thread that it ended on.
    struct Evaluation;

    impl Dispatch for Evaluation {
        fn dispatch(
            self: &Arc<Self>,
            _: RequestInfo,
            context: RequestContext,
            request: Request<Body>,
            _: ExpectedWork,
        ) -> BoxFuture<'static, Response> {
            Box::pin(evaluated(context, request))
        }
    }

    async fn evaluated(context: RequestContext, request: Request<Body>) -> Response {
        let list = "lists.range(300)";
        let source = format!("{list}.all(a, {list}.all(b, a + b >= 0))");
        let source = if request.uri().path().ends_with("/short") { "1 == 1" } else { &source };
        let environment = Environment::kubernetes();
        let program = environment.compile(source, &context.budget).unwrap();
        loop {
            let budget = CostBudget::default().within(&context.budget);
            let outcome = program.evaluate(&environment.activation(), &budget);
            if context.budget.repeated_elsewhere().await {
                assert_eq!(outcome.unwrap_err(), EvaluationError::Interrupted);
                continue;
            }
            assert_eq!(outcome.unwrap().as_bool(), Some(true));
            return Response::new(thread::current().name().unwrap_or_default().to_owned().into());
        }
    }

    #[tokio::test]
    async fn expressions_that_take_long_leave_the_thread() {
        let served = Arc::new(LongRequests::new(Arc::new(Evaluation), Arc::new(LongWork::start().unwrap())));
        let here = thread::current().name().unwrap_or_default().to_owned();
        for (name, expected) in [("short", here.as_str()), ("long", THREAD_NAME)] {
            let uri = format!("/api/v1/namespaces/a/configmaps/{name}");
            let request = Request::put(uri).body(Body::from("{}")).unwrap();
            let info = RequestInfo::parse(request.method(), request.uri());
            let mut context = RequestContext::system("");
            context.budget = Budget::default();
            let response = served.dispatch(info, context, request, ExpectedWork::Usual).await;
            let bytes = response.into_body().collect().await.unwrap().to_bytes();
            assert_eq!(bytes, expected, "{name}");
        }
    }

    /// Works on an object whose size in bytes is its name. Responds with the name of the thread that it ended on.
    struct Stored;

    impl Dispatch for Stored {
        fn dispatch(
            self: &Arc<Self>,
            _: RequestInfo,
            context: RequestContext,
            request: Request<Body>,
            _: ExpectedWork,
        ) -> BoxFuture<'static, Response> {
            Box::pin(async move {
                let size_bytes = request.uri().path().rsplit('/').next().unwrap().parse().unwrap();
                context.budget.leave_for_large(size_bytes).await;
                Response::new(thread::current().name().unwrap_or_default().to_owned().into())
            })
        }
    }

    #[tokio::test]
    async fn requests_for_large_objects_leave_the_thread() {
        let served = Arc::new(LongRequests::new(Arc::new(Stored), Arc::new(LongWork::start().unwrap())));
        let here = thread::current().name().unwrap_or_default().to_owned();
        let path = |size_bytes: u32| format!("/api/v1/namespaces/a/configmaps/{size_bytes}");
        for (method, accepted, size_bytes, expected) in [
            ("PATCH", "application/json", 64, here.as_str()),
            ("PATCH", "application/json", 1 << 20, THREAD_NAME),
            ("DELETE", "application/json", 1 << 20, THREAD_NAME),
            ("GET", "application/yaml", 1 << 20, THREAD_NAME),
            ("GET", "application/json", 1 << 20, here.as_str()),
            ("GET", "*/*", 1 << 20, here.as_str()),
        ] {
            let request = Request::builder().method(method).uri(path(size_bytes)).header(ACCEPT, accepted);
            let info = RequestInfo::parse(request.method_ref().unwrap(), request.uri_ref().unwrap());
            let mut context = RequestContext::system("");
            context.budget = Budget::default();
            let request = request.body(Body::empty()).unwrap();
            let response = served.dispatch(info, context, request, ExpectedWork::Usual).await;
            let bytes = response.into_body().collect().await.unwrap().to_bytes();
            assert_eq!(bytes, expected, "{method} {accepted} {size_bytes}");
        }
    }

    #[tokio::test]
    async fn a_panic_reaches_the_caller() {
        let served = Arc::new(LongRequests::new(Arc::new(ThreadName), Arc::new(LongWork::start().unwrap())));
        let asked = {
            let served = served.clone();
            tokio::spawn(async move {
                thread_of(&served, "/api/v1/panic", Body::from(vec![b' '; 64 * 1024])).await
            })
        };
        assert!(asked.await.unwrap_err().is_panic());
    }
}
