use quote::ToTokens;

use super::{Frame, KeyPiece, Plan, Question, resolve};
use crate::args::Args;
use crate::function::Function;
use crate::problems::Problems;

const FUNCTION: &str = "async fn charge(conn: &mut SqliteConnection, order_id: i64, amount: u32) \
                        -> Result<Receipt, E> {}";

fn run(args: &str, function: &str) -> (Frame, Option<Plan>, Vec<String>) {
    let mut problems = Problems::default();
    let args = Args::parse(args.parse().expect("tokens"), &mut problems);
    let function = Function::parse(function.parse().expect("tokens"), &mut problems);
    let (frame, plan) = resolve(args, function.expect("a function"), &mut problems);
    (frame, plan, problems.texts())
}

fn plan(args: &str, function: &str) -> (Frame, Plan) {
    let (frame, plan, problems) = run(args, function);
    assert!(problems.is_empty(), "{args}: {problems:?}");
    (frame, plan.expect("a plan"))
}

/// What is said of one mistake.
fn mistake(args: &str, function: &str) -> String {
    let (_, plan, mut problems) = run(args, function);
    assert_eq!(problems.len(), 1, "{args}: {problems:?}");
    assert!(plan.is_none());
    problems.remove(0)
}

fn key(plan: &Plan) -> Vec<String> {
    let pieces = plan.key.iter().map(|piece| match piece {
        KeyPiece::Text(text) => text.clone(),
        KeyPiece::Part(value, next) => {
            let ty = value.ty.as_ref().map(|ty| ty.to_token_stream().to_string());
            format!(
                "{}: {} {next:?}",
                value.name,
                ty.unwrap_or_else(|| "_".to_owned())
            )
        }
    });
    pieces.collect()
}

fn inputs(plan: &Plan) -> Vec<&str> {
    plan.inputs
        .iter()
        .map(|input| input.name.as_str())
        .collect()
}

fn arguments(question: Option<&Question>) -> Vec<&str> {
    let arguments = question
        .into_iter()
        .flat_map(|question| &question.arguments);
    arguments.map(|value| value.name.as_str()).collect()
}

#[test]
fn placeholders_meet_parameters() {
    let (frame, plan) = plan(
        "key = \"order_<order_id>_<amount>\", guard = paid",
        FUNCTION,
    );
    assert_eq!(
        key(&plan),
        ["order_", "order_id: i64 Some('_')", "_", "amount: u32 None"]
    );
    assert!(inputs(&plan).is_empty());
    assert_eq!(arguments(plan.guard.as_ref()), ["order_id", "amount"]);
    assert_eq!(plan.name, "charge");
    assert!(frame.can_skip);
}

#[test]
fn inputs_are_what_is_not_wholly_in_the_key() {
    let function = "async fn f<const N: usize>(c: &mut C, a: i64, b: String, s: &str, l: &[u8], \
                    d: &Gateway, m: &mut Gateway, (x, mut y): (u8, u16), o: Order, _: u8) \
                    -> Result<(), E> {}";
    let (_, plan) = plan("key = \"<a>_<o.id>\", ignore(y)", function);
    assert_eq!(inputs(&plan), ["b", "s", "l", "x", "o", "N"]);
    let (_, plan) = self::plan(
        "key = \"<a>_<N>_<o.id>\", inputs(d), ignore(o, s, y)",
        function,
    );
    assert_eq!(inputs(&plan), ["b", "l", "d", "x"]);
}

#[test]
fn a_guard_takes_each_placeholder_once_or_what_it_names() {
    let args = "key = \"<order_id>/<amount>/<order_id>\", guard = paid, skip_if = off()";
    let (_, plan) = plan(args, FUNCTION);
    assert_eq!(arguments(plan.guard.as_ref()), ["order_id", "amount"]);
    assert!(arguments(plan.skip_if.as_ref()).is_empty());
    let (_, plan) = self::plan("key = \"<order_id>\", guard = paid(amount)", FUNCTION);
    assert_eq!(arguments(plan.guard.as_ref()), ["amount"]);
}

