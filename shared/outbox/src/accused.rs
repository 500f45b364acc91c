//! Rows that failed alone, three in a row, so that the lane was suspected and not they.
//!
//! No row is touched by a fault of the lane. But were the same rows tried first in every pass, a batch
//! of bad ones would hold up all that stands behind it. So they are set aside, in memory, and the next
//! pass begins with others. Once one of those passes, a row accused once is tried again, and one
//! accused twice is at fault. When there are no others they are called back, and the lane stays
//! suspected.

use std::collections::BTreeMap;

use crate::pass::Suspect;

/// Rows remembered at most. Those beyond are tried in their turn, as if nothing had been.
const ACCUSED_ROWS: usize = 1000;

/// Accusations before a row is at fault.
const ACCUSATIONS: u32 = 2;

#[derive(Default)]
pub(crate) struct Accused(BTreeMap<i64, Case>);

struct Case {
    suspect: Suspect,
    times: u32,
    is_set_aside: bool,
}

impl Accused {
    /// A pass ended as a fault of the lane, with these.
    pub(crate) fn add(&mut self, suspects: Vec<Suspect>) {
        for suspect in suspects {
            let seq = suspect.row.seq;
            if let Some(case) = self.0.get_mut(&seq) {
                case.times += 1;
                case.is_set_aside = true;
            } else if self.0.len() < ACCUSED_ROWS {
                self.0.insert(seq, Case { suspect, times: 1, is_set_aside: true });
            }
        }
    }

    /// The rows that others are tried before.
    pub(crate) fn set_aside(&self) -> impl Iterator<Item = i64> {
        self.0.iter().filter(|(_, case)| case.is_set_aside).map(|(seq, _)| *seq)
    }

    /// There are no others: whether any row comes back to be tried again.
    pub(crate) fn call_back(&mut self) -> bool {
        let mut is_any = false;
        for case in self.0.values_mut() {
            is_any |= std::mem::take(&mut case.is_set_aside);
        }
        is_any
    }

    /// The lane is not at fault. Rows accused again and again are, and leave; the others are tried.
    pub(crate) fn acquit(&mut self) -> Vec<Suspect> {
        let seqs: Vec<i64> =
            self.0.iter().filter(|(_, case)| case.times >= ACCUSATIONS).map(|(seq, _)| *seq).collect();
        self.call_back();
        seqs.iter().filter_map(|seq| self.0.remove(seq)).map(|case| case.suspect).collect()
    }
}
