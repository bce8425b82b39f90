use super::{Args, Slot, Unique, Window};
use crate::problems::Problems;

fn parse(source: &str) -> (Args, Vec<String>) {
    let mut problems = Problems::default();
    let tokens = source.parse().expect("tokens");
    let args = Args::parse(tokens, &mut problems);
    let first_lines = problems.texts().into_iter().map(|text| {
        let line = text.lines().next();
        line.unwrap_or_default().to_owned()
    });
    (args, first_lines.collect())
}

/// Reads without a mistake.
fn read(source: &str) -> Args {
    let (args, problems) = parse(source);
    assert!(problems.is_empty(), "{source}: {problems:?}");
    args
}

/// What is said of a source with one mistake.
fn mistake(source: &str) -> String {
    let (_, mut problems) = parse(source);
    assert_eq!(problems.len(), 1, "{source}: {problems:?}");
    problems.remove(0)
}

#[test]
fn every_argument_is_read() {
    let args = read(
        r#"key = "order_<order_id>", guard = shop::paid::<u8>(order_id, order.lines.0),
           skip_if = <Self as Shop>::cancelled, unique = invoices(order_id, r#type),
           existing = load, lease = 500ms, key_window = forever, reconcile = look_up,
           wait = 0s, retain = 30d, inputs(order), ignore(a, b,), name = "charge",
           store = self.app.0.store, once, missing, crate = crate::rt,"#,
    );
    assert_eq!(
        args.key.value().map(syn::LitStr::value).as_deref(),
        Some("order_<order_id>")
    );
    let guard = args.guard.value().expect("a guard");
    let arguments = guard.arguments.as_ref().expect("arguments");
    assert_eq!(arguments[1].root, "order");
    assert_eq!(arguments[1].fields, ["lines", "0"]);
    assert!(
        args.skip_if
            .value()
            .is_some_and(|call| call.path.qself.is_some())
    );
    assert!(
        matches!(args.unique.value(), Some(Unique::Columns(table, columns))
        if table == "invoices" && columns.len() == 2)
    );
    assert_eq!(args.lease.value(), Some(&500));
    assert!(matches!(args.key_window.value(), Some(Window::Forever)));
    assert_eq!(args.wait.value(), Some(&0));
    assert_eq!(args.retain.value(), Some(&(30 * 24 * 3600 * 1000)));
    assert_eq!(args.inputs.value().map(Vec::len), Some(1));
    assert_eq!(args.ignore.value().map(Vec::len), Some(2));
    for given in [
        args.existing.is_given(),
        args.reconcile.is_given(),
        args.name.is_given(),
        args.store.is_given(),
        args.runtime.is_given(),
        args.once.is_given(),
        args.missing.is_given(),
    ] {
        assert!(given);
    }
}

#[test]
fn units_are_those_of_a_clock() {
    let millis = |source: &str| *read(source).wait.value().expect("a duration");
    assert_eq!(millis("wait = 1ms"), 1);
    assert_eq!(millis("wait = 1s"), 1000);
    assert_eq!(millis("wait = 2m"), 120_000);
    assert_eq!(millis("wait = 1_0h"), 36_000_000);
    assert_eq!(millis("wait = 0x10s"), 16_000);
}

#[test]
fn wrong_durations_are_told_apart() {
    assert!(mistake("lease = 30").starts_with("`30` of what?"));
    assert_eq!(mistake("lease = \"30s\""), "a duration has no quotes");
    assert_eq!(mistake("lease = 30x"), "`x` is not a unit of time");
    assert!(mistake("lease = 0s").starts_with("`lease` is zero"));
    assert!(mistake("retain = 0d").starts_with("`retain` is zero"));
    assert!(mistake("key_window = 0h").starts_with("`key_window` is zero"));
    assert_eq!(mistake("lease = 36501d"), "`36501d` is too long a time");
    assert_eq!(
        mistake("lease = 99999999999999999999s"),
        "`99999999999999999999s` is too long a time"
    );
    assert_eq!(mistake("lease = -5s"), "`-5s` is less than nothing");
    assert_eq!(
        mistake("lease = 1.5s"),
        "a duration is a whole number and its unit"
    );
    assert_eq!(
        mistake("lease = Duration::from_secs(3)"),
        "expected a duration: a number and its unit"
    );
}

/// One mistake is one message, and the arguments around it are read.
#[test]
fn a_mistake_leaves_the_others_standing() {
    let wrong = [
        "gaurd = paid",
        "gaurd",
        "guard = \"paid\"",
        "guard = |conn, id| check(conn, id)",
        "guard = async move |conn, lease| { true }",
        "guard =",
        "guard",
        "guard = paid.await",
        "guard = paid::",
        "guard = paid(1)",
        "guard: paid",
        "guard => paid",
        "guard == paid",
        "guard(paid)",
        "guard paid",
        "unique = 5",
        "unique = invoices",
        "unique = invoices()",
        "unique = \"\"",
        "name = \"\"",
        "name = shop",
        "name = \"shop\"s",
        "ignore",
        "ignore()",
        "ignore = a",
        "ignore(a b)",
        "inputs(a.b)",
        "once = true",
        "missing(true)",
        "store = &app",
        "store = f(app)",
        "crate = \"path\"",
        "retain = 0d",
        "reconcile = |job| None",
        "+ 3",
        "{ }",
        "5",
    ];
    for wrong in wrong {
        for source in [
            format!("key = \"a\", {wrong}, wait = 3s"),
            format!("{wrong}, key = \"a\", wait = 3s"),
            format!("key = \"a\", wait = 3s, {wrong}"),
        ] {
            let (args, problems) = parse(&source);
            assert_eq!(problems.len(), 1, "{source}: {problems:?}");
            assert!(args.key.value().is_some(), "{source}");
            assert!(args.wait.value().is_some(), "{source}");
        }
    }
}

#[test]
fn a_missing_comma_is_told_and_passed_over() {
    let (args, problems) = parse("key = \"a\" guard = paid once lease = 3s");
    assert_eq!(
        problems,
        [
            "a comma is missing before `guard`",
            "a comma is missing before `once`",
            "a comma is missing before `lease`"
        ]
    );
    assert!(args.guard.value().is_some() && args.lease.value().is_some());
}

#[test]
fn two_of_one_are_one_mistake() {
    let (args, problems) = parse("key = \"a\", key = \"b\"");
    assert_eq!(problems, ["`key` is given twice"]);
    assert_eq!(
        args.key.value().map(syn::LitStr::value).as_deref(),
        Some("a")
    );
}

#[test]
fn a_lone_string_is_taken_for_the_key() {
    let (args, problems) = parse("\"order_<id>\", once");
    assert_eq!(problems, ["say what this is"]);
    assert!(args.key.value().is_some());
}

#[test]
fn what_is_wrong_is_still_given() {
    let (args, _) = parse("guard = , lease = 5");
    assert!(matches!(args.guard, Slot::Broken(_)));
    assert!(args.guard.is_given() && args.guard.value().is_none());
    assert!(args.lease.is_given() && args.lease.value().is_none());
}

#[test]
fn values_from_macro_rules_are_read_through_their_groups() {
    use proc_macro2::{Delimiter, Group};
    use quote::quote;
    let group = |tokens| Group::new(Delimiter::None, tokens);
    let (key, guard) = (group(quote!("a_<id>")), group(quote!(shop::paid)));
    let lease = group(quote!(30s));
    let mut problems = Problems::default();
    let args = Args::parse(
        quote!(key = #key, guard = #guard, lease = #lease),
        &mut problems,
    );
    assert!(problems.is_empty(), "{:?}", problems.texts());
    assert!(args.guard.value().is_some() && args.lease.value().is_some());
}
