use std::collections::BTreeMap;
use std::num::NonZeroUsize;
use std::sync::Arc;
use std::sync::atomic::{AtomicUsize, Ordering};
use std::time::Duration;

use super::aes::{Cbc, Gcm};
use super::kms::{Kms, KmsCiphertext, KmsService, KmsStatus, ServiceError};
use super::kms_v1::{EnvelopeService, KmsV1};
use super::prefix::{PrefixTransformer, PrefixTransformers};
use super::secretbox::SecretBox;
use super::*;
use parking_lot::Mutex;

const CONTEXT: &str = "/registry/secrets/default/a";

fn all() -> Vec<(&'static str, Arc<dyn Transformer>)> {
    let key: Vec<u8> = (0..32).collect();
    let mut all: Vec<(&str, Arc<dyn Transformer>)> =
        vec![("secretbox", Arc::new(SecretBox::new(key.as_slice().try_into().unwrap())))];
    for length in [16, 24, 32] {
        all.push(("aesgcm", Arc::new(Gcm::new(&key[..length]).unwrap())));
        all.push(("aescbc", Arc::new(Cbc::new(&key[..length]).unwrap())));
    }
    all
}

#[tokio::test]
async fn values_are_decrypted_and_their_encryption_differs_each_time() {
    for (name, transformer) in all() {
        for length in [0, 1, 15, 16, 17, 100_000] {
            let plain = Bytes::from(vec![b'x'; length]);
            let stored = transformer.to_storage(plain.clone(), CONTEXT).await.unwrap();
            assert_ne!(stored, transformer.to_storage(plain.clone(), CONTEXT).await.unwrap());
            assert!(!stored.windows(4).any(|part| part == b"xxxx"), "{name}");
            let read = transformer.from_storage(stored, CONTEXT).await.unwrap();
            assert_eq!(read, Plain { value: plain, stale: false }, "{name}");
        }
    }
}

#[tokio::test]
async fn damage_is_an_error_and_never_a_panic() {
    for (name, transformer) in all() {
        let plain = Bytes::from_static(b"{\"kind\":\"Secret\"}");
        let stored = transformer.to_storage(plain.clone(), CONTEXT).await.unwrap();
        for length in 0..stored.len() {
            let read = transformer.from_storage(stored.slice(..length), CONTEXT).await;
            assert!(read.is_err() || name == "aescbc", "{name} {length}");
        }
        for changed in 0..stored.len() {
            let mut damaged = stored.to_vec();
            damaged[changed] ^= 1;
            let read = transformer.from_storage(damaged.into(), CONTEXT).await;
            assert!(read.is_err() || name == "aescbc", "{name} {changed}");
        }
        let moved = transformer.from_storage(stored, "/registry/secrets/default/b").await;
        assert_eq!(moved.is_err(), name == "aesgcm", "only AES-GCM authenticates the key");
    }
}

/// The example of NaCl's documentation.
#[tokio::test]
async fn secretbox_is_that_of_nacl() {
    let key = hex("1b27556473e985d462cd51197a9a46c76009549eac6474f206c4ee0844f68389");
    let stored = concat!(
        "69696ee955b62b73cd62bda875fc73d68219e0036b7a0b37",
        "f3ffc7703f9400e52a7dfb4b3d3305d98e993b9f48681273c29650ba32fc76ce48332ea7164d96a4476fb8c531a1186a",
        "c0dfc17c98dce87b4da7f011ec48c97271d2c20f9b928fe2270d6fb863d51738b48eeee314a7cc8ab932164548e526ae",
        "90224368517acfeabd6bb3732bc0e9da99832b61ca01b6de56244a9e88d5f9b37973f622a43d14a6599b1f654cb45a74",
        "e355a5",
    );
    let secretbox = SecretBox::new(key.as_slice().try_into().unwrap());
    let plain = secretbox.from_storage(hex(stored).into(), "").await.unwrap().value;
    assert!(plain.starts_with(&hex("be075fc53c81f2d5cf141316ebeb0c7b5228c52a4c62cbd44b66849b64244ffc")));
    assert_eq!(plain.len(), 131);
}

