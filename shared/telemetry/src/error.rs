//! What can be wrong with a program's telemetry.

/// Metrics can't be set up.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
pub enum MetricsError {
    /// CloudWatch would not take the namespace.
    #[error(
        "a metrics namespace is 1 to 255 of the characters A-Z a-z 0-9 . - _ / # : and doesn't begin with AWS/"
    )]
    Namespace,
}
