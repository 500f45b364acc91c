//! Whether a shape has any value at all. "Yes" is a proof; "no" only means that none was found.

use super::array::prefix;
use super::number;
use super::object::required;
use super::prove::Prover;
use super::scalar::{least, most};
use super::shape::{Kind, Shape};

impl<'a> Prover<'_, 'a> {
    pub(super) fn is_empty(&mut self, shape: &Shape<'a>) -> bool {
        if let Some(listed) = shape.listed() {
            // The validator decides, but not on numbers whose equality it rounds.
            let possible =
                |value| number::has_huge_number(value) || self.schemas.all_accept(&shape.parts, value);
            return !listed.iter().any(possible);
        }
        let crossed = |low, high| matches!((most(shape, low), least(shape, high)), (Some(low), Some(high)) if low > high);
        let empty = match shape.kind {
            Kind::Null | Kind::Boolean => false,
            Kind::Number => number::is_empty(shape),
            Kind::String => crossed("minLength", "maxLength"),
            Kind::Array => {
                let always = most(shape, "minItems").unwrap_or(0);
                crossed("minItems", "maxItems")
                    || (0..always.min(prefix(&shape.parts) + 1)).any(|index| self.no_item(shape, index))
            }
            Kind::Object => {
                let required = required(shape);
                crossed("minProperties", "maxProperties")
                    || least(shape, "maxProperties").is_some_and(|most| (required.len() as u64) > most)
                    || required.into_iter().any(|name| self.absent(shape, name))
            }
        };
        empty || self.refuses_itself(shape)
    }

    /// A part that is refused by `not` and satisfied by the rest.
    fn refuses_itself(&mut self, shape: &Shape<'a>) -> bool {
        // Once is enough: a refusal inside the proof about a refusal leads nowhere quickly.
        if std::mem::replace(&mut self.denying, true) {
            return false;
        }
        let refused: Vec<_> = shape.parts.iter().filter_map(|part| part.child("not")).collect();
        let empty = refused.into_iter().any(|refused| self.satisfies(shape, refused).is_ok());
        self.denying = false;
        empty
    }
}