fn hex(text: &str) -> Vec<u8> {
    let digits: Vec<u8> =
        text.chars().map(|digit| u8::try_from(digit.to_digit(16).unwrap()).unwrap()).collect();
    digits.chunks(2).map(|pair| pair[0] << 4 | pair[1]).collect()
}

fn prefixed(names: &[&str]) -> PrefixTransformers {
    let transformers = names.iter().map(|name| match *name {
        "identity" => PrefixTransformer { prefix: String::new(), transformer: Arc::new(Identity) },
        name => {
            let key = [u8::try_from(name.len()).unwrap(); 32];
            let transformer = Arc::new(Gcm::new(&key).unwrap());
            PrefixTransformer { prefix: format!("k8s:enc:aesgcm:v1:{name}:"), transformer }
        }
    });
    PrefixTransformers::new(transformers.collect(), "no matching prefix found")
}

#[tokio::test]
async fn the_first_provider_writes_and_all_of_them_read() {
    let plain = Bytes::from_static(b"{}");
    let old = prefixed(&["a"]).to_storage(plain.clone(), CONTEXT).await.unwrap();
    assert!(old.starts_with(b"k8s:enc:aesgcm:v1:a:"));
    for (names, stale) in
        [(&["a"][..], false), (&["bb", "a"], true), (&["a", "bb"], false), (&["identity", "a"], true)]
    {
        let read = prefixed(names).from_storage(old.clone(), CONTEXT).await.unwrap();
        assert_eq!(read, Plain { value: plain.clone(), stale }, "{names:?}");
    }
    let in_plain = prefixed(&["a", "identity"]).from_storage(plain.clone(), CONTEXT).await.unwrap();
    assert!(in_plain.stale, "it is encrypted by its next write");
    for (names, message) in [
        (&["bb"][..], "no matching prefix found"),
        (&["identity"], "no matching prefix found"),
        (&["a"], "cipher: message authentication failed"),
    ] {
        let failure = prefixed(names).from_storage(old.clone(), "/moved").await.unwrap_err();
        assert_eq!(failure.to_string(), message, "{names:?}");
    }
}

/// A service that encrypts by turning the bits over.
#[derive(Default)]
struct Scripted {
    status: Mutex<KmsStatus>,
    calls: AtomicUsize,
    /// The fault of calls that decrypt.
    fault: Mutex<Option<Fault>>,
}

/// A fault of a service.
#[derive(Clone, Copy)]
enum Fault {
    /// The call fails after three seconds.
    Hangs,
    /// The seed is wrong.
    Lies,
}

#[async_trait]
impl KmsService for Scripted {
    async fn status(&self) -> Result<KmsStatus, ServiceError> {
        Ok(self.status.lock().clone())
    }

    async fn encrypt(&self, _: &str, plain: &[u8]) -> Result<KmsCiphertext, ServiceError> {
        let key_id = self.status.lock().key_id.clone();
        let annotations = BTreeMap::from([("a.example.com".to_owned(), b"1".to_vec())]);
        Ok(KmsCiphertext { ciphertext: plain.iter().map(|byte| !byte).collect(), key_id, annotations })
    }

    async fn decrypt(&self, _: &str, encrypted: &KmsCiphertext) -> Result<Vec<u8>, ServiceError> {
        self.calls.fetch_add(1, Ordering::Relaxed);
        let fault = *self.fault.lock();
        match fault {
            Some(Fault::Hangs) => {
                tokio::time::sleep(Duration::from_secs(3)).await;
                return Err("timed out".into());
            }
            Some(Fault::Lies) => return Ok(vec![0; 32]),
            None => {}
        }
        if encrypted.annotations.get("a.example.com").map(Vec::as_slice) != Some(b"1") {
            return Err("there is no annotation".into());
        }
        Ok(encrypted.ciphertext.iter().map(|byte| !byte).collect())
    }
}

impl Scripted {
    fn set(&self, version: &str, healthz: &str, key_id: &str) {
        let [version, healthz, key_id] = [version, healthz, key_id].map(str::to_owned);
        *self.status.lock() = KmsStatus { version, healthz, key_id };
    }
}

