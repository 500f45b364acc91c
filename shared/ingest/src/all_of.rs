//! Several gates as one.

use std::sync::Arc;

use async_trait::async_trait;
use futures::future::try_join_all;

use crate::{Admission, Claims, Gate, GateError, GatedEvent, JudgedBy};

/// Lets in what every one of these gates lets in; they are asked in order, and the first refusal is
/// the answer.
pub struct AllOf(pub Vec<Arc<dyn Gate>>);

#[async_trait]
impl Gate for AllOf {
    async fn admit(&self, claims: &Claims, event: &GatedEvent<'_>) -> Result<Admission, GateError> {
        for gate in &self.0 {
            match gate.admit(claims, event).await? {
                Admission::Admitted => {}
                refused @ Admission::Refused(_) => return Ok(refused),
            }
        }
        Ok(Admission::Admitted)
    }

    /// The finest of theirs.
    fn judged_by(&self) -> JudgedBy {
        self.0.iter().map(|gate| gate.judged_by()).max().unwrap_or(JudgedBy::Token)
    }

    async fn for_request(&self, claims: &Claims) -> Result<Option<Box<dyn Gate>>, GateError> {
        let own = try_join_all(self.0.iter().map(|gate| gate.for_request(claims))).await?;
        let gates = self.0.iter().zip(own).map(|(gate, own)| own.map_or_else(|| Arc::clone(gate), Arc::from));
        Ok(Some(Box::new(Self(gates.collect()))))
    }
}
