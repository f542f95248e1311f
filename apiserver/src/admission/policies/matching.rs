//! The policies and the parameters of bindings that a write is evaluated by.

use registry_core::api::Object;

use crate::admission::expressions::Write;
use crate::admission::matching::{Matched, Matcher, namespace_of};
use crate::main_server::MainKinds;

use super::definitions::{Binding, Policy};
use super::params::{Params, ParamsError};

/// Compares a write with policies and bindings.
#[derive(Clone, Copy)]
pub(super) struct Matching<'a> {
    pub(super) matcher: &'a Matcher,
    /// The main server of this extension server.
    pub(super) main: Option<&'a MainKinds>,
    pub(super) write: &'a Write<'a>,
    pub(super) object: Option<&'a Object>,
    pub(super) old: Option<&'a Object>,
}

/// A policy that matches a write.
pub(super) struct MatchedPolicy<'p> {
    /// The version in which it matches.
    pub(super) matched: Matched,
    params: Params<'p>,
}

// === impl Matching ===

impl Matching<'_> {
    /// Returns a policy as it matches the write, with the kind of its parameters; `None` if it does not match.
    ///
    /// # Errors
    /// Fails if the policy cannot be used.
    pub(super) async fn policy<'p, E>(
        &self,
        policy: &'p Policy<E>,
    ) -> Result<Option<MatchedPolicy<'p>>, ParamsError> {
        let Write { context, attributes, .. } = *self.write;
        let matched =
            self.matcher.matches(&policy.criteria, context, attributes, self.object, self.old).await?;
        let Some(matched) = matched else { return Ok(None) };
        let params = Params::find(policy.param_kind.as_ref(), attributes, self.main).await?;
        Ok(Some(MatchedPolicy { matched, params }))
    }

    /// Returns the parameters that a binding gives to a policy; `None` if it does not match the write.
    ///
    /// # Errors
    /// Fails if the binding cannot be used.
    pub(super) async fn params<B>(
        &self,
        policy: &MatchedPolicy<'_>,
        binding: &Binding<B>,
    ) -> Result<Option<Vec<Option<Object>>>, ParamsError> {
        let Write { context, attributes, .. } = *self.write;
        if let Some(criteria) = &binding.criteria {
            let matched = self.matcher.matches(criteria, context, attributes, self.object, self.old);
            if matched.await?.is_none() {
                return Ok(None);
            }
        }
        let namespace = namespace_of(context, attributes);
        policy.params.collect(binding.params.as_ref(), namespace).await.map(Some)
    }
}
