use super::*;
use crate::options::Options;
use clap::Parser as _;

fn storage_options(flags: &[&str]) -> StorageOptions {
    Options::parse_from([&["apiserver"], flags].concat()).storage
}

async fn open(choice: StorageChoice, options: &StorageOptions) -> Result<Engine, EngineError> {
    let (commits, clock) = (CommitMetrics::default(), Clock::default());
    EngineOpening { options, commits, clock, route: Route::Direct }.open(choice).await
}

#[tokio::test]
async fn engines_open_where_the_flags_say_and_give_their_directory_up() {
    let directory = tempfile::tempdir().unwrap();
    let choice = StorageChoice::Embedded { directory: directory.path().join("storage") };
    let options = storage_options(&[]);
    let engine = open(choice.clone(), &options).await.unwrap();
    engine.mvcc().put_if("/registry/x", 0, "{}".into(), None).await.unwrap();
    assert!(open(choice.clone(), &options).await.is_err(), "one process at a time");
    engine.close().await;

    let again = open(choice, &options).await.unwrap();
    let got = again.mvcc().get("/registry/x").await.unwrap();
    assert_eq!(got.key_value.unwrap().value, "{}");
    again.close().await;
    assert!(again.mvcc().health().await.is_err());
}

#[tokio::test]
async fn etcd_that_does_not_answer_is_told() {
    let connection = EtcdConnection { servers: vec![], ..EtcdConnection::default() };
    let refused = open(StorageChoice::Etcd3(connection), &storage_options(&[])).await;
    assert!(refused.map(|_| ()).unwrap_err().to_string().contains("--etcd-servers"));
}

#[test]
fn compaction_keeps_history_for_one_interval() {
    assert!(compaction(Duration::ZERO).is_none());
    let five = compaction(Duration::from_mins(5)).unwrap();
    assert_eq!((five.interval, five.retain), (Duration::from_mins(1), Duration::from_mins(5)));
    assert_eq!(compaction(Duration::from_secs(2)).unwrap().interval, Duration::from_secs(2));
}