#[tokio::test(start_paused = true)]
async fn a_seed_is_used_until_the_services_key_changes() {
    let service = Arc::new(Scripted::default());
    let kms = Kms::new("k", service.clone());
    let plain = Bytes::from_static(b"{}");
    let failure = kms.to_storage(plain.clone(), CONTEXT).await.unwrap_err().to_string();
    assert!(failure.contains("is not ready"), "{failure}");
    service.set("v2", "ok", "one");
    kms.check().await.unwrap();
    let stored = kms.to_storage(plain.clone(), CONTEXT).await.unwrap();
    let fresh = Plain { value: plain.clone(), stale: false };
    assert_eq!(kms.from_storage(stored.clone(), CONTEXT).await.unwrap(), fresh);
    assert_eq!(service.calls.load(Ordering::Relaxed), 0, "its own seed is known");
    assert!(kms.from_storage(stored.clone(), "/moved").await.is_err());

    let other = Kms::new("k", service.clone());
    other.check().await.unwrap();
    for _ in 0..3 {
        assert_eq!(other.from_storage(stored.clone(), CONTEXT).await.unwrap(), fresh);
    }
    assert_eq!(service.calls.load(Ordering::Relaxed), 1, "one call for all values with a seed");

    service.set("v2", "ok", "two");
    kms.check().await.unwrap();
    assert!(kms.from_storage(stored.clone(), CONTEXT).await.unwrap().stale);
    for length in 0..stored.len() {
        assert!(kms.from_storage(stored.slice(..length), CONTEXT).await.is_err());
    }
}

/// Returns a value that another server has written with this service, and a server that does not know its seed yet.
async fn written_elsewhere(service: &Arc<Scripted>) -> (Bytes, Kms) {
    service.set("v2", "ok", "one");
    let other = Kms::new("k", service.clone());
    other.check().await.unwrap();
    let stored = other.to_storage(Bytes::from_static(b"{}"), CONTEXT).await.unwrap();
    (stored, Kms::new("k", service.clone()))
}

#[tokio::test(start_paused = true)]
async fn reads_wait_together_for_a_service_that_hangs() {
    let service = Arc::new(Scripted::default());
    let (stored, kms) = written_elsewhere(&service).await;
    *service.fault.lock() = Some(Fault::Hangs);
    let begun = tokio::time::Instant::now();
    let reads = (0..12).map(|_| kms.from_storage(stored.clone(), CONTEXT));
    for read in futures::future::join_all(reads).await {
        assert_eq!(read.unwrap_err().to_string(), "failed to decrypt DEK, error: timed out");
    }
    assert_eq!((begun.elapsed().as_secs(), service.calls.load(Ordering::Relaxed)), (3, 1));

    *service.fault.lock() = None;
    assert!(kms.from_storage(stored, CONTEXT).await.is_ok());
}

#[tokio::test]
async fn a_wrong_seed_is_not_kept() {
    let service = Arc::new(Scripted::default());
    let (stored, kms) = written_elsewhere(&service).await;
    *service.fault.lock() = Some(Fault::Lies);
    assert!(kms.from_storage(stored.clone(), CONTEXT).await.is_err());
    *service.fault.lock() = None;
    assert!(kms.from_storage(stored, CONTEXT).await.is_ok());
}

#[tokio::test(start_paused = true)]
async fn a_service_that_is_not_healthy_stops_writes_after_a_while_but_no_reads() {
    let service = Arc::new(Scripted::default());
    let kms = Kms::new("k", service.clone());
    for (version, healthz, key_id, reason) in [
        ("v2", "broken", "one", "got unexpected healthz status: broken"),
        ("v1", "ok", "one", "expected KMSv2 API version v2, got v1"),
        ("v2", "ok", "", "got invalid KMSv2 KeyID: keyID is empty"),
    ] {
        service.set(version, healthz, key_id);
        let failure = kms.check().await.unwrap_err().to_string();
        assert_eq!(failure, format!("kmsv2 Provider k is not healthy, error: {reason}"));
        assert_eq!(kms.failure(), Some(failure));
    }
    service.set("v2", "ok", "one");
    kms.check().await.unwrap();
    assert_eq!(kms.failure(), None);
    let stored = kms.to_storage(Bytes::from_static(b"{}"), CONTEXT).await.unwrap();
    tokio::time::sleep(std::time::Duration::from_mins(4)).await;
    let failure = kms.to_storage(Bytes::from_static(b"{}"), CONTEXT).await.unwrap_err();
    assert!(failure.to_string().contains("has expired"), "{failure}");
    assert!(kms.from_storage(stored, CONTEXT).await.is_ok());
}

