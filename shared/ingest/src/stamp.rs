//! Stamp: the identity of a stream's events, from the token's claims. One token speaks for a whole
//! request, so each stream's is made once.

use std::collections::BTreeMap;
use std::sync::Arc;

use eventlane_contracts::{IdentityFault, Stream};

use crate::Claims;

/// What a stream's events are stamped with.
type Stamp = Result<Arc<BTreeMap<String, String>>, IdentityFault>;

/// The stamps of one request's streams.
pub(crate) struct Stamps<'a> {
    claims: &'a Claims,
    made: Vec<(&'a str, Stamp)>,
}

impl<'a> Stamps<'a> {
    pub(crate) fn new(claims: &'a Claims) -> Self {
        Self { claims, made: Vec::new() }
    }

    /// The stamp of a stream; all of its fields or none.
    pub(crate) fn of(&mut self, stream: &'a Stream) -> Stamp {
        let name = stream.name().as_str();
        let at = self.made.binary_search_by(|(known, _)| (*known).cmp(name)).unwrap_or_else(|at| {
            let stamp = stream.identity().stamp(self.claims.as_map()).map(Arc::new);
            self.made.insert(at, (name, stamp));
            at
        });
        self.made[at].1.clone()
    }
}
