//! The actions the server knows.

/// An SQS action.
#[derive(Debug, Clone, Copy, PartialEq, Eq, Hash)]
#[expect(missing_docs, reason = "each is the SQS action of its name")]
pub enum Action {
    SendMessage,
    SendMessageBatch,
    ReceiveMessage,
    DeleteMessage,
    DeleteMessageBatch,
    ChangeMessageVisibility,
    ChangeMessageVisibilityBatch,
    GetQueueAttributes,
    GetQueueUrl,
}

impl Action {
    const ALL: [Self; 9] = [
        Self::SendMessage,
        Self::SendMessageBatch,
        Self::ReceiveMessage,
        Self::DeleteMessage,
        Self::DeleteMessageBatch,
        Self::ChangeMessageVisibility,
        Self::ChangeMessageVisibilityBatch,
        Self::GetQueueAttributes,
        Self::GetQueueUrl,
    ];

    /// The action of a header `X-Amz-Target`.
    pub(super) fn of_target(target: &str) -> Option<Self> {
        let name = target.strip_prefix("AmazonSQS.")?;
        Self::ALL.into_iter().find(|action| format!("{action:?}") == name)
    }
}
