//! Rules of PodCertificateRequests.

use registry_core::RequestContext;
use registry_core::api::Object;
use registry_core::api::validation::ErrorList;
use registry_core::resource::ObjectStrategy;
use resource_views::certificates::v1beta1::PodCertificateRequest;

use super::{issued, validation};
use crate::support::defaulting;
use crate::support::field::ShownAsGo as _;

/// The spec is immutable; the status ends the request once.
pub(super) struct PodCertificateRequestStrategy;

impl ObjectStrategy for PodCertificateRequestStrategy {
    fn validate(&self, _context: &RequestContext, object: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        validation::check(&PodCertificateRequest(object).spec(), &mut errors);
        errors
    }

    fn validate_update(&self, _context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        let mut errors = ErrorList::default();
        let before = PodCertificateRequest(old).spec();
        let spec = PodCertificateRequest(new).spec();
        spec.check_immutable_as("<certificates.PodCertificateRequestSpec>", &before, &mut errors);
        errors
    }

    fn prepare_for_status_update(&self, _context: &RequestContext, new: &mut Object, old: &Object) {
        defaulting::keep_metadata(new, old);
    }

    fn validate_status_update(&self, _context: &RequestContext, new: &Object, old: &Object) -> ErrorList {
        issued::check_status(new, old)
    }
}
