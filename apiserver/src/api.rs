//! The one place where the outer half of the house meets the inner one.
//!
//! Until the verb handlers are merged, `Api` knows no path: everything is 404.

use std::sync::Arc;

use axum::body::Body;
use http::{Request, Response};
use registry_core::RequestContext;
use registry_core::api::status::StatusDetails;
use registry_core::api::{Reason, StatusError};
use registry_core::registry::InstalledApi;
use tokio_util::sync::CancellationToken;

use crate::error::status_response;
use crate::filters::Dispatch;
use crate::request_info::RequestInfo;

/// Stands where `handlers::Api` is wired in.
pub(crate) struct Api;

impl Api {
    pub(crate) fn new(_installed: Arc<InstalledApi>, _shutdown: CancellationToken) -> Arc<Self> {
        Arc::new(Self)
    }
}

impl Dispatch for Api {
    async fn dispatch(
        self: &Arc<Self>,
        _info: RequestInfo,
        _context: RequestContext,
        _request: Request<Body>,
    ) -> Response<Body> {
        let mut failure =
            StatusError::new(Reason::NotFound, "the server could not find the requested resource");
        failure.details = Some(Box::new(StatusDetails::default()));
        status_response(&failure)
    }
}
