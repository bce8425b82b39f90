use super::{Piece, Template};

fn text(text: &str) -> Piece {
    Piece::Text(text.to_owned())
}

/// The pieces as `text` or `<path>`, and the messages of what is wrong.
fn parse(source: &str) -> (Vec<String>, Vec<String>) {
    let template = Template::parse(source);
    let pieces = template.pieces.iter().map(|piece| match piece {
        Piece::Text(text) => text.clone(),
        Piece::Placeholder(placeholder) => {
            let mut path = vec![placeholder.root.as_str()];
            path.extend(placeholder.fields.iter().map(String::as_str));
            format!("<{}>", path.join("."))
        }
    });
    let flaws = template.flaws.iter().map(|flaw| {
        let place = flaw.range.clone().map_or("", |range| &source[range]);
        format!("{place}: {}", flaw.message)
    });
    (pieces.collect(), flaws.collect())
}

#[test]
fn text_and_placeholders_alternate() {
    let (pieces, flaws) = parse("order_<order.id>_of_<customer>");
    assert_eq!(pieces, ["order_", "<order.id>", "_of_", "<customer>"]);
    assert!(flaws.is_empty(), "{flaws:?}");
}

#[test]
fn a_doubled_bracket_is_text() {
    let template = Template::parse("a<<b>_<<<id>>");
    assert_eq!(template.pieces[0], text("a<b>_<"));
    assert_eq!(template.placeholders().count(), 1);
    assert_eq!(template.pieces[2], text(">"));
    assert!(template.flaws.is_empty());
}

#[test]
fn fields_are_names_or_numbers() {
    assert_eq!(parse("<pair.0.1>").0, ["<pair.0.1>"]);
    assert_eq!(parse("<r#type.r#ref>").0, ["<type.ref>"]);
    assert_eq!(parse("<größe>").0, ["<größe>"]);
    for wrong in [
        "<0>", "<a.>", "<.a>", "<a..b>", "<a.01>", "<a.-1>", "<a.self>", "<a.b()>", "<a-b>",
        "<&a>", "<a b>", "<a²>", "<1a>", "<Ⓐ>",
    ] {
        let (pieces, flaws) = parse(wrong);
        assert!(pieces.is_empty(), "{wrong}: {pieces:?}");
        assert_eq!(flaws.len(), 1, "{wrong}: {flaws:?}");
    }
}

#[test]
fn each_flaw_is_told_where_it_is() {
    let cases = [
        (
            "order_<order_id",
            "<order_id: this placeholder is never closed",
        ),
        ("<>_x", "<>: this placeholder is empty"),
        ("x_< id >", "< id >: a placeholder has no spaces inside"),
        ("é_<a><b>", "<b>: two placeholders need text between them"),
        (
            "<id + 1>",
            "<id + 1>: `<id + 1>` is neither an argument nor a field of one",
        ),
    ];
    for (source, flaw) in cases {
        assert_eq!(parse(source).1, [flaw], "{source}");
    }
}

#[test]
fn what_follows_an_unclosed_placeholder_is_still_read() {
    let (pieces, flaws) = parse("a_<b_<c>_d");
    assert_eq!(pieces, ["a_", "<c>", "_d"]);
    assert_eq!(flaws, ["<b_: this placeholder is never closed"]);
}

#[test]
fn spaces_are_told_and_passed_over() {
    assert_eq!(parse("<  id>").0, ["<id>"]);
}

#[test]
fn only_the_text_counts_towards_the_length() {
    let id = "i".repeat(300);
    assert!(parse(&format!("order_<{id}>")).1.is_empty());
    let long = parse(&format!("{id}_<id>")).1;
    assert!(long[0].contains("302 bytes"), "{long:?}");
}

#[test]
fn other_notations_are_recognized() {
    let lookalikes = |source: &str| {
        let template = Template::parse(source);
        let found = template.lookalikes.into_iter();
        found
            .map(|found| (source[found.range].to_owned(), found.name))
            .collect::<Vec<_>>()
    };
    let named = |text: &str| vec![(text.to_owned(), Some("id".to_owned()))];
    assert_eq!(lookalikes("a_{id}"), named("{id}"));
    assert_eq!(lookalikes("a_#{id}"), named("#{id}"));
    assert_eq!(lookalikes("a_${id}"), named("${id}"));
    assert_eq!(
        lookalikes("a_:id_"),
        vec![(":id_".to_owned(), Some("id_".to_owned()))]
    );
    assert_eq!(lookalikes("é$id"), named("$id"));
    assert_eq!(lookalikes("a_%s"), vec![("%s".to_owned(), None)]);
    assert_eq!(lookalikes("a_{}"), vec![("{}".to_owned(), None)]);
    assert_eq!(lookalikes("a: b {c d} 10% {"), vec![]);
}
