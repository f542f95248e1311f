use crate::api::{ListOptions, Preconditions, PropagationPolicy, time};
use crate::rest::{CollectionDeleter, SuccessDetails};
use crate::schema::canonical_time;

use super::*;

fn finalizers(object: &Object) -> Vec<&str> {
    object.finalizers().collect()
}

#[tokio::test]
async fn a_finished_deletion_is_answered_as_the_kind_says() {
    let fixture = Fixture::new(&PLAIN);
    let made = fixture.create(widget("lion", &json!({}))).await.unwrap();
    let Answer::Success(status) = fixture.delete("lion", &DeleteOptions::default()).await.unwrap() else {
        panic!("a Status names what is gone");
    };
    let details = SuccessDetails {
        name: "lion".to_owned(),
        resource: PLAIN.group_resource(),
        uid: made.uid().to_owned(),
    };
    assert_eq!(status.details, Some(details));
    assert_eq!(fixture.delete("lion", &DeleteOptions::default()).await.unwrap_err().code, 404);

    let fixture = Fixture::new(&PICKY);
    fixture.create(widget("lion", &json!({}))).await.unwrap();
    let last = object_of(&fixture.delete("lion", &DeleteOptions::default()).await.unwrap());
    assert_eq!((last.name(), last.resource_version()), ("lion", "2"));
}

#[tokio::test]
async fn finalizers_keep_an_object_until_the_last_is_gone() {
    let fixture = Fixture::new(&PLAIN);
    fixture.create(widget("lion", &json!({"metadata": {"finalizers": ["x.y/a", "x.y/b"]}}))).await.unwrap();
    let marked = object_of(&fixture.delete("lion", &DeleteOptions::default()).await.unwrap());
    assert!(marked.deletion_timestamp().is_some());
    assert_eq!(marked.deletion_grace_period_seconds(), Some(0));
    assert_eq!(marked.generation(), 2, "the beginning of a deletion counts as a change");

    let again = object_of(&fixture.delete("lion", &DeleteOptions::default()).await.unwrap());
    assert_eq!(again, marked, "deleting again changes nothing");

    let kept = fixture.edit("lion", |object| object.set_finalizers(vec!["x.y/b".to_owned()])).await.unwrap();
    assert_eq!(finalizers(&kept), ["x.y/b"]);
    assert_eq!(kept.deletion_timestamp(), marked.deletion_timestamp(), "no update takes a deletion back");

    let gone = fixture.edit("lion", |object| object.set_finalizers(Vec::new())).await.unwrap();
    assert_eq!(gone.resource_version(), kept.resource_version());
    assert_eq!(fixture.get("lion").await.unwrap_err().code, 404);
}

#[tokio::test]
async fn grace_periods_begin_shorten_and_end() {
    let fixture = Fixture::new(&GRACEFUL);
    fixture.create(widget("lion", &json!({}))).await.unwrap();
    let ends = |object: &Object| time::parse(object.deletion_timestamp().unwrap()).unwrap().as_second();
    let table = [
        (Some(20), 20, 2, "the first deletion sets the time asked for"),
        (None, 20, 2, "a deletion that does not say leaves it"),
        (Some(40), 20, 2, "it is never lengthened"),
        (Some(5), 5, 3, "it is shortened"),
        (Some(-3), 1, 4, "less than nothing is a second"),
    ];
    let mut begun = None;
    for (asked, grace, revision, why) in table {
        let options = DeleteOptions { grace_period_seconds: asked, ..DeleteOptions::default() };
        let object = object_of(&fixture.delete("lion", &options).await.unwrap());
        assert_eq!(object.deletion_grace_period_seconds(), Some(grace), "{why}");
        assert_eq!(object.resource_version(), revision.to_string(), "{why}");
        assert_eq!(object.generation(), 2);
        assert_eq!(ends(&object) - grace, *begun.get_or_insert(ends(&object) - grace), "{why}");
    }
    let now = DeleteOptions { grace_period_seconds: Some(0), ..DeleteOptions::default() };
    let last = object_of(&fixture.delete("lion", &now).await.unwrap());
    assert_eq!(last.deletion_grace_period_seconds(), Some(0));
    assert_eq!(fixture.get("lion").await.unwrap_err().code, 404);
}

#[tokio::test]
async fn extreme_grace_periods_leave_an_object_that_can_be_read_and_deleted() {
    let times = [i64::MIN, i64::MAX, 250_000_000_000, 9_223_372_037, 5, 1, 0];
    for (first, second) in times.into_iter().flat_map(|first| times.map(|second| (first, second))) {
        let fixture = Fixture::new(&GRACEFUL);
        let began = time::now();
        fixture.create(widget("lion", &json!({}))).await.unwrap();
        let mut marked = Vec::new();
        for asked in [first, second] {
            let options = DeleteOptions { grace_period_seconds: Some(asked), ..DeleteOptions::default() };
            let Ok(answer) = fixture.delete("lion", &options).await else { continue };
            let object = object_of(&answer);
            let ends = object.deletion_timestamp().unwrap().to_owned();
            assert!(time::parse(&ends).is_some(), "{first}, {second}: {ends}");
            assert_eq!(canonical_time(&ends).unwrap(), None, "{first}, {second}: {ends}");
            marked.push((ends, object.deletion_grace_period_seconds().unwrap()));
        }
        let asked = |seconds: i64| if seconds < 0 { 1 } else { seconds };
        if let [(before, _), (ends, seconds)] = marked.as_slice()
            && asked(second) < asked(first)
        {
            assert!(*ends >= began, "{first}, {second}: from {before} to {ends}");
            assert!(*seconds == asked(second) || *seconds == 1, "{first}, {second}: {seconds}");
        }
        let now = DeleteOptions { grace_period_seconds: Some(0), ..DeleteOptions::default() };
        let _ = fixture.delete("lion", &now).await;
        assert_eq!(fixture.get("lion").await.unwrap_err().code, 404, "{first}, {second}");
    }
}

