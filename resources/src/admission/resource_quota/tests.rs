use registry_core::admission::Attributes;
use registry_core::admission::Operation;
use registry_core::api::{DeleteOptions, GroupResource, GroupVersionKind, GroupVersionResource};
use registry_core::registry::SubresourceStore;
use registry_core::rest::{GracefulDeleter as _, Updater as _};
use serde_json::{Value, json};

use super::*;
use crate::api::core::configmaps::ConfigMaps;

fn object(value: Value) -> Object {
    Object::from_value(value).unwrap()
}

fn quota(hard: &Value, used: &Value) -> Object {
    object(json!({"metadata": {"name": "q"}, "status": {"hard": hard, "used": used}}))
}

fn attributes(resource: GroupResource, operation: Operation) -> Attributes<'static> {
    let kind = GroupVersionKind { group: resource.group, version: "v1", kind: "" };
    let resource = GroupVersionResource { group: resource.group, version: "v1", resource: resource.resource };
    Attributes::new(operation, resource, kind, "")
}

fn check(
    quotas: &[&Object],
    limited: &[LimitedResource],
    resource: GroupResource,
    new: &Object,
    old: Option<&Object>,
) -> Result<Vec<String>, String> {
    let operation = if old.is_some() { Operation::Update } else { Operation::Create };
    let attributes = attributes(resource, operation);
    let devices = Devices::default();
    let request = Request::new(&attributes, new, old, &devices);
    let quotas: Vec<Quota> = quotas.iter().map(|quota| Quota::from_object(quota)).collect();
    let charged = request.check(quotas.iter(), limited).map_err(|refused| refused.message)?;
    let shown = charged.into_iter().map(|quota| {
        let used = request.charged(quota).unwrap();
        used.iter().map(|(name, amount)| format!("{name}={amount}")).collect::<Vec<_>>().join(",")
    });
    Ok(shown.collect())
}

fn charged(
    quota: &Object,
    resource: GroupResource,
    new: &Object,
    old: Option<&Object>,
) -> Result<String, String> {
    check(&[quota], &[], resource, new, old).map(|charged| charged.join(";"))
}

#[test]
fn objects_are_counted() {
    let config_maps = GroupResource { group: "", resource: "configmaps" };
    let map = object(json!({"metadata": {"name": "m"}}));
    let of = |used: &str| quota(&json!({"count/configmaps": "1"}), &json!({"count/configmaps": used}));
    assert_eq!(charged(&of("0"), config_maps, &map, None).unwrap(), "count/configmaps=1");
    assert_eq!(
        charged(&of("1"), config_maps, &map, None).unwrap_err(),
        "configmaps \"m\" is forbidden: exceeded quota: q, requested: count/configmaps=1, \
         used: count/configmaps=1, limited: count/configmaps=1"
    );
    let unknown = quota(&json!({"configmaps": "1"}), &json!({}));
    assert!(charged(&unknown, config_maps, &map, None).unwrap_err().contains("status unknown for quota: q"));
}

#[test]
fn pods_say_what_they_take() {
    let pod = |resources: Value| {
        object(
            json!({"metadata": {"name": "p"}, "spec": {"containers": [{"name": "c", "resources": resources}]}}),
        )
    };
    let bound =
        quota(&json!({"requests.cpu": "1", "pods": "5"}), &json!({"requests.cpu": "500m", "pods": "1"}));
    let fits = pod(json!({"requests": {"cpu": "500m"}}));
    assert_eq!(charged(&bound, usage::PODS, &fits, None).unwrap(), "pods=2,requests.cpu=1");
    let large = pod(json!({"requests": {"cpu": "600m"}}));
    assert!(
        charged(&bound, usage::PODS, &large, None)
            .unwrap_err()
            .ends_with("requested: requests.cpu=600m, used: requests.cpu=500m, limited: requests.cpu=1")
    );
    let silent = charged(&bound, usage::PODS, &pod(json!({})), None).unwrap_err();
    assert!(silent.ends_with("failed quota: q: must specify requests.cpu for: c"), "{silent}");
}

