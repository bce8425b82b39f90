use super::{Problems, code, list, nearest, underlined};

#[test]
fn carets_are_counted_in_characters() {
    assert_eq!(
        underlined("zürich_<x>", 8..11),
        "  zürich_<x>\n         ^^^"
    );
}

#[test]
fn what_does_not_fit_on_a_line_is_escaped() {
    assert_eq!(underlined("a\n<x>\t", 2..5), "  a\\n<x>\\t\n     ^^^");
}

#[test]
fn a_place_of_no_width_has_one_caret() {
    assert_eq!(underlined("", 0..0), "  \n  ^");
}

#[test]
fn the_nearest_name_is_a_slip_or_a_beginning() {
    let names = ["guard", "key_window", "key"];
    assert_eq!(nearest("gaurd", names), Some("guard"));
    assert_eq!(nearest("gu", names), Some("guard"));
    assert_eq!(nearest("kee", names), Some("key"));
    assert_eq!(nearest("timeout", names), None);
    assert_eq!(nearest("", names), None);
}

#[test]
fn names_are_listed_in_quotes() {
    assert_eq!(list(["a", "b"]), "`a`, `b`");
}

#[test]
fn a_problem_is_its_message_its_drawing_and_its_help() {
    let mut problems = Problems::default();
    let place = quote::quote!(x);
    problems
        .report(&place, "no argument named `x`")
        .inside("a_<x>", 2..5)
        .help("did you mean `y`?");
    assert_eq!(
        problems.texts(),
        ["no argument named `x`\n\n  a_<x>\n    ^^^\n\nhelp: did you mean `y`?"]
    );
    assert!(!problems.is_empty());
}

#[test]
fn code_is_shown_as_it_is_written() {
    let shown = code(quote::quote!(Result<Vec<Box<dyn Fn(&u8)>>, [shop::E; 2]>));
    assert_eq!(shown, "Result<Vec<Box<dyn Fn(&u8)>>, [shop::E; 2]>");
    assert_eq!(
        code(quote::quote!(<Self as Shop>::paid::<u8>)),
        "<Self as Shop>::paid::<u8>"
    );
}
