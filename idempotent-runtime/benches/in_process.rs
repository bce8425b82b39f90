//! What a call costs before the database is asked: the key, the inputs, the stored result.

use std::hint::black_box;

use criterion::{Criterion, criterion_group, criterion_main};
use idempotent_runtime::__private::{Contract, Inputs, KeyBuilder, Site};
use idempotent_runtime::{FromRuntime, Input, KeyPart, Stored};
use serde::{Deserialize, Serialize};
use sha2::{Digest, Sha256};

#[derive(Serialize, Deserialize)]
struct Receipt {
    id: String,
    total: i64,
    items: Vec<(String, u32)>,
}

fn key() -> KeyBuilder {
    let mut key = KeyBuilder::new();
    key.text("order_");
    KeyPart::write(black_box(&42_i64), &mut key.part("order_id", Some('_')));
    key.text("_");
    KeyPart::write(black_box("eu-west"), &mut key.part("region", None));
    key
}

fn inputs() -> Inputs {
    let mut inputs = Inputs::new();
    Input::fingerprint(black_box(&1200_u32), "amount", &mut inputs);
    Input::fingerprint(black_box("EUR"), "currency", &mut inputs);
    inputs
}

fn keys(c: &mut Criterion) {
    let mut group = c.benchmark_group("key");
    group.bench_function("two parts", |b| {
        b.iter(|| black_box(key().finish("charge")))
    });
    group.bench_function("part to encode", |b| {
        b.iter(|| {
            let mut key = KeyBuilder::new();
            KeyPart::write(black_box("Zoë_100% ok"), &mut key.part("name", Some('_')));
            black_box(key.finish("charge"))
        });
    });
    group.bench_function("too long", |b| {
        let long = "x".repeat(1000);
        b.iter(|| {
            let mut key = KeyBuilder::new();
            KeyPart::write(black_box(long.as_str()), &mut key.part("name", None));
            black_box(key.finish("charge"))
        });
    });
    group.finish();
}

/// The yardstick: one digest for each input, over the bytes that identify it.
fn fingerprints(c: &mut Criterion) {
    let mut group = c.benchmark_group("key and two inputs");
    group.bench_function("ours", |b| {
        b.iter(|| black_box((key().finish("charge"), inputs())));
    });
    group.bench_function("hashing the same bytes", |b| {
        b.iter(|| {
            let key = format!("order_{}_{}", black_box(42_i64), black_box("eu-west"));
            let amount = Sha256::digest(black_box(1200_u32).to_le_bytes());
            let currency = Sha256::digest(black_box("EUR").as_bytes());
            black_box((key, amount, currency))
        });
    });
    group.finish();
}

fn results(c: &mut Criterion) {
    static SITE: Site = Site::new("bench", "bench", "bench.rs", 1);
    let receipt = || Receipt {
        id: "receipt-42".to_owned(),
        total: 4200,
        items: vec![("book".to_owned(), 1), ("pen".to_owned(), 3)],
    };
    let mut group = c.benchmark_group("result");
    let contract = Contract::new(
        &SITE,
        <Receipt as Stored>::codec(),
        <anyhow::Error as FromRuntime>::from_runtime,
    );
    group.bench_function("stored and decoded", |b| {
        b.iter(|| black_box(contract.settle(black_box(receipt())).is_ok()));
    });
    group.bench_function("serde_json there and back", |b| {
        b.iter(|| {
            let bytes = serde_json::to_vec(&black_box(receipt())).unwrap_or_default();
            black_box(serde_json::from_slice::<Receipt>(&bytes).is_ok())
        });
    });
    group.finish();
}

criterion_group!(benches, keys, fingerprints, results);
criterion_main!(benches);
