//! The judge: may every payload that the old schema took still be sent under the new one?
//!
//! - [`Verdict::Widened`] is said with a proof only. The proof takes both schemas apart and discharges
//!   every keyword of the new one by what is known of a payload of the old one; what it doesn't
//!   understand it doesn't use.
//! - [`Verdict::Narrowed`] is said with a payload only that the old schema's validator took and the
//!   new one's refused, both run just before.
//! - [`Verdict::Unknown`] is everything else.
//!
//! Numbers behave as the validator has them (`1.0` is an integer). Rust types see more: the integer
//! formats that schemars writes (`uint8`, `int64`) are held to the range of their type, and any other
//! format that the validator doesn't know has to stay the same.
//!
//! # Not seen
//! - What a Rust type refuses and its schema doesn't say: that takes a `revision`.
//! - The lane's own limits of size, nesting and numbers. They are the same for both schemas, so a proof
//!   holds with them as without; a counter-example is kept within the size.

mod array;
mod candidates;
mod empty;
mod names;
mod number;
mod object;
mod prove;
mod same;
mod scalar;
mod schema;
mod schemas;
mod shape;

use serde_json::Value;

use crate::contract;
use candidates::Candidates;
use prove::Prover;
use schema::{Node, Side, is_plain};
use schemas::Schemas;

/// What became of a payload contract.
#[derive(Debug, Clone, PartialEq)]
pub enum Verdict {
    /// Nothing but remarks differs (titles, descriptions, the names of definitions).
    Same,
    /// Proved: every payload that was valid still is.
    Widened,
    /// This payload was valid and no longer is; both validators were run on it.
    Narrowed {
        /// Made up by the judge, never taken from anyone's data.
        counter_example: Value,
    },
    /// Neither could be shown.
    Unknown {
        /// Where the proof stopped: a place in the payload and a keyword.
        reason: String,
    },
}

impl Verdict {
    /// A stable word for reports.
    #[must_use]
    pub fn tag(&self) -> &'static str {
        match self {
            Self::Same => "same",
            Self::Widened => "widened",
            Self::Narrowed { .. } => "narrowed",
            Self::Unknown { .. } => "unknown",
        }
    }
}

/// Compares two payload schemas, draft 2020-12, formats asserted.
///
/// ```
/// use eventlane_contracts::{Verdict, judge};
/// use serde_json::json;
///
/// let old = json!({"type": "integer", "minimum": 1, "maximum": 4});
/// assert_eq!(judge(&old, &json!({"type": "number", "minimum": 0})), Verdict::Widened);
/// let narrowed = judge(&old, &json!({"type": "integer", "minimum": 1, "maximum": 3}));
/// assert_eq!(narrowed, Verdict::Narrowed { counter_example: json!(4) });
/// ```
#[must_use]
pub fn judge(old: &Value, new: &Value) -> Verdict {
    if old == new {
        return Verdict::Same;
    }
    let compile = |schema| contract::options(true).build(schema);
    let (was, is) = match (compile(old), compile(new)) {
        (Ok(was), Ok(is)) => (was, is),
        (Err(_), _) => return Verdict::Unknown { reason: "the old schema does not compile".to_owned() },
        (_, Err(_)) => return Verdict::Unknown { reason: "the new schema does not compile".to_owned() },
    };
    let schemas = Schemas::new(old, new);
    let (before, after) = (Node::new(Side::Old, old), Node::new(Side::New, new));
    let plain = is_plain(old, true) && is_plain(new, true);
    if plain && schemas.same(before, after) {
        return Verdict::Same;
    }
    let refused = |payload: &Value| was.is_valid(payload) && !is.is_valid(payload);
    if let Some(counter_example) = Candidates::new(&schemas).smallest(before, Some(after), refused) {
        return Verdict::Narrowed { counter_example };
    }
    if !plain {
        return Verdict::Unknown { reason: "`$id` or `$dynamicRef` moves what references mean".to_owned() };
    }
    match Prover::new(&schemas).contains(&[before], after) {
        Ok(()) => Verdict::Widened,
        Err(reason) => Verdict::Unknown { reason },
    }
}

/// A payload that a schema takes and `also` agrees to; nothing when none was found.
pub(crate) fn example(schema: &Value, also: impl Fn(&Value) -> bool) -> Option<Value> {
    let validator = contract::options(true).build(schema).ok()?;
    let schemas = Schemas::new(schema, schema);
    let root = Node::new(Side::Old, schema);
    Candidates::new(&schemas).typical(root, |payload| validator.is_valid(payload) && also(payload))
}

/// The smallest of the judge's payloads that a schema takes and `refuses` says no to.
pub(crate) fn refused_by(schema: &Value, refuses: impl Fn(&Value) -> bool) -> Option<Value> {
    let validator = contract::options(true).build(schema).ok()?;
    let schemas = Schemas::new(schema, schema);
    let root = Node::new(Side::Old, schema);
    Candidates::new(&schemas).smallest(root, None, |payload| validator.is_valid(payload) && refuses(payload))
}

/// All the payloads that the judge would make for a schema, whether it takes them or not.
#[cfg(test)]
pub(crate) fn candidates_of(schema: &Value) -> Vec<Value> {
    let schemas = Schemas::new(schema, schema);
    Candidates::new(&schemas).all(Node::new(Side::Old, schema))
}

/// What the proof says by itself, without the search for a counter-example that would hide its lie.
#[cfg(test)]
pub(crate) fn proves(old: &Value, new: &Value) -> bool {
    let schemas = Schemas::new(old, new);
    let (before, after) = (Node::new(Side::Old, old), Node::new(Side::New, new));
    is_plain(old, true) && is_plain(new, true) && Prover::new(&schemas).contains(&[before], after).is_ok()
}
