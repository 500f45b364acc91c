//! How the flush is tuned. Nonsense fails at construction, every offender in one error.

use std::collections::BTreeMap;
use std::time::Duration;

use eventlane_contracts::Registry;
use eventlane_contracts::limits::BATCH_EVENTS;

use crate::backoff::Backoff;
use crate::error::ConfigError;
use crate::options::micros;

/// Events of one batch where nothing else is said.
pub const DEFAULT_BATCH_SIZE: usize = 200;
/// The fallback trigger: appends nudge a pass, so the interval only catches retries.
pub const DEFAULT_INTERVAL: Duration = Duration::from_secs(5);
/// How long a nudged pass waits for more appends to ride with it.
pub const DEFAULT_LINGER: Duration = Duration::from_millis(250);
/// First step of the backoff.
pub const DEFAULT_BACKOFF_BASE: Duration = Duration::from_secs(1);
/// Last step of the backoff.
pub const DEFAULT_BACKOFF_CEILING: Duration = Duration::from_secs(300);

/// How long a pass waits for the token source.
pub const DEFAULT_TOKEN_TIMEOUT: Duration = Duration::from_secs(30);

/// Tuning of the lane. What is `None` takes the default.
#[derive(Debug, Clone, Default, PartialEq, Eq)]
pub struct FlushOptions {
    /// Events of one batch, from 1; above 1,000 it is clamped. Default 200.
    pub batch_size: Option<usize>,
    /// Time between passes of the driver when nothing else triggers one. Default 5 s.
    pub interval: Option<Duration>,
    /// Wait of a nudged pass for more appends; 0 is allowed. Default 250 ms.
    pub linger: Option<Duration>,
    /// Wait of a pass for the token source, after which it ends as one without a token. Default 30 s.
    pub token_timeout: Option<Duration>,
    /// Backoff of the lane, and of deferred rows. Default 1 s to 300 s.
    pub backoff: BackoffTuning,
    /// What single streams have of their own.
    pub streams: BTreeMap<String, StreamTuning>,
}

/// Tuning of one stream.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct StreamTuning {
    /// Places this stream may take in one batch, from 1: fairness towards quieter streams.
    pub batch_size: Option<usize>,
    /// Backoff of its deferred rows; what is unset is inherited from the lane.
    pub backoff: BackoffTuning,
}

/// A backoff's pair; judged only when both numbers are known.
#[derive(Debug, Clone, Copy, Default, PartialEq, Eq)]
pub struct BackoffTuning {
    /// First step.
    pub base: Option<Duration>,
    /// Last step.
    pub ceiling: Option<Duration>,
}

/// Tuning that was judged sound.
#[derive(Debug, Clone)]
pub(crate) struct Tuning {
    pub(crate) batch_size: usize,
    pub(crate) interval: Duration,
    pub(crate) linger: Duration,
    pub(crate) token_timeout: Duration,
    pub(crate) lane: Backoff,
    pub(crate) caps: BTreeMap<String, usize>,
    pub(crate) streams: BTreeMap<String, Backoff>,
}

impl Tuning {
    pub(crate) fn judge(options: &FlushOptions, registry: &Registry) -> Result<Self, ConfigError> {
        let mut faults = Vec::new();
        let batch_size = options.batch_size.unwrap_or(DEFAULT_BATCH_SIZE);
        if batch_size == 0 {
            faults.push("batch_size 0 (set for the lane) would never send anything".to_owned());
        }
        let interval = options.interval.unwrap_or(DEFAULT_INTERVAL);
        if interval.is_zero() {
            faults.push("interval 0 (set for the lane) would never rest".to_owned());
        }
        let token_timeout = options.token_timeout.unwrap_or(DEFAULT_TOKEN_TIMEOUT);
        if token_timeout.is_zero() {
            faults.push("token_timeout 0 (set for the lane) would never get a token".to_owned());
        }
        let lane_base = Number::lane(options.backoff.base, DEFAULT_BACKOFF_BASE);
        let lane_ceiling = Number::lane(options.backoff.ceiling, DEFAULT_BACKOFF_CEILING);
        let lane = resolve("backoff", &lane_base, &lane_ceiling, &mut faults);
        let (mut caps, mut streams) = (BTreeMap::new(), BTreeMap::new());
        for (name, tuning) in &options.streams {
            if registry.stream(name).is_none() {
                let known: Vec<&str> = registry.streams().map(|stream| stream.name().as_str()).collect();
                faults.push(format!("stream {name:?} is tuned but unknown; known are {}", known.join(", ")));
            }
            if let Some(cap) = tuning.batch_size {
                if cap == 0 {
                    faults.push(format!("batch_size 0 (set for stream {name}) would hold its rows for ever"));
                }
                caps.insert(name.clone(), cap.min(BATCH_EVENTS));
            }
            if tuning.backoff != BackoffTuning::default() {
                let base = lane_base.overridden(tuning.backoff.base, name);
                let ceiling = lane_ceiling.overridden(tuning.backoff.ceiling, name);
                let what = format!("backoff of stream {name}");
                streams.insert(name.clone(), resolve(&what, &base, &ceiling, &mut faults));
            }
        }
        if !faults.is_empty() {
            return Err(ConfigError(faults));
        }
        Ok(Self {
            batch_size: batch_size.min(BATCH_EVENTS),
            interval,
            linger: options.linger.unwrap_or(DEFAULT_LINGER),
            token_timeout,
            lane,
            caps,
            streams,
        })
    }

    /// Microseconds that no row of any stream is ever held for longer than.
    pub(crate) fn longest_ceiling_us(&self) -> i64 {
        self.streams.values().map(|backoff| backoff.ceiling_us).fold(self.lane.ceiling_us, i64::max)
    }

    pub(crate) fn backoff(&self, stream: &str) -> Backoff {
        self.streams.get(stream).copied().unwrap_or(self.lane)
    }
}

/// A duration and where it came from.
#[derive(Clone)]
struct Number {
    value: Duration,
    origin: String,
}

impl Number {
    fn lane(set: Option<Duration>, default: Duration) -> Self {
        let origin = if set.is_some() { "set for the lane" } else { "the default" };
        Self { value: set.unwrap_or(default), origin: origin.to_owned() }
    }

    fn overridden(&self, set: Option<Duration>, stream: &str) -> Self {
        set.map_or_else(|| self.clone(), |value| Self { value, origin: format!("set for stream {stream}") })
    }
}

fn resolve(what: &str, base: &Number, ceiling: &Number, faults: &mut Vec<String>) -> Backoff {
    if base.value < Duration::from_micros(1) {
        faults.push(format!("{what}: base 0 ({}) would never wait", base.origin));
    } else if base.value > ceiling.value {
        faults.push(format!(
            "{what}: base {:?} ({}) is above ceiling {:?} ({})",
            base.value, base.origin, ceiling.value, ceiling.origin
        ));
    }
    Backoff { base_us: micros(base.value), ceiling_us: micros(ceiling.value) }
}