#[tokio::test]
async fn identity_changes_nothing_and_refuses_what_is_encrypted() {
    let value = Bytes::from_static(b"{}");
    assert_eq!(Identity.to_storage(value.clone(), "/k").await.unwrap(), value);
    let read = Identity.from_storage(value.clone(), "/k").await.unwrap();
    assert_eq!(read, Plain { value, stale: false });
    let encrypted = Bytes::from_static(b"k8s:enc:aesgcm:v1:key:0123");
    assert!(Identity.from_storage(encrypted, "/k").await.is_err());
}

/// A service of version 1 that encrypts by turning the bits over.
#[derive(Default)]
struct Turning {
    decryptions: AtomicUsize,
}

#[async_trait]
impl EnvelopeService for Turning {
    async fn encrypt(&self, plain: &[u8]) -> Result<Vec<u8>, ServiceError> {
        Ok(plain.iter().map(|byte| !byte).collect())
    }

    async fn decrypt(&self, encrypted: &[u8]) -> Result<Vec<u8>, ServiceError> {
        self.decryptions.fetch_add(1, Ordering::Relaxed);
        Ok(encrypted.iter().map(|byte| !byte).collect())
    }
}

#[tokio::test]
async fn an_envelope_has_the_encrypted_key_before_the_value() {
    let service = Arc::new(Turning::default());
    let kms = KmsV1::new("vault", service.clone(), NonZeroUsize::new(2));
    let plain = Bytes::from_static(b"{}");
    let stored = kms.to_storage(plain.clone(), CONTEXT).await.unwrap();
    let (length, rest) = stored.split_at(2);
    assert_eq!(length, [0, 32]);
    let (encrypted, sealed) = rest.split_at(32);
    let secret: Vec<u8> = encrypted.iter().map(|byte| !byte).collect();
    let opened =
        Gcm::new(&secret).unwrap().from_storage(Bytes::copy_from_slice(sealed), CONTEXT).await.unwrap();
    assert_eq!(opened.value, plain);
    assert_eq!(
        kms.from_storage(stored.clone(), CONTEXT).await.unwrap(),
        Plain { value: plain.clone(), stale: false }
    );
    assert_eq!(service.decryptions.load(Ordering::Relaxed), 0, "the key is kept");
    for _ in 0..2 {
        kms.to_storage(plain.clone(), CONTEXT).await.unwrap();
    }
    kms.from_storage(stored.clone(), CONTEXT).await.unwrap();
    assert_eq!(service.decryptions.load(Ordering::Relaxed), 1, "two newer keys were kept in its place");

    for length in 0..stored.len() {
        assert!(kms.from_storage(stored.slice(..length), CONTEXT).await.is_err(), "{length}");
    }
    assert!(kms.from_storage(stored, "/moved").await.is_err());
}

#[tokio::test]
async fn an_envelope_of_an_old_release_is_read_and_stale() {
    let kms = KmsV1::new("vault", Arc::new(Turning::default()), None);
    let secret = [7; 32];
    let plain = Bytes::from_static(b"{}");
    let sealed = Cbc::new(&secret).unwrap().to_storage(plain.clone(), CONTEXT).await.unwrap();
    let encrypted: Vec<u8> = secret.iter().map(|byte| !byte).collect();
    let stored = [&[0, 32][..], &encrypted, &sealed].concat();
    let read = kms.from_storage(stored.into(), CONTEXT).await.unwrap();
    assert_eq!(read, Plain { value: plain, stale: true });
}
