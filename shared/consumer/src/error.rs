//! What can go wrong beside deliveries, which answer for themselves.

/// Every offender of a consumer's definition.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
#[error("the consumer is not sound:\n- {}", .0.join("\n- "))]
pub struct DefineError(pub(crate) Vec<String>);

impl DefineError {
    /// The offenders, each one line.
    #[must_use]
    pub fn offenders(&self) -> &[String] {
        &self.0
    }
}

/// Why a drain pass did not run.
#[derive(Debug, Clone, PartialEq, Eq, thiserror::Error)]
pub enum DrainError {
    /// This consumer is in another pass.
    #[error("another drain pass of this consumer is running")]
    Busy,
}
