//! Tables of GitHub's Markdown.

/// On which side a column's cells stand.
#[derive(Clone, Copy)]
pub enum Side {
    /// Words.
    Left,
    /// Numbers.
    Right,
}

/// A table of cells that are Markdown already. Without a line break at its end.
pub fn table(columns: &[(impl AsRef<str>, Side)], rows: &[Vec<String>]) -> String {
    let header = columns.iter().map(|(title, _)| title.as_ref().to_string()).collect::<Vec<_>>();
    let sides = columns.iter().map(|(_, side)| match side {
        Side::Left => ":--",
        Side::Right => "--:",
    });
    let sides = format!("|{}|", sides.collect::<Vec<_>>().join("|"));
    let rows = rows.iter().map(|cells| line(cells));
    [line(&header), sides].into_iter().chain(rows).collect::<Vec<_>>().join("\n")
}

fn line(cells: &[String]) -> String {
    format!("| {} |", cells.join(" | "))
}
