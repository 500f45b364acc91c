//! What an append stamps: the event id and the time.

use std::sync::{Arc, Mutex, PoisonError};

use eventlane_contracts::Clock;
use uuid::Uuid;

/// Stamps ids (`UUIDv7`: sortable by time, unique without asking anybody).
pub(crate) struct Stamper {
    clock: Arc<dyn Clock>,
    seeded: Option<Mutex<fastrand::Rng>>,
}

impl Stamper {
    pub(crate) fn new(clock: Arc<dyn Clock>, seed: Option<u64>) -> Self {
        Self { clock, seeded: seed.map(|seed| Mutex::new(fastrand::Rng::with_seed(seed))) }
    }

    /// The time now, never before 1970: the wire has no sign.
    pub(crate) fn now_us(&self) -> i64 {
        self.clock.now_us().max(0)
    }

    pub(crate) fn event_id(&self, now_us: i64) -> String {
        let millis = u64::try_from(now_us / 1000).unwrap_or(0);
        uuid::Builder::from_unix_timestamp_millis(millis, &self.random()).into_uuid().hyphenated().to_string()
    }

    /// Ids are the dedupe key of a whole fleet, so they take the operating system's randomness; a
    /// generator seeded from the time since boot would repeat itself on identical devices.
    fn random(&self) -> [u8; 10] {
        let mut bytes = [0; 10];
        match &self.seeded {
            Some(rng) => rng.lock().unwrap_or_else(PoisonError::into_inner).fill(&mut bytes),
            None => bytes.copy_from_slice(&entropy()),
        }
        bytes
    }
}

/// Ten random bytes: a v4 UUID with the six that hold its version and variant left out.
fn entropy() -> [u8; 10] {
    let b = Uuid::new_v4().into_bytes();
    [b[0], b[1], b[2], b[3], b[4], b[5], b[10], b[11], b[12], b[13]]
}

/// A generator for jitter: seeded in tests, from the operating system otherwise.
pub(crate) fn jitter(seed: Option<u64>) -> fastrand::Rng {
    let b = entropy();
    let random = u64::from_le_bytes([b[0], b[1], b[2], b[3], b[4], b[5], b[6], b[7]]);
    fastrand::Rng::with_seed(seed.unwrap_or(random))
}
