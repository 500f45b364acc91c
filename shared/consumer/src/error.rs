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

/// Why a pass did not run.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum DrainError {
    /// This consumer is in another pass.
    #[error("another drain pass of this consumer is running")]
    Busy,
    /// This consumer's runner was started and does the same work.
    #[error("this consumer's runner is started; a pass beside it would compete with it")]
    Running,
    /// This consumer was stopped, which is for good.
    #[error("this consumer was stopped; define another")]
    Stopped,
}

/// Why a runner did not start.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum StartError {
    /// This consumer is in a drain pass.
    #[error("a drain pass of this consumer is running")]
    Draining,
    /// This consumer was stopped, which is for good.
    #[error("this consumer was stopped; define another")]
    Stopped,
    /// There is no tokio runtime to run in.
    #[error("the runner has to be started inside a tokio runtime")]
    NoRuntime,
}