#[test]
fn whether_a_job_can_skip_shows_in_its_arguments() {
    let can_skip = |args: &str| {
        let (frame, _, _) = run(&format!("key = \"<order_id>\", {args}"), FUNCTION);
        frame.can_skip
    };
    assert!(!can_skip(""));
    assert!(can_skip("guard = paid"));
    assert!(can_skip("unique = \"c\""));
    assert!(can_skip("skip_if = off"));
    assert!(!can_skip("guard = paid, existing = load"));
    assert!(!can_skip("unique = \"c\", existing = load"));
    assert!(can_skip("guard = paid, existing = load, missing"));
    assert!(can_skip("guard = paid, existing = load, skip_if = off"));
    // Half-typed, it is still what its callers were written for.
    assert!(can_skip("guard = "));
}

#[test]
fn the_store_is_a_dependency_of_its_own() {
    let function = "async fn f(c: &mut C, State(app): State<App>, id: i64) -> R {}";
    let (frame, plan) = plan("key = \"<id>\", store = app.store", function);
    assert!(frame.has_own_store);
    assert!(inputs(&plan).is_empty());
    assert!(plan.bound.contains(&"app".to_owned()));
    let pair = "async fn f(c: &mut C, (app, id, n): (App, i64, u8)) -> R {}";
    let (_, plan) = self::plan("key = \"<id>\", store = app.store", pair);
    assert_eq!(inputs(&plan), ["n"]);
    assert!(mistake("key = \"<id>\", store = ap.store", function).contains("did you mean `app`?"));
}

#[test]
fn a_missing_key_is_answered_with_a_ready_line() {
    let said = mistake("", FUNCTION);
    assert!(
        said.contains("#[idempotent(key = \"charge_<order_id>\")]"),
        "{said}"
    );
    let said = mistake("", "async fn nightly(c: &mut C) -> R {}");
    assert!(said.contains("key = \"nightly\", once"), "{said}");
}

#[test]
fn names_that_are_not_there_are_told_in_place() {
    let said = mistake("key = \"é_<ordr_id>\"", FUNCTION);
    assert!(said.starts_with("no argument named `ordr_id`\n\n  é_<ordr_id>\n    ^^^^^^^^^\n"));
    assert!(said.contains("did you mean `order_id`?"));
    assert!(mistake("key = \"<conn>\"", FUNCTION).contains("is the first parameter"));
    assert!(mistake("key = \"<order_id>\", ignore(conn)", FUNCTION).contains("first parameter"));
    assert!(mistake("key = \"<order_id>\", guard = g(x)", FUNCTION).contains("named `x`"));
    let hidden = "async fn f(c: &mut C, pat!(x): X, id: i64) -> R {}";
    assert!(mistake("key = \"<x>\"", hidden).contains("name the parameter"));
}

#[test]
fn keys_that_every_call_would_share_are_refused() {
    assert!(mistake("key = \"nightly\"", FUNCTION).starts_with("every call would share"));
    assert!(mistake("key = \"\"", FUNCTION).starts_with("the key is empty"));
    assert!(mistake("key = \"\", once", FUNCTION).starts_with("the key is empty"));
    assert!(mistake("key = \"<order_id>\", once", FUNCTION).starts_with("`once` is for"));
    plan("key = \"nightly\", once", FUNCTION);
}

#[test]
fn other_notations_are_answered_where_they_can_be_meant() {
    for key in [
        "{order_id}",
        "#{order_id}",
        "${order_id}",
        ":order_id",
        "x_$order_id",
    ] {
        let said = mistake(&format!("key = \"{key}\""), FUNCTION);
        assert!(
            said.starts_with("placeholders are written `<order_id>`"),
            "{key}: {said}"
        );
    }
    assert!(mistake("key = \"order_%s\"", FUNCTION).starts_with("placeholders are written"));
    plan("key = \"urn:amount:<order_id>_100%s_{x}\"", FUNCTION);
    assert!(mistake("key = \"<order_id>_{amount}\"", FUNCTION).contains("<amount>"));
}

