//! What stands in a key: hostile text, types of every kind, and what is refused.

use std::fmt::Debug;
use std::num::NonZero;

use chrono::{DateTime, FixedOffset, NaiveDate, Utc};
use idempotent_runtime::{Error, KeyPart, Outcome, idempotent};
use uuid::Uuid;

use super::business::{Failure, leave};
use crate::db::{Conn, Db};
use crate::world::World;

#[idempotent(key = "pair_<a>_<b>")]
async fn pair(conn: &mut Conn, a: &str, b: &str) -> Result<(String, String), Failure> {
    leave(conn, "pair").await?;
    Ok((a.to_owned(), b.to_owned()))
}

/// K6: separators, marks and controls in the parts; 23: NFC and NFD, case, trailing spaces, SQL.
async fn different_parts_are_different_keys(world: World<Db>) {
    let pairs = [
        ("x_y", "z"),
        ("x", "y_z"),
        ("x%5Fy", "z"),
        ("x", "y%5Fz"),
        ("%", "%25"),
        ("%25", "%"),
        ("nul", "\0"),
        ("nul", "\\0"),
        ("line", "a\nb"),
        ("line", "a\rb"),
        ("emoji", "😀"),
        ("emoji", "😁"),
        ("marks", "\u{200f}abc"),
        ("marks", "\u{202e}abc"),
        ("marks", "abc"),
        ("accent", "é"),
        ("accent", "e\u{301}"),
        ("accent", "e"),
        ("case", "A"),
        ("case", "a"),
        ("case", "ß"),
        ("case", "ss"),
        ("space", "a"),
        ("space", "a "),
        ("space", "a  "),
        ("space", " a"),
        ("sql", "'; DROP TABLE effects; --"),
        ("sql", "' OR '1'='1"),
        ("sql", "$1"),
        ("sql", "?"),
        ("\"", "`"),
        ("%~", "%."),
    ];
    for (a, b) in pairs {
        let first = pair(&world.store, a, b).await.unwrap();
        assert!(first.is_performed(), "{a:?}, {b:?} shares a key");
    }
    for (a, b) in pairs {
        assert_eq!(
            pair(&world.store, a, b).await.unwrap(),
            Outcome::Replayed((a.to_owned(), b.to_owned()))
        );
    }
    assert_eq!(
        world.effects("pair").await,
        i64::try_from(pairs.len()).unwrap()
    );
    assert_eq!(world.rows("pair_x%5Fy_z").await, 1, "keys are readable");
}

/// 23: an empty part would be shared by many calls: nothing runs.
async fn an_empty_part_is_refused(world: World<Db>) {
    for (a, b, empty) in [("", "b", "a"), ("a", "", "b"), ("", "", "a")] {
        let refusal = pair(&world.store, a, b).await.unwrap_err();
        assert!(
            matches!(refusal.runtime(), Error::EmptyKeyPart { job, part } if job == "pair" && *part == empty),
            "{refusal:?}"
        );
    }
    assert_eq!(world.effects("pair").await, 0);
}

/// 23: ten megabytes become a readable head and a digest, and stay distinct.
async fn a_huge_part_ends_in_a_digest(world: World<Db>) {
    let long = "x".repeat(10_000_000);
    let other = format!("{}y", &long[1..]);
    for text in [&*long, &*other] {
        #[idempotent(key = "long_<text>")]
        async fn long_key(conn: &mut Conn, text: &str) -> Result<usize, Failure> {
            leave(conn, "long_key").await?;
            Ok(text.len())
        }
        assert!(long_key(&world.store, text).await.unwrap().is_performed());
        assert!(long_key(&world.store, text).await.unwrap().is_replayed());
    }
    assert_eq!(world.effects("long_key").await, 2);
}

#[derive(Debug, KeyPart)]
struct OrderId(i64);

#[derive(Debug, KeyPart)]
struct Tagged<T> {
    inner: T,
}

#[derive(Debug, KeyPart)]
enum Region {
    Eu,
    #[allow(non_camel_case_types, reason = "names are kept as they are")]
    us_east,
}

#[idempotent(key = "part_<kind>_<part>")]
async fn part<T: KeyPart + Debug>(conn: &mut Conn, kind: &str, part: T) -> Result<String, Failure> {
    leave(conn, "part").await?;
    Ok(format!("{kind}: {part:?}"))
}

