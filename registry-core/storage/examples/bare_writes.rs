//! What a store gives a program that does nothing else: durable creations per second, by many writers at once. The
//! measure for what a server makes of the same store (`cargo xtask bench --suite`).
//!
//! ```text
//! bare_writes embedded DIRECTORY CLIENTS SECONDS
//! bare_writes etcd URL CLIENTS SECONDS
//! ```
//!
//! Both do what creating an object does: write a value of 1.4 KB under a key that must not be there. Prints one number.

use std::error::Error;
use std::sync::Arc;
use std::sync::atomic::{AtomicU64, Ordering};
use std::time::{Duration, Instant};

use bytes::Bytes;
use etcd_client::{Client, Compare, CompareOp, Txn, TxnOp};
use registry_storage::embedded::{Embedded, EmbeddedOptions};
use registry_storage::mvcc::{Committed, Mvcc as _};

/// What an object has as JSON.
const VALUE_BYTES: usize = 1_400;

/// How many connections to etcd the writers share: as many as make it fastest.
const CONNECTIONS: usize = 4;

type Outcome<T> = Result<T, Box<dyn Error + Send + Sync>>;

/// A store to write to.
#[derive(Clone)]
enum Store {
    Embedded(Arc<Embedded>),
    Etcd(Vec<Client>),
}

#[tokio::main]
async fn main() -> Outcome<()> {
    let arguments: Vec<String> = std::env::args().skip(1).collect();
    let [engine, place, clients, seconds] = &arguments[..] else {
        return Err("usage: bare_writes embedded|etcd DIRECTORY|URL CLIENTS SECONDS".into());
    };
    let store = Store::open(engine, place).await?;
    let clients = clients.parse()?;
    let seconds = Duration::from_secs(seconds.parse()?);
    println!("{:.0}", writes_per_second(&store, clients, seconds).await?);
    if let Store::Embedded(store) = store {
        store.close().await;
    }
    Ok(())
}

async fn writes_per_second(store: &Store, clients: u64, duration: Duration) -> Outcome<f64> {
    let started = Instant::now();
    let written = Arc::new(AtomicU64::new(0));
    let mut writers = Vec::new();
    for _ in 0..clients {
        let store = store.clone();
        let written = written.clone();
        writers.push(tokio::spawn(async move {
            let value = Bytes::from(vec![b'x'; VALUE_BYTES]);
            while started.elapsed() < duration {
                let number = written.fetch_add(1, Ordering::Relaxed);
                store.create(number, value.clone()).await?;
            }
            Outcome::Ok(())
        }));
    }
    for writer in writers {
        writer.await??;
    }
    let written = u32::try_from(written.load(Ordering::Relaxed))?;
    Ok(f64::from(written) / started.elapsed().as_secs_f64())
}

// === impl Store ===

impl Store {
    async fn open(engine: &str, place: &str) -> Outcome<Self> {
        match engine {
            "embedded" => Ok(Self::Embedded(Embedded::open(EmbeddedOptions::new(place))?)),
            "etcd" => {
                let mut clients = Vec::new();
                for _ in 0..CONNECTIONS {
                    clients.push(Client::connect([place], None).await?);
                }
                Ok(Self::Etcd(clients))
            }
            other => Err(format!("no engine `{other}`").into()),
        }
    }

    async fn create(&self, number: u64, value: Bytes) -> Outcome<()> {
        let key = format!("/bare/configmaps/default/item-{}-{number}", std::process::id());
        let is_new = match self {
            Self::Embedded(store) => {
                matches!(store.put_if(&key, 0, value, None).await?, Committed::At(_))
            }
            Self::Etcd(clients) => {
                let turn = usize::try_from(number)? % clients.len();
                let Some(client) = clients.get(turn) else { return Err("no connection".into()) };
                let transaction = Txn::new()
                    .when([Compare::mod_revision(&*key, CompareOp::Equal, 0)])
                    .and_then([TxnOp::put(&*key, value.to_vec(), None)])
                    .or_else([TxnOp::get(&*key, None)]);
                client.kv_client().txn(transaction).await?.succeeded()
            }
        };
        if is_new { Ok(()) } else { Err(format!("{key} was there already").into()) }
    }
}
