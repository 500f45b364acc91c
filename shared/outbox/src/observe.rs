//! Subscriptions: each ends when its handle is dropped; nothing is retained for later ones.

use std::sync::{Arc, Mutex, PoisonError, Weak};

type Hook<T> = Arc<dyn Fn(&T) + Send + Sync>;
type Hooks<T> = Mutex<Vec<(u64, Hook<T>)>>;

/// Keeps a hook alive; dropping it ends the subscription.
#[must_use = "a dropped subscription has ended"]
pub struct Subscription {
    end: Option<Box<dyn FnOnce() + Send>>,
}

impl Drop for Subscription {
    fn drop(&mut self) {
        if let Some(end) = self.end.take() {
            end();
        }
    }
}

impl std::fmt::Debug for Subscription {
    fn fmt(&self, f: &mut std::fmt::Formatter<'_>) -> std::fmt::Result {
        f.write_str("Subscription")
    }
}

/// Whoever wants to hear of `T`.
pub(crate) struct Subscribers<T> {
    hooks: Arc<Hooks<T>>,
    next_id: Mutex<u64>,
}

impl<T: 'static> Subscribers<T> {
    pub(crate) fn new() -> Self {
        Self { hooks: Arc::new(Mutex::new(Vec::new())), next_id: Mutex::new(0) }
    }

    pub(crate) fn add(&self, hook: impl Fn(&T) + Send + Sync + 'static) -> Subscription {
        let mut next_id = self.next_id.lock().unwrap_or_else(PoisonError::into_inner);
        let id = *next_id;
        *next_id += 1;
        self.hooks.lock().unwrap_or_else(PoisonError::into_inner).push((id, Arc::new(hook)));
        let hooks: Weak<Hooks<T>> = Arc::downgrade(&self.hooks);
        let end = move || {
            if let Some(hooks) = hooks.upgrade() {
                let mut kept = hooks.lock().unwrap_or_else(PoisonError::into_inner);
                let ended: Vec<_> = kept.extract_if(.., |(other, _)| *other == id).collect();
                drop(kept);
                // A hook may own a subscription of the same list.
                drop(ended);
            }
        };
        Subscription { end: Some(Box::new(end)) }
    }

    /// Tells everyone; whether there was anyone. Hooks run without the lock, so they may subscribe
    /// and unsubscribe.
    pub(crate) fn tell(&self, news: &T) -> bool {
        let hooks: Vec<Hook<T>> = {
            let hooks = self.hooks.lock().unwrap_or_else(PoisonError::into_inner);
            hooks.iter().map(|(_, hook)| Arc::clone(hook)).collect()
        };
        hooks.iter().for_each(|hook| hook(news));
        !hooks.is_empty()
    }
}