#[tokio::test]
async fn a_default_grace_period_is_the_strategys() {
    let fixture = Fixture::new(&GRACEFUL);
    fixture.create(widget("lion", &json!({}))).await.unwrap();
    let marked = object_of(&fixture.delete("lion", &DeleteOptions::default()).await.unwrap());
    assert_eq!(marked.deletion_grace_period_seconds(), Some(30));
}

#[tokio::test]
async fn propagation_becomes_finalizers() {
    use PropagationPolicy::{Background, Foreground, Orphan};
    type Row = (Option<PropagationPolicy>, &'static [&'static str], Option<&'static [&'static str]>);
    let table: &[Row] = &[
        (None, &[], None),
        (Some(Background), &[], None),
        (Some(Orphan), &[], Some(&["orphan"])),
        (Some(Foreground), &[], Some(&["foregroundDeletion"])),
        (None, &["orphan"], Some(&["orphan"])),
        (None, &["foregroundDeletion"], Some(&["foregroundDeletion"])),
        (Some(Background), &["orphan"], None),
        (Some(Background), &["orphan", "x.y/a"], Some(&["x.y/a"])),
        (Some(Orphan), &["foregroundDeletion", "x.y/a"], Some(&["x.y/a", "orphan"])),
    ];
    for (policy, present, left) in table {
        let fixture = Fixture::new(&PLAIN);
        fixture.create(widget("lion", &json!({"metadata": {"finalizers": present}}))).await.unwrap();
        let options = DeleteOptions { propagation_policy: *policy, ..DeleteOptions::default() };
        fixture.delete("lion", &options).await.unwrap();
        let found = fixture.get("lion").await.ok();
        assert_eq!(found.as_ref().map(finalizers).as_deref(), *left, "{policy:?} of {present:?}");
    }
}

#[tokio::test]
async fn without_a_collector_nothing_waits_for_it() {
    let options = StoreOptions { garbage_collection: false, ..StoreOptions::default() };
    let fixture = Fixture::with_options(&PLAIN, options);
    fixture.create(widget("lion", &json!({}))).await.unwrap();
    let orphan =
        DeleteOptions { propagation_policy: Some(PropagationPolicy::Orphan), ..DeleteOptions::default() };
    fixture.delete("lion", &orphan).await.unwrap();
    assert_eq!(fixture.storage.names(), [""; 0]);
}

#[tokio::test]
async fn preconditions_hold_or_nothing_is_deleted() {
    let fixture = Fixture::new(&PLAIN);
    let made = fixture.create(widget("lion", &json!({}))).await.unwrap();
    let asking = |uid: Option<&str>, revision: Option<&str>| DeleteOptions {
        preconditions: Preconditions {
            uid: uid.map(str::to_owned),
            resource_version: revision.map(str::to_owned),
        },
        ..DeleteOptions::default()
    };
    let refused = fixture.delete("lion", &asking(Some("a"), None)).await.unwrap_err();
    assert_eq!(
        refused.message,
        format!(
            "Operation cannot be fulfilled on Widget.example.com \"lion\": the UID in the precondition (a) does \
             not match the UID in record ({}). The object might have been deleted and then recreated",
            made.uid()
        )
    );
    let refused = fixture.delete("lion", &asking(None, Some("7"))).await.unwrap_err();
    assert_eq!(
        refused.message,
        "Operation cannot be fulfilled on Widget.example.com \"lion\": the ResourceVersion in the precondition \
         (7) does not match the ResourceVersion in record (1). The object might have been modified"
    );
    fixture.delete("lion", &asking(Some(made.uid()), Some("1"))).await.unwrap();
}

#[tokio::test]
async fn a_dry_run_deletes_nothing() {
    for (resource, present) in [(&PLAIN, json!([])), (&PLAIN, json!(["x.y/a"])), (&GRACEFUL, json!([]))] {
        let fixture = Fixture::new(resource);
        let made = widget("lion", &json!({"metadata": {"finalizers": present}}));
        let made = fixture.create(made).await.unwrap();
        let options = DeleteOptions { dry_run: DryRun::All, ..DeleteOptions::default() };
        fixture.delete("lion", &options).await.unwrap();
        assert_eq!(fixture.get("lion").await.unwrap(), made);
    }
}

#[tokio::test]
async fn collections_are_deleted_as_they_are_selected() {
    let fixture = Fixture::new(&PLAIN);
    for at in 0..20 {
        fixture.create(widget(&format!("w{at:02}"), &json!({}))).await.unwrap();
    }
    let delete = |options: DeleteOptions, selection: ListOptions| {
        let store = fixture.store.clone();
        let context = &fixture.context;
        async move { store.delete_collection(context, &AdmitAll, &options, &selection).await }
    };
    let wrong = Preconditions { uid: Some("a".to_owned()), resource_version: None };
    let options = DeleteOptions { preconditions: wrong, ..DeleteOptions::default() };
    assert_eq!(delete(options, ListOptions::default()).await.unwrap_err().code, 409);
    assert_eq!(fixture.storage.names().len(), 20);

    let page = delete(DeleteOptions::default(), ListOptions { limit: 3, ..ListOptions::default() }).await;
    let page = page.unwrap();
    assert_eq!(page.items.len(), 3);
    assert!(page.continue_token.is_some());
    assert_eq!(fixture.storage.names().len(), 17);

    let all = delete(DeleteOptions::default(), ListOptions::default()).await.unwrap();
    assert_eq!(all.items.len(), 17);
    assert_eq!(fixture.storage.names().len(), 0);
}
