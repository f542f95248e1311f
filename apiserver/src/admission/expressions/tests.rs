use async_trait::async_trait;
use registry_core::admission::Operation;
use registry_core::cel::CostBudget;
use registry_core::cel::admission::{ExpressionCompiler, Returns, Uses};
use registry_core::context::Budget;
use registry_core::context::UserInfo;
use registry_core::rest::access::{AccessDecision, InvalidToken, KnownToken, WantedAccess};

use super::*;

/// Allows what users whose name starts with `allowed` want, later than it is asked.
pub(crate) struct AllowLater;

#[async_trait]
impl AccessReviewer for AllowLater {
    async fn decide(&self, user: &UserInfo, _: &WantedAccess) -> AccessDecision {
        tokio::task::yield_now().await;
        let reason = format!("decided about {}", user.name);
        AccessDecision {
            allowed: user.name.starts_with("allowed"),
            denied: false,
            reason,
            ..AccessDecision::default()
        }
    }

    async fn user_of_token(&self, _: &str, _: &[String]) -> Result<KnownToken, InvalidToken> {
        Err(InvalidToken::Unknown)
    }
}

pub(crate) fn config_maps() -> (GroupVersionResource, GroupVersionKind) {
    let resource = GroupVersionResource { group: "", version: "v1", resource: "configmaps" };
    (resource, GroupVersionKind { group: "", version: "v1", kind: "ConfigMap" })
}

pub(crate) fn subject(object: &Object) -> Subject<'_> {
    let (resource, kind) = config_maps();
    Subject { object: Some(object), old_object: None, resource, kind, params: None, namespace: None }
}

#[tokio::test]
async fn expressions_see_the_request_and_wait_for_the_authorizer() {
    let source = "request.name == 'c' && !has(request.subResource) && request.userInfo.username == 'allowed-one' && \
        authorizer.requestResource.check('get').allowed() && \
        !authorizer.serviceAccount('a', 'b').group('').resource('pods').check('get').allowed()";
    let uses = Uses { authorizer: true, ..Uses::default() };
    let program = ExpressionCompiler::new().compile(source, Returns::Bool, uses, &Budget::default()).unwrap();
    let needs = Needs::from_programs([&program]);
    assert_eq!(needs, Needs { request: true, namespace: false, authorizer: true });

    let user = UserInfo { name: "allowed-one".to_owned(), ..UserInfo::default() };
    let context = RequestContext::new(user, "default");
    let (resource, kind) = config_maps();
    let attributes = Attributes::new(Operation::Create, resource, kind, "c");
    let access: Arc<dyn AccessReviewer> = Arc::new(AllowLater);
    let write = Write::new(&context, &attributes, &access);
    let object = Object::default();
    let subject = subject(&object);
    let made = write.make(needs, &subject);
    let mut rounds = 0;
    let value = loop {
        let value = {
            let activation = write.activation(needs, &subject, &made);
            program.evaluate(&activation, &CostBudget::default()).unwrap().as_bool()
        };
        if !write.decide_pending().await {
            break value;
        }
        rounds += 1;
    };
    assert_eq!(value, Some(true));
    assert_eq!(rounds, 2, "each access is decided once");
}

/// Cannot decide, and keeps what it was asked.
#[derive(Default)]
struct OutOfOrder(parking_lot::Mutex<Vec<WantedAccess>>);

#[async_trait]
impl AccessReviewer for OutOfOrder {
    async fn decide(&self, _: &UserInfo, wanted: &WantedAccess) -> AccessDecision {
        self.0.lock().push(wanted.clone());
        AccessDecision { error: "out of order".to_owned(), ..AccessDecision::default() }
    }

    async fn user_of_token(&self, _: &str, _: &[String]) -> Result<KnownToken, InvalidToken> {
        Err(InvalidToken::Unknown)
    }
}

/// The errors of selectors are attributes of the question in Kubernetes, which no authorizer looks at: requirements only restrict,
/// so that without them the question is about more. The error of the decision is the authorizer's own.
#[test]
fn selectors_that_cannot_be_parsed_ask_about_more_and_errors_are_those_of_the_authorizer() {
    let check = |selectors: &str| {
        let check = format!("authorizer.group('').resource('pods'){selectors}.check('list')");
        let source = format!("{check}.errored() && {check}.error() == 'out of order'");
        let uses = Uses { authorizer: true, ..Uses::default() };
        let program =
            ExpressionCompiler::new().compile(&source, Returns::Bool, uses, &Budget::default()).unwrap();
        let needs = Needs::from_programs([&program]);
        let context = RequestContext::new(UserInfo::default(), "default");
        let (resource, kind) = config_maps();
        let attributes = Attributes::new(Operation::Create, resource, kind, "c");
        let reviewer = Arc::new(OutOfOrder::default());
        let access: Arc<dyn AccessReviewer> = reviewer.clone();
        let write = Write::new(&context, &attributes, &access);
        let object = Object::default();
        let subject = subject(&object);
        let made = write.make(needs, &subject);
        let activation = write.activation(needs, &subject, &made);
        let value = program.evaluate(&activation, &CostBudget::default()).unwrap().as_bool();
        assert_eq!(value, Some(true), "{selectors}");
        let asked = reviewer.0.lock().clone();
        let [WantedAccess::Resource(asked)] = asked.as_slice() else { panic!("{asked:?}") };
        (asked.selectors.fields.len(), asked.selectors.labels.len())
    };
    assert_eq!(check(".labelSelector('a=b,c').fieldSelector('metadata.name=x')"), (1, 2));
    assert_eq!(check(".labelSelector('a in (').fieldSelector('metadata.name=x')"), (1, 0));
    assert_eq!(check(".labelSelector('a').fieldSelector('metadata.name')"), (0, 1));
    assert_eq!(check(".labelSelector('').fieldSelector('')"), (0, 0));
}
