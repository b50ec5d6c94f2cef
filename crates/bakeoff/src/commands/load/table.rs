//! Tables of a summary.

use std::ops::Range;

use comfy_table::{CellAlignment, Table, presets};

/// A table without lines.
pub fn table() -> Table {
    let mut table = Table::new();
    table.load_style(presets::NOTHING);
    table
}

/// The table as text, with these columns to the right.
pub fn aligned(mut table: Table, right: Range<usize>) -> String {
    for (number, column) in table.column_iter_mut().enumerate() {
        column.set_padding((0, 2));
        if right.contains(&number) {
            column.set_cell_alignment(CellAlignment::Right);
        }
    }
    table.trim_fmt()
}
