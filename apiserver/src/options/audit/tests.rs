use std::time::Duration;

use super::*;
use crate::options::Options;

fn parse(flags: &[&str]) -> AuditOptions {
    Options::from_arguments([&["apiserver"], flags].concat()).unwrap().audit
}

#[test]
fn backends_are_configured_by_their_flags() {
    let log = parse(&[
        "--audit-log-batch-buffer-size=11",
        "--audit-log-batch-max-size=12",
        "--audit-log-batch-max-wait=13s",
        "--audit-log-batch-throttle-enable=true",
        "--audit-log-batch-throttle-qps=1.5",
        "--audit-log-batch-throttle-burst=14",
        "--audit-log-compress=true",
        "--audit-log-maxage=2",
        "--audit-log-maxbackup=3",
        "--audit-log-maxsize=4",
        "--audit-log-format=legacy",
        "--audit-log-truncate-enabled",
        "--audit-log-truncate-max-event-size=500",
        "--audit-log-truncate-max-batch-size=600",
    ])
    .log;
    let batch = log.batch();
    assert_eq!((batch.buffer_size, batch.max_size, batch.max_wait), (11, 12, Duration::from_secs(13)));
    let throttle = batch.throttle.unwrap();
    assert_eq!((throttle.per_second.to_string().as_str(), throttle.burst), ("1.5", 14));
    let kept = log.retention();
    assert_eq!((kept.max_bytes, kept.max_backups, kept.compresses), (Some(4 << 20), Some(3), true));
    assert_eq!(kept.max_age, Some(Duration::from_hours(48)));
    assert!(matches!(log.format(), LogFormat::Legacy));
    let limits = log.truncate().unwrap();
    assert_eq!((limits.max_event_bytes, limits.max_batch_bytes), (500, 600));

    let webhook = parse(&[
        "--audit-webhook-batch-max-wait=1s",
        "--audit-webhook-batch-throttle-enable=true",
        "--audit-webhook-batch-throttle-qps=2.5",
        "--audit-webhook-batch-throttle-burst=24",
        "--audit-webhook-initial-backoff=3s",
        "--audit-webhook-mode=blocking-strict",
        "--audit-webhook-truncate-enabled=true",
        "--audit-webhook-truncate-max-event-size=700",
        "--audit-webhook-truncate-max-batch-size=800",
        "--audit-webhook-version=audit.k8s.io/v1",
    ])
    .webhook;
    assert_eq!(webhook.batch().max_wait, Duration::from_secs(1));
    let throttle = webhook.batch().throttle.unwrap();
    assert_eq!((throttle.per_second.to_string().as_str(), throttle.burst), ("2.5", 24));
    assert_eq!(webhook.initial_backoff(), Duration::from_secs(3));
    assert!(matches!(webhook.mode(), Mode::BlockingStrict));
    let limits = webhook.truncate().unwrap();
    assert_eq!((limits.max_event_bytes, limits.max_batch_bytes), (700, 800));

    let usual = parse(&["--audit-webhook-batch-throttle-enable=false"]);
    assert!(usual.log.batch().throttle.is_none() && usual.webhook.batch().throttle.is_none());
    assert!(usual.log.truncate().is_none() && usual.webhook.truncate().is_none());
    assert!(!usual.log.retention().compresses);
}
