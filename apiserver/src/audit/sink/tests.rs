use std::sync::atomic::AtomicBool;

use registry_core::context::AuditLevel;
use tokio::sync::Notify;

use super::super::event::tests::event;
use super::*;
use crate::metrics::ServerMetrics;

/// Remembers the sizes of batches, and delivers when it is notified.
#[derive(Default)]
struct Scripted {
    batches: Mutex<Vec<usize>>,
    is_slow: AtomicBool,
    fails: AtomicBool,
    go: Notify,
}

#[async_trait]
impl Backend for Scripted {
    async fn deliver(&self, events: &[Arc<Event>]) -> bool {
        if self.is_slow.load(Ordering::Relaxed) {
            self.go.notified().await;
        }
        self.batches.lock().push(events.len());
        !self.fails.load(Ordering::Relaxed)
    }
}

impl Scripted {
    fn batches(&self) -> Vec<usize> {
        self.batches.lock().clone()
    }
}

fn batch(max_size: usize) -> BatchConfig {
    let max_wait = Duration::from_secs(30);
    BatchConfig { buffer_size: 0, max_size, max_wait, throttle: None }
}

impl Sink {
    async fn process(&self, event: &Arc<Event>) -> bool {
        match self.submit(event, true) {
            Some(ticket) => ticket.delivered().await || !self.is_strict(),
            None => true,
        }
    }
}

fn start(mode: Mode, buffer: usize, batch: Option<BatchConfig>) -> (Arc<Scripted>, Sink, Arc<ServerMetrics>) {
    let backend = Arc::new(Scripted::default());
    let metrics = ServerMetrics::new().unwrap();
    let faults = Faults::new(metrics.audit().clone());
    let settings = SinkSettings { mode, buffer_size: buffer, batch, concurrency: 1 };
    let sink = Sink::start(backend.clone(), settings, faults).unwrap();
    (backend, sink, metrics)
}

#[tokio::test(start_paused = true)]
async fn batches_are_delivered_when_they_are_full_or_old() {
    let (backend, sink, _) = start(Mode::Batch, 100, Some(batch(3)));
    let event = Arc::new(event(AuditLevel::Metadata));
    for _ in 0..4 {
        assert!(sink.process(&event).await);
    }
    tokio::time::sleep(Duration::from_secs(29)).await;
    assert_eq!(backend.batches(), [3]);
    tokio::time::sleep(Duration::from_secs(2)).await;
    assert_eq!(backend.batches(), [3, 1]);
    sink.process(&event).await;
    sink.stop().await;
    assert_eq!(backend.batches(), [3, 1, 1], "the end waits for no full batch");
    assert!(sink.process(&event).await, "later events are lost, not refused");
}

#[tokio::test(start_paused = true)]
async fn a_full_queue_loses_events_and_delays_nobody() {
    let (backend, sink, metrics) = start(Mode::Batch, 10, Some(batch(1)));
    backend.is_slow.store(true, Ordering::Relaxed);
    let event = Arc::new(event(AuditLevel::Metadata));
    let before = Instant::now();
    for _ in 0..1000 {
        assert!(sink.process(&event).await);
    }
    assert_eq!(before.elapsed(), Duration::ZERO);
    assert!(metrics.audit().errors("buffered") >= 980);
}

#[tokio::test(start_paused = true)]
async fn blocking_requests_wait_and_strict_ones_are_refused() {
    for (mode, goes_on) in [(Mode::Blocking, true), (Mode::BlockingStrict, false)] {
        let (backend, sink, _) = start(mode, 10, None);
        let event = Arc::new(event(AuditLevel::Metadata));
        assert!(sink.process(&event).await);
        backend.fails.store(true, Ordering::Relaxed);
        assert_eq!(sink.process(&event).await, goes_on);
        backend.is_slow.store(true, Ordering::Relaxed);
        let waiting = tokio::time::timeout(Duration::from_secs(5), sink.process(&event)).await;
        assert!(waiting.is_err(), "a slow backend delays the request");
    }
}

#[tokio::test(start_paused = true)]
async fn the_rate_of_batches_is_limited() {
    let throttle = Some(Throttle { per_second: 2.0, burst: 3 });
    let config = BatchConfig { throttle, ..batch(1) };
    let (backend, sink, _) = start(Mode::Batch, 100, Some(config));
    let event = Arc::new(event(AuditLevel::Metadata));
    for _ in 0..10 {
        sink.process(&event).await;
    }
    tokio::time::sleep(Duration::from_millis(10)).await;
    assert_eq!(backend.batches().len(), 3);
    tokio::time::sleep(Duration::from_secs(1)).await;
    assert_eq!(backend.batches().len(), 5);
}

#[tokio::test(start_paused = true)]
async fn the_memory_of_queued_events_is_bounded_and_given_back() {
    let (backend, sink, metrics) = start(Mode::Batch, 10_000, Some(batch(1)));
    backend.is_slow.store(true, Ordering::Relaxed);
    let mut large = event(AuditLevel::Request);
    large.recorded.request_object = Some(vec![b' '; MAX_QUEUED_BYTES / 4].into());
    let large = Arc::new(large);
    for _ in 0..10 {
        sink.process(&large).await;
    }
    assert_eq!(metrics.audit().errors("buffered"), 7);
    backend.is_slow.store(false, Ordering::Relaxed);
    backend.go.notify_waiters();
    sink.stop().await;
    assert_eq!(sink.queued_bytes.load(Ordering::Relaxed), 0);
}