#[test]
fn claims_take_whole_bytes() {
    let hard = json!({"requests.storage": "1Ti"});
    let bound = quota(&hard, &json!({"requests.storage": "0"}));
    for (requested, allocated, taken) in [
        ("1500m", json!({}), "2"),
        ("1500m", json!({"storage": "2"}), "2"),
        ("1500m", json!({"storage": "2500m"}), "3"),
        ("1500m", json!({"cpu": "9"}), "2"),
        ("1Gi", json!({"storage": "1500m"}), "1Gi"),
    ] {
        let claim = object(json!({
            "metadata": {"name": "c"},
            "spec": {"resources": {"requests": {"storage": requested}}},
            "status": {"allocatedResources": allocated},
        }));
        let expected = format!("requests.storage={taken}");
        assert_eq!(charged(&bound, usage::CLAIMS, &claim, None).unwrap(), expected, "{requested}");
    }
}

#[test]
fn a_change_takes_only_the_difference() {
    let services = GroupResource { group: "", resource: "services" };
    let service = |kind: &str| {
        object(json!({"metadata": {"name": "s"}, "spec": {"type": kind, "ports": [{"port": 1}]}}))
    };
    let bound = quota(
        &json!({"services": "1", "services.nodeports": "0"}),
        &json!({"services": "1", "services.nodeports": "0"}),
    );
    let plain = service("ClusterIP");
    assert!(charged(&bound, services, &plain, Some(&plain)).is_ok());
    let refused = charged(&bound, services, &service("NodePort"), Some(&plain)).unwrap_err();
    assert!(refused.contains("requested: services.nodeports=1,"), "{refused}");
}

#[test]
fn a_quota_is_about_its_scopes() {
    let scoped = |scope: &str| scope::scopes(&object(json!({"spec": {"scopes": [scope]}})));
    let plain = object(json!({"spec": {"containers": [{"name": "c"}]}}));
    for (scope, expected) in
        [("BestEffort", true), ("NotBestEffort", false), ("Terminating", false), ("NotTerminating", true)]
    {
        assert_eq!(scope::matches(&scoped(scope), usage::PODS, &plain), expected, "{scope}");
    }
    let services = GroupResource { group: "", resource: "services" };
    assert!(!scope::matches(&scoped("BestEffort"), services, &plain));
}

/// Checks a new config map against the quotas of `default`.
async fn create_map(plugin: &ResourceQuota) -> Result<(), StatusError> {
    let map = object(json!({"metadata": {"name": "m"}}));
    let kind = ConfigMaps::TYPE.kind;
    let resource = GroupVersionResource { group: "", version: "v1", resource: "configmaps" };
    let attributes = Attributes::new(Operation::Create, resource, kind, "m");
    plugin.validate(&RequestContext::system("default"), ObjectWrite::new(&attributes, Some(&map), None)).await
}

