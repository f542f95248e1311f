//! The rules by which requests fail in servers for tests.

use axum::body::Body;
use http::Request;
use registry_core::RequestContext;
use registry_core::api::StatusError;
use request_info::RequestInfo;
use responses::Response;

use crate::faults::{Faults, Met, Target};

use super::{Dispatch, ExpectedWork, Filters};

impl<D: Dispatch> Filters<D> {
    /// Refuses, delays or changes a request by rules, and calls the handler of the path if it is not refused.
    pub(super) async fn dispatch_by_rules(
        &self,
        faults: &Faults,
        info: RequestInfo,
        mut context: RequestContext,
        mut request: Request<Body>,
        work: ExpectedWork,
    ) -> Result<Response, StatusError> {
        let target = Target::new(&info, &context.user, request.headers());
        let passed = match faults.meet(target, &mut request).await {
            Met::Answered(answered) => return answered,
            Met::Passed(passed) => passed,
        };
        context.read_revision = passed.read_revision;
        let response = self.inner.dispatch(info, context, request, work).await;
        Ok(match passed.watch {
            Some(watch) => watch.follow(response),
            None => response,
        })
    }
}