async fn is_part<T: KeyPart + Debug + Clone>(world: &World<Db>, value: T, key: &str) {
    let kind = key.split('_').nth(1).unwrap();
    let first = part(&world.store, kind, value.clone()).await.unwrap();
    assert!(first.is_performed(), "{key}");
    let second = part(&world.store, kind, value).await.unwrap();
    assert_eq!(
        second.is_replayed().then(|| second.into_value()),
        Some(first.into_value())
    );
    assert_eq!(world.rows(key).await, 1, "{key}");
}

/// K7: the types that a key can hold, and how they read in it.
async fn many_types_can_be_parts(world: World<Db>) {
    let utc: DateTime<Utc> = DateTime::from_timestamp(1_700_000_000, 0).unwrap();
    is_part(
        &world,
        Uuid::from_u128(7),
        "part_uuid_00000000-0000-0000-0000-000000000007",
    )
    .await;
    is_part(
        &world,
        NaiveDate::from_ymd_opt(2024, 2, 29).unwrap(),
        "part_date_2024-02-29",
    )
    .await;
    is_part(&world, utc, "part_instant_2023-11-14T22:13:20Z").await;
    is_part(
        &world,
        u128::MAX,
        "part_u128_340282366920938463463374607431768211455",
    )
    .await;
    is_part(
        &world,
        i128::MIN,
        "part_i128_-170141183460469231731687303715884105728",
    )
    .await;
    is_part(&world, NonZero::new(7_u64).unwrap(), "part_nonzero_7").await;
    is_part(&world, true, "part_bool_true").await;
    is_part(&world, 'ß', "part_char_%C3%9F").await;
    is_part(&world, std::sync::Arc::new(5_u8), "part_arc_5").await;
    is_part(&world, std::borrow::Cow::Borrowed("a b"), "part_cow_a b").await;
    assert!(
        part(&world.store, "id", OrderId(42))
            .await
            .unwrap()
            .is_performed()
    );
    assert!(
        part(&world.store, "tag", Tagged { inner: "t" })
            .await
            .unwrap()
            .is_performed()
    );
    assert!(
        part(&world.store, "region", Region::Eu)
            .await
            .unwrap()
            .is_performed()
    );
    assert!(
        part(&world.store, "region", Region::us_east)
            .await
            .unwrap()
            .is_performed()
    );
    for key in [
        "part_id_42",
        "part_tag_t",
        "part_region_Eu",
        "part_region_us_east",
    ] {
        assert_eq!(world.rows(key).await, 1, "{key}");
    }
}

/// K7: two spellings of one instant are one piece of work.
async fn one_instant_is_one_key(world: World<Db>) {
    let utc: DateTime<Utc> = DateTime::from_timestamp(1_700_000_000, 0).unwrap();
    let tokyo = utc.with_timezone(&FixedOffset::east_opt(9 * 3600).unwrap());
    assert!(part(&world.store, "at", utc).await.unwrap().is_performed());
    // The result was recorded from the other spelling: it is a replay.
    assert!(part(&world.store, "at", tokyo).await.unwrap().is_replayed());
}

/// Whether a type is a key part: the inherent constant is there only where the bound holds.
macro_rules! is_key_part {
    ($ty:ty) => {{
        struct Probe<T: ?Sized>(std::marker::PhantomData<T>);
        #[allow(dead_code, reason = "one of the two is the answer")]
        trait Otherwise {
            const IS_ONE: bool = false;
        }
        impl<T: ?Sized> Otherwise for Probe<T> {}
        #[allow(dead_code, reason = "one of the two is the answer")]
        impl<T: KeyPart + ?Sized> Probe<T> {
            const IS_ONE: bool = true;
        }
        Probe::<$ty>::IS_ONE
    }};
}

/// K5: what may be missing, drift, or differ between attempts is not a key part; nor is K7's `f64`.
async fn what_could_be_shared_is_no_part(_: World<Db>) {
    assert!(is_key_part!(i64) && is_key_part!(str) && is_key_part!(OrderId));
    assert!(!is_key_part!(Option<i64>) && !is_key_part!(Option<String>) && !is_key_part!(()));
    assert!(!is_key_part!(f64) && !is_key_part!(f32));
    assert!(!is_key_part!(Vec<u8>) && !is_key_part!([i64; 2]) && !is_key_part!((i64, i64)));
    assert!(!is_key_part!(std::time::Instant) && !is_key_part!(std::time::SystemTime));
    assert!(!is_key_part!(Tagged<Option<i64>>) && is_key_part!(Tagged<i64>));
}

idempotent_tests::tests!(
    different_parts_are_different_keys,
    an_empty_part_is_refused,
    a_huge_part_ends_in_a_digest,
    many_types_can_be_parts,
    one_instant_is_one_key,
    what_could_be_shared_is_no_part,
);