#[test]
fn references_in_the_key_are_accounted_for() {
    let function = "async fn f(c: &mut C, order: &Order, id: &Uuid) -> R {}";
    assert!(mistake("key = \"<order.id>\"", function).contains("`inputs(order)`"));
    plan("key = \"<order.id>\", inputs(order)", function);
    plan("key = \"<order.id>\", ignore(order)", function);
    plan("key = \"<id>\"", function);
    let function = "async fn f(c: &mut C, Order { id, amount }: &Order) -> R {}";
    assert!(mistake("key = \"<id>\"", function).contains("`inputs(amount)`"));
    plan("key = \"<id>\", inputs(amount)", function);
    let method = "async fn f(&self, c: &mut C, id: u8) -> R {}";
    plan("key = \"<self.region>_<id>\"", method);
}

#[test]
fn type_parameters_show_or_are_ignored_by_name() {
    let function = "async fn f<T, G>(c: &mut C, id: T, gateway: &G) -> R {}";
    assert!(mistake("key = \"<id>\"", function).starts_with("no input shows `G`"));
    plan("key = \"<id>\", ignore(G)", function);
    plan("key = \"<id>\", ignore(gateway)", function);
    let function = "async fn f<C: Connection>(c: &mut C, id: u8) -> R {}";
    plan("key = \"<id>\"", function);
}

#[test]
fn lists_name_each_argument_once() {
    let key = |list: &str| mistake(&format!("key = \"<order_id>\", {list}"), FUNCTION);
    assert!(key("ignore(nope)").starts_with("no argument named `nope`"));
    assert!(key("ignore(order_id)").contains("is in the key"));
    assert!(key("ignore(amount, amount)").contains("listed twice"));
    assert!(key("inputs(amount), ignore(amount)").contains("listed twice"));
    assert!(key("inputs(nope)").starts_with("no argument named `nope`"));
}

#[test]
fn arguments_that_contradict_each_other_are_told() {
    let said = |args: &str| mistake(&format!("key = \"<order_id>\", {args}"), FUNCTION);
    assert!(said("lease = 3s").starts_with("`lease` has no meaning here"));
    assert!(said("key_window = 3h").starts_with("`key_window` has no meaning here"));
    assert!(said("reconcile = look_up").starts_with("`reconcile` has no meaning here"));
    assert!(said("existing = load").starts_with("`existing` is asked"));
    assert!(said("guard = g, missing").starts_with("`missing` says"));
    assert!(mistake("key = \"a\", once, retain = 3d", FUNCTION).contains("contradict"));
    let leased = "async fn f(job: &mut Job<'_, Sqlite>, id: i64) -> R {}";
    assert!(mistake("key = \"<id>\", unique = t(id)", leased).starts_with("`unique` has"));
    assert!(mistake("key = \"<id>\", guard = id", leased).contains("is an argument here"));
}

#[test]
fn independent_mistakes_are_all_told() {
    let (_, _, problems) = run(
        "key = \"<ordr_id><amount>\", gaurd = paid, lease = 3",
        FUNCTION,
    );
    // The unit, the unknown argument, the lease itself, the neighbours, the name.
    assert_eq!(problems.len(), 5, "{problems:#?}");
}

#[test]
fn editors_are_given_keys_that_are_format_strings() {
    let format = |args: &str| {
        let (frame, _) = plan(args, FUNCTION);
        frame.format.map(|literal| literal.to_string())
    };
    let some = |text: &str| Some(text.to_owned());
    assert_eq!(format("key = \"o_<order_id>\""), some("\"o_{order_id}\""));
    assert_eq!(
        format("key = r#\"o_<order_id>\"#"),
        some("r#\"o_{order_id}\"#")
    );
    assert_eq!(format("key = \"<<_<order_id>\""), None);
    assert_eq!(format("key = \"{}_<order_id>\""), None);
    assert_eq!(format("key = \"\\x3corder_id>\""), None);
}
