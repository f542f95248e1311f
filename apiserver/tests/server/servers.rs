//! Servers with flags, and questions that are repeated until the answer is as wanted.

use std::time::{Duration, Instant};

use apiserver::testing::{TestServer, TestServerBuilder};
use registry_core::storage::testing::etcd::Etcd;
use serde_json::Value;

const TIMEOUT: Duration = Duration::from_secs(30);
const PAUSE: Duration = Duration::from_millis(20);

/// Starts a server without controllers that keeps its objects in memory.
pub async fn start(flags: &[&str]) -> TestServer {
    with_flags(TestServer::builder().memory(), flags).start().await.unwrap()
}

/// Starts a server without controllers over an etcd.
pub async fn start_over(etcd: &Etcd, flags: &[&str]) -> TestServer {
    let builder = TestServer::builder().etcd(&etcd.options().endpoints[0], "/registry");
    with_flags(builder, flags).start().await.unwrap()
}

/// Returns the reason why a server with these flags does not start.
pub async fn refusal(flags: &[&str]) -> String {
    let started = with_flags(TestServer::builder().memory(), flags).start().await;
    started.map(drop).expect_err("flags that contradict each other").to_string()
}

/// Returns an object; `None` if it cannot be read.
pub async fn get(server: &TestServer, path: &str) -> Option<Value> {
    server.call("GET", path, &Value::Null).await.ok()
}

/// Repeats a question until its answer is as wanted. Fails with `complaint` after 30 seconds.
pub async fn until<T>(complaint: &str, mut ask: impl AsyncFnMut() -> Option<T>) -> T {
    let started = Instant::now();
    loop {
        if let Some(answer) = ask().await {
            return answer;
        }
        assert!(started.elapsed() < TIMEOUT, "{complaint}");
        tokio::time::sleep(PAUSE).await;
    }
}

fn with_flags(builder: TestServerBuilder, flags: &[&str]) -> TestServerBuilder {
    flags.iter().fold(builder.without_controllers(), |builder, flag| builder.flag(*flag))
}
