//! What it costs to encrypt and to decrypt a value. Run with `cargo bench -p registry-core --bench encryption`.

#![allow(
    clippy::indexing_slicing,
    clippy::unwrap_used,
    missing_docs,
    reason = "a bench ends at what is missing, and divan's functions are its text"
)]

use bytes::Bytes;
use divan::Bencher;
use divan::counter::BytesCount;
use futures::FutureExt as _;
use registry_storage::transform::aes::{Cbc, Gcm};
use registry_storage::transform::secretbox::SecretBox;
use registry_storage::transform::{Identity, Transformer};

/// The sizes of values: a Secret, a typical object, and a large one.
const SIZES: [usize; 3] = [300, 1_400, 100_000];
const KEY: &str = "/registry/secrets/default/name";

fn main() {
    divan::main();
}

fn transformer(name: &str) -> Box<dyn Transformer> {
    match name {
        "aesgcm" => Box::new(Gcm::new(&[7; 32]).unwrap()),
        "aescbc" => Box::new(Cbc::new(&[7; 32]).unwrap()),
        "secretbox" => Box::new(SecretBox::new(&[7; 32])),
        _ => Box::new(Identity),
    }
}

fn measure(bencher: Bencher<'_, '_>, name: &str, size: usize, decrypts: bool) {
    let transformer = transformer(name);
    let plain = Bytes::from(vec![b'x'; size]);
    let stored = transformer.to_storage(plain.clone(), KEY).now_or_never().unwrap().unwrap();
    bencher.counter(BytesCount::new(size)).bench_local(|| {
        if decrypts {
            transformer.from_storage(stored.clone(), KEY).now_or_never().unwrap().unwrap().value
        } else {
            transformer.to_storage(plain.clone(), KEY).now_or_never().unwrap().unwrap()
        }
    });
}

#[divan::bench(args = SIZES, consts = [0, 1, 2, 3])]
fn encrypt<const PROVIDER: usize>(bencher: Bencher<'_, '_>, size: usize) {
    measure(bencher, PROVIDERS[PROVIDER], size, false);
}

#[divan::bench(args = SIZES, consts = [0, 1, 2, 3])]
fn decrypt<const PROVIDER: usize>(bencher: Bencher<'_, '_>, size: usize) {
    measure(bencher, PROVIDERS[PROVIDER], size, true);
}

/// The providers by the constants of the benches.
const PROVIDERS: [&str; 4] = ["identity", "aesgcm", "aescbc", "secretbox"];