struct Bound(&'static str);

#[async_trait]
impl UpdatedObject for Bound {
    async fn updated_object(
        &mut self,
        _: &RequestContext,
        current: Option<&Object>,
    ) -> Result<Object, StatusError> {
        let mut quota = current.unwrap().clone();
        quota.set(&["status", "hard", "count/configmaps"], self.0.into());
        if quota.get(&USED).is_none() {
            quota.set(&["status", "used", "count/configmaps"], "0".into());
        }
        Ok(quota)
    }
}

#[tokio::test(flavor = "multi_thread")]
async fn writers_at_the_same_time_never_take_more_than_there_is_nor_go_by_an_old_quota() {
    let installed = crate::testing::installed(&["resourcequotas", "configmaps"]);
    let plugin = ResourceQuota::new(&installed, Vec::new()).unwrap();
    assert!(create_map(&plugin).await.is_ok(), "nothing is bounded");
    crate::testing::create::<ResourceQuotas>(
        &installed,
        json!({"metadata": {"name": "q"}, "spec": {"hard": {"count/configmaps": "3"}}}),
    )
    .await;
    let status = SubresourceStore::status(installed.store(ResourceQuotas::TYPE).unwrap());
    let context = RequestContext::system("default");
    let bound = async |most| {
        let options = UpdateOptions::default();
        status.update(&context, "q", &mut Bound(most), &AdmitAll, &options).await.unwrap();
    };
    let admitted = async |writers| {
        let all = futures::future::join_all((0..writers).map(|_| create_map(&plugin))).await;
        all.into_iter().flatten().count()
    };
    bound("3").await;
    assert_eq!(admitted(8).await, 3);
    bound("4").await;
    assert_eq!(admitted(2).await, 1, "more was given, and one takes it");
    bound("2").await;
    assert_eq!(admitted(1).await, 0);
    installed
        .store(ResourceQuotas::TYPE)
        .unwrap()
        .delete(&context, "q", &AdmitAll, &DeleteOptions::default())
        .await
        .unwrap();
    assert_eq!(admitted(2).await, 2, "nothing is bounded any more");
}

#[test]
fn a_pod_that_comes_to_have_a_deadline_is_charged_to_the_quota_of_such_pods() {
    let pod = |spec: Value| object(json!({"metadata": {"name": "p"}, "spec": spec}));
    let plain = pod(json!({}));
    let ending = pod(json!({"activeDeadlineSeconds": 60}));
    assert!(usage::changes(usage::PODS, "", &ending, Some(&plain)));
    assert!(!usage::changes(usage::PODS, "", &ending, Some(&ending)));
    assert!(usage::changes(usage::PODS, usage::RESIZE, &plain, Some(&plain)));
    let scoped = |scope: &str| {
        object(json!({
            "metadata": {"name": "q"}, "spec": {"scopes": [scope]},
            "status": {"hard": {"pods": "1"}, "used": {"pods": "0"}},
        }))
    };
    assert_eq!(charged(&scoped("Terminating"), usage::PODS, &ending, Some(&plain)).unwrap(), "pods=1");
    // The quota controller returns usage that the quota no longer counts.
    assert_eq!(charged(&scoped("NotTerminating"), usage::PODS, &ending, Some(&plain)).unwrap(), "");
    assert_eq!(charged(&scoped("Terminating"), usage::PODS, &ending, Some(&ending)).unwrap(), "");
}

#[test]
fn usage_that_an_update_gives_back_is_not_charged() {
    let claim = |storage: &str| {
        object(json!({
            "metadata": {"name": "c", "annotations": {"volume.beta.kubernetes.io/storage-class": "fast"}},
            "spec": {"resources": {"requests": {"storage": storage}}},
        }))
    };
    let name = "fast.storageclass.storage.k8s.io/requests.storage";
    let bound = quota(&json!({name: "3Gi"}), &json!({name: "2Gi"}));
    assert_eq!(charged(&bound, usage::CLAIMS, &claim("1Gi"), Some(&claim("2Gi"))).unwrap(), "");
    assert_eq!(
        charged(&bound, usage::CLAIMS, &claim("3Gi"), Some(&claim("2Gi"))).unwrap(),
        format!("{name}=3Gi")
    );
    assert!(charged(&bound, usage::CLAIMS, &claim("4Gi"), Some(&claim("2Gi"))).is_err());
}

#[test]
fn claims_are_counted_by_their_attributes_class() {
    let selecting = object(json!({
        "metadata": {"name": "q"},
        "spec": {"scopeSelector": {"matchExpressions": [
            {"scopeName": "VolumeAttributesClass", "operator": "In", "values": ["gold"]},
        ]}},
        "status": {"hard": {"persistentvolumeclaims": "1"}, "used": {"persistentvolumeclaims": "1"}},
    }));
    let claim = |class: &str| {
        object(json!({"metadata": {"name": "c"}, "spec": {"volumeAttributesClassName": class}}))
    };
    assert!(charged(&selecting, usage::CLAIMS, &claim("gold"), None).is_err());
    assert_eq!(charged(&selecting, usage::CLAIMS, &claim("silver"), None).unwrap(), "");
    let changed = charged(&selecting, usage::CLAIMS, &claim("gold"), Some(&claim("silver")));
    assert!(changed.unwrap_err().contains("exceeded quota"), "a claim cannot get into a class later either");
}

#[test]
fn extended_resources_and_custom_resources_are_counted() {
    let pod = object(json!({"metadata": {"name": "p"}, "spec": {"containers": [
        {"name": "c", "resources": {"requests": {"example.com/gpu": "2"}, "limits": {"example.com/gpu": "2"}}},
    ]}}));
    let gpus = quota(&json!({"requests.example.com/gpu": "3"}), &json!({"requests.example.com/gpu": "2"}));
    let refused = charged(&gpus, usage::PODS, &pod, None).unwrap_err();
    assert!(
        refused.contains("requested: requests.example.com/gpu=2, used: requests.example.com/gpu=2"),
        "{refused}"
    );
    let widgets = GroupResource { group: "example.com", resource: "widgets" };
    let widget = object(json!({"metadata": {"generateName": "w-"}}));
    let full = quota(&json!({"count/widgets.example.com": "1"}), &json!({"count/widgets.example.com": "1"}));
    let refused = charged(&full, widgets, &widget, None).unwrap_err();
    assert!(refused.starts_with("widgets.example.com \"w-\" is forbidden: exceeded quota"), "{refused}");
    assert_eq!(charged(&gpus, widgets, &widget, None).unwrap(), "");
}

#[test]
fn resources_limited_by_default_need_a_quota() {
    let limited = settings::read(json!({
        "apiVersion": "apiserver.config.k8s.io/v1", "kind": "ResourceQuotaConfiguration",
        "limitedResources": [
            {"resource": "pods", "matchScopes": [
                {"scopeName": "PriorityClass", "operator": "In", "values": ["high", "higher"]},
            ]},
            {"resource": "persistentvolumeclaims", "matchContains": [".storageclass.storage.k8s.io/requests.storage"]},
        ],
    }))
    .unwrap();
    let pod = object(json!({"metadata": {"name": "p"}, "spec": {"priorityClassName": "high"}}));
    assert_eq!(
        check(&[], &limited, usage::PODS, &pod, None).unwrap_err(),
        "insufficient quota to match these scopes: [{PriorityClass In [high higher]}]"
    );
    let covering = object(json!({
        "metadata": {"name": "q"},
        "spec": {"scopeSelector": {"matchExpressions": [{"scopeName": "PriorityClass", "operator": "Exists"}]}},
        "status": {"hard": {"pods": "2"}, "used": {"pods": "0"}},
    }));
    assert_eq!(check(&[&covering], &limited, usage::PODS, &pod, None).unwrap(), ["pods=1"]);
    let claim = object(json!({
        "metadata": {"name": "c"},
        "spec": {"storageClassName": "fast", "resources": {"requests": {"storage": "1Gi"}}},
    }));
    let refused = check(&[], &limited, usage::CLAIMS, &claim, None).unwrap_err();
    assert!(
        refused.ends_with("insufficient quota to consume: fast.storageclass.storage.k8s.io/requests.storage"),
        "{refused}"
    );
    let nameless = json!({"apiVersion": "a", "kind": "b", "limitedResources": [{}]});
    assert_eq!(
        settings::read(nameless).unwrap_err().to_string(),
        "limitedResources[0].resource: Required value"
    );
}

#[tokio::test(flavor = "multi_thread")]
async fn a_quota_of_ten_admits_ten_of_a_hundred_concurrent_writers() {
    let installed = crate::testing::installed(&["resourcequotas", "configmaps"]);
    let plugin = ResourceQuota::new(&installed, Vec::new()).unwrap();
    crate::testing::create::<ResourceQuotas>(
        &installed,
        json!({"metadata": {"name": "q"}, "spec": {"hard": {"count/configmaps": "10"}}}),
    )
    .await;
    let store = installed.store(ResourceQuotas::TYPE).unwrap();
    let status = SubresourceStore::status(store.clone());
    let context = RequestContext::system("default");
    status.update(&context, "q", &mut Bound("10"), &AdmitAll, &UpdateOptions::default()).await.unwrap();
    let all = futures::future::join_all((0..100).map(|_| create_map(&plugin))).await;
    assert_eq!(all.iter().filter(|outcome| outcome.is_ok()).count(), 10);
    let refused = all.into_iter().filter_map(Result::err);
    assert!(refused.map(|why| why.message).all(|why| why.contains("exceeded quota: q")));
    let quota = crate::support::lookup::read_newest(&store, &context, "q").await.unwrap();
    assert_eq!(quota.get_str(&["status", "used", "count/configmaps"]), Some("10"));
}
