//! The relay's dispatcher on PostgreSQL, against a bare loop of the same statements.

use crate::plot::Line;
use crate::report::{Figure, Reach};

pub(crate) fn postgres() -> anyhow::Result<Figure> {
    Ok(Figure {
        name: "relay_postgres",
        value: 0.0,
        unit: "rows/s",
        ratio: None,
        reach: Reach::AtMost(1.2),
        spread: None,
        note: "n/a: not built".to_owned(),
    })
}

pub(crate) fn by_rows() -> anyhow::Result<Vec<Line>> {
    Ok(Vec::new())
}
