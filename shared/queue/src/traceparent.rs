//! Trace context: the one value of a W3C `traceparent` that may travel with a message.
//!
//! What is carried is written anew from what was understood, so that a hostile header is either a
//! sound value or nothing: it can't cost an event its message.

use std::fmt;

/// A sound trace context, version 00 of <https://www.w3.org/TR/trace-context/>.
#[derive(Debug, Clone, PartialEq, Eq)]
pub struct Traceparent {
    trace_id: String,
    parent_id: String,
    flags: u8,
}

impl Traceparent {
    /// Reads a `traceparent` value, as a header or a message attribute has it. A later version is
    /// read as version 00, as the specification asks.
    #[must_use]
    pub fn parse(value: &str) -> Option<Self> {
        let mut parts = value.split('-');
        let (version, trace_id, parent_id, flags) =
            (parts.next()?, parts.next()?, parts.next()?, parts.next()?);
        if !is_hex(version, 2) || version == "ff" || (version == "00" && parts.next().is_some()) {
            return None;
        }
        let known = if is_hex(flags, 2) { u8::from_str_radix(flags, 16).ok()? } else { return None };
        // A later version's flags mean what we know of them, and no more.
        Self::of(trace_id, parent_id, if version == "00" { known } else { known & 1 })
    }

    /// Reads an `X-Amzn-Trace-Id` value, `Root=1-<8 hex>-<24 hex>;Parent=<16 hex>;Sampled=1`. Without a
    /// parent it names no place in the trace, and is none.
    #[must_use]
    pub fn parse_xray(value: &str) -> Option<Self> {
        let (mut root, mut parent, mut sampled) = (None, None, false);
        for part in value.split(';') {
            match part.trim().split_once('=')? {
                ("Root", id) => root = Some(id),
                ("Parent", id) => parent = Some(id),
                ("Sampled", flag) => sampled = flag == "1",
                _ => {}
            }
        }
        let (epoch, rest) = root?.strip_prefix("1-")?.split_once('-')?;
        let sound = is_hex(epoch, 8) && is_hex(rest, 24);
        sound.then(|| Self::of(&format!("{epoch}{rest}"), parent?, u8::from(sampled)))?
    }

    fn of(trace_id: &str, parent_id: &str, flags: u8) -> Option<Self> {
        let sound = |id: &str, digits| is_hex(id, digits) && id.bytes().any(|byte| byte != b'0');
        (sound(trace_id, 32) && sound(parent_id, 16)).then(|| Self {
            trace_id: trace_id.to_owned(),
            parent_id: parent_id.to_owned(),
            flags,
        })
    }

    /// The trace's id, 32 hex digits: what log lines carry.
    #[must_use]
    pub fn trace_id(&self) -> &str {
        &self.trace_id
    }
}

impl fmt::Display for Traceparent {
    fn fmt(&self, f: &mut fmt::Formatter<'_>) -> fmt::Result {
        write!(f, "00-{}-{}-{:02x}", self.trace_id, self.parent_id, self.flags)
    }
}

/// Lower case only: the specification allows no other.
fn is_hex(text: &str, digits: usize) -> bool {
    text.len() == digits && text.bytes().all(|byte| byte.is_ascii_digit() || (b'a'..=b'f').contains(&byte))
}

#[cfg(test)]
mod tests {
    use super::*;

    const SOUND: &str = "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01";

    #[test]
    fn a_sound_value_stays_as_it_is_and_a_later_version_is_read_as_the_first() {
        for value in [SOUND, "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-ff"] {
            assert_eq!(Traceparent::parse(value).unwrap().to_string(), value);
        }
        let later = "cc-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-03-what-the-future-holds";
        assert_eq!(Traceparent::parse(later).unwrap().to_string(), SOUND);
    }

    #[test]
    fn what_the_specification_forbids_is_none() {
        for value in [
            "",
            "00",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01-more",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-1",
            "00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-0g",
            "00-0AF7651916CD43DD8448EB211C80319C-b7ad6b7169203331-01",
            "00-00000000000000000000000000000000-b7ad6b7169203331-01",
            "00-0af7651916cd43dd8448eb211c80319c-0000000000000000-01",
            "ff-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "0-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            " 00-0af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
            "00-\u{FFFF}af7651916cd43dd8448eb211c80319c-b7ad6b7169203331-01",
        ] {
            assert_eq!(Traceparent::parse(value), None, "{value}");
        }
    }

    #[test]
    fn an_x_ray_header_with_a_parent_is_the_same_trace() {
        let header = "Self=1-1-2;Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8;Sampled=1";
        let expected = "00-5759e988bd862e3fe1be46a994272793-53995c3f42cd8ad8-01";
        assert_eq!(Traceparent::parse_xray(header).unwrap().to_string(), expected);
        for value in [
            "",
            "Root=1-5759e988-bd862e3fe1be46a994272793;Sampled=1",
            "Root=2-5759e988-bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8",
            "Root=1-5759e9-88bd862e3fe1be46a994272793;Parent=53995c3f42cd8ad8",
            "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=53995C3F42CD8AD8",
            "Root=1-5759e988-bd862e3fe1be46a994272793;Parent=0000000000000000",
            "Root",
        ] {
            assert_eq!(Traceparent::parse_xray(value), None, "{value}");
        }
    }
}
