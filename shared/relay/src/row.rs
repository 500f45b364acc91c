//! A claimed row, as it was read back.

use crate::Cell;

/// A row to be published.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct RelayRow {
    /// Its id, made before the insert; the lane's event id.
    pub id: String,
    /// Its topic.
    pub topic: String,
    /// Its payload, byte for byte as it was written.
    pub payload: String,
    /// Attempts spent, the one that runs included.
    pub attempts: u32,
    /// When it was written by the database's clock, unix time in microseconds.
    pub created_at_us: i64,
}

/// A row that can't be read as one. It goes dead by its id, and nothing else of it is trusted.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Malformed {
    pub(crate) id: String,
    pub(crate) trouble: &'static str,
}

/// A row of the read-back; none when not even its id can be read.
pub(crate) fn parse(cells: Vec<Cell>) -> Option<Result<RelayRow, Malformed>> {
    let mut cells = cells.into_iter();
    let Some(Cell::Text(id)) = cells.next() else { return None };
    let malformed = |trouble| Some(Err(Malformed { id: id.clone(), trouble }));
    let Some(Cell::Text(topic)) = cells.next() else { return malformed("malformed row: topic is no text") };
    let Some(Cell::Text(payload)) = cells.next() else {
        return malformed("malformed row: payload is no text");
    };
    let attempts = match cells.next() {
        Some(Cell::Int(attempts)) => u32::try_from(attempts).ok(),
        _ => None,
    };
    let Some(attempts) = attempts else {
        return malformed("malformed row: attempts is no count from 0 on");
    };
    let Some(Cell::Int(created_at_us)) = cells.next() else {
        return malformed("malformed row: created_at is no time");
    };
    Some(Ok(RelayRow { id, topic, payload, attempts, created_at_us }))
}

#[cfg(test)]
mod tests {
    use super::*;

    fn cells() -> Vec<Cell> {
        let text = |text: &str| Cell::Text(text.to_owned());
        vec![text("i"), text("t"), text("p"), Cell::Int(3), Cell::Int(7)]
    }

    /// R11
    #[test]
    fn whatever_is_wrong_with_a_row_is_that_rows_trouble() {
        let row = parse(cells()).unwrap().unwrap();
        assert_eq!((row.id.as_str(), row.attempts, row.created_at_us), ("i", 3, 7));
        for (index, bad, word) in [
            (1, Cell::Null, "topic"),
            (2, Cell::Unreadable, "payload"),
            (3, Cell::Int(-1), "attempts"),
            (3, Cell::Int(1 << 40), "attempts"),
            (4, Cell::Null, "created_at"),
        ] {
            let mut cells = cells();
            cells[index] = bad;
            let malformed = parse(cells).unwrap().unwrap_err();
            assert!(malformed.id == "i" && malformed.trouble.contains(word), "{malformed:?}");
        }
        assert_eq!(parse(vec![Cell::Unreadable]), None);
    }
}
