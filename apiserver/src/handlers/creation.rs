//! The right to create the object of an update or of an apply.

use std::sync::OnceLock;

use async_trait::async_trait;
use registry_core::RequestContext;
use registry_core::admission::CreationCheck;
use registry_core::api::StatusError;

use crate::authorization::rights::Right;

use super::call::Call;

/// The right to create the object of a request, which is asked for when there is no object, once for all attempts.
pub(super) struct CreationRight<'a> {
    call: &'a Call<'a>,
    decided: OnceLock<Result<(), StatusError>>,
}

// === impl CreationRight ===

impl<'a> CreationRight<'a> {
    pub(super) const fn new(call: &'a Call<'a>) -> Self {
        Self { call, decided: OnceLock::new() }
    }
}

#[async_trait]
impl CreationCheck for CreationRight<'_> {
    async fn may_create(&self, context: &RequestContext) -> Result<(), StatusError> {
        if let Some(decided) = self.decided.get() {
            return decided.clone();
        }
        let right = Right::to_create(self.call.info, &context.namespace);
        let decided = self.call.require(right).await;
        self.decided.get_or_init(|| decided).clone()
    }
}
