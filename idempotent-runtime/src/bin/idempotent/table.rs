//! Columns of text.

use std::io::{self, Write};

/// Writes rows below their headings, each column as wide as it has to be.
pub(crate) fn print(
    out: &mut impl Write,
    headings: &[&str],
    rows: &[Vec<String>],
) -> io::Result<()> {
    let width = |column: usize| {
        let cells = rows.iter().filter_map(|row| row.get(column));
        let widest = cells.map(|cell| cell.chars().count()).max().unwrap_or(0);
        widest.max(headings[column].len())
    };
    let widths: Vec<usize> = (0..headings.len()).map(width).collect();
    line(out, headings.iter().copied(), &widths)?;
    for row in rows {
        line(out, row.iter().map(String::as_str), &widths)?;
    }
    Ok(())
}

fn line<'a>(
    out: &mut impl Write,
    cells: impl Iterator<Item = &'a str>,
    widths: &[usize],
) -> io::Result<()> {
    let cells = cells
        .zip(widths)
        .map(|(cell, width)| format!("{cell:width$}"));
    let line = cells.collect::<Vec<_>>().join("  ");
    writeln!(out, "{}", line.trim_end())
}

/// Writes names and what they stand for, below each other.
pub(crate) fn fields(out: &mut impl Write, fields: &[(&str, String)]) -> io::Result<()> {
    let width = fields.iter().map(|(name, _)| name.len()).max().unwrap_or(0);
    for (name, value) in fields {
        writeln!(out, "{name:width$}  {value}")?;
    }
    Ok(())
}
