//! The packed move log: records of 4 to 7 bytes, the newest first. Nothing else knows the format.
//!
//! A record is two bytes, big-endian, and then the milliseconds since the ply before (or the start), big-endian:
//!
//! | bits | meaning |
//! |---|---|
//! | 15..14 | bytes of the milliseconds, less two |
//! | 13 | the computer made the move |
//! | 12..0 | from-square * 81 + to-square |
//!
//! Two bytes of milliseconds last for a minute, three for four hours, four for 49 days.

use hasami_rules::{Move, Square};

/// One move as it is stored.
#[derive(Debug, Clone, Copy, PartialEq, Eq)]
pub struct Record {
    /// The move.
    pub mv: Move,
    /// Whether the computer made it for the seat.
    pub by_cpu: bool,
    /// Milliseconds since the ply before, or since the start.
    pub elapsed_ms: u64,
}

/// A log that is none.
#[derive(Debug, Clone, Copy, PartialEq, Eq, thiserror::Error)]
#[error("not a move log")]
pub struct UnpackError;

const BY_CPU: u16 = 1 << 13;
const MAX_ELAPSED: u64 = (1 << 40) - 1;

/// Writes a record.
#[must_use]
pub fn pack(record: Record) -> Vec<u8> {
    // 34 years are enough for one move.
    let elapsed = record.elapsed_ms.min(MAX_ELAPSED);
    let time = elapsed.to_be_bytes();
    let skipped = time.iter().position(|b| *b != 0).unwrap_or(time.len()).clamp(3, 6);
    let time = &time[skipped..];
    let squares = u16::from(record.mv.from.index()) * 81 + u16::from(record.mv.to.index());
    let length = u16::try_from(time.len() - 2).unwrap_or(3) << 14;
    let head = length | if record.by_cpu { BY_CPU } else { 0 } | squares;
    let mut bytes = Vec::with_capacity(2 + time.len());
    bytes.extend(head.to_be_bytes());
    bytes.extend(time);
    bytes
}

/// Reads a log; the records come in the order of play.
///
/// # Errors
/// The bytes are no log.
pub fn unpack(mut log: &[u8]) -> Result<Vec<Record>, UnpackError> {
    // With room for the ply that is about to be added.
    let mut records = Vec::with_capacity(log.len() / 4 + 1);
    while let Some((head, rest)) = log.split_first_chunk::<2>() {
        let head = u16::from_be_bytes(*head);
        let (time, rest) = rest.split_at_checked(2 + usize::from(head >> 14)).ok_or(UnpackError)?;
        let elapsed_ms = time.iter().fold(0, |ms, byte| ms << 8 | u64::from(*byte));
        let squares = head & (BY_CPU - 1);
        let square = |index: u16| u8::try_from(index).ok().and_then(Square::from_index).ok_or(UnpackError);
        let mv = Move::new(square(squares / 81)?, square(squares % 81)?);
        records.push(Record { mv, by_cpu: head & BY_CPU != 0, elapsed_ms });
        log = rest;
    }
    if log.is_empty() {
        records.reverse();
        Ok(records)
    } else {
        Err(UnpackError)
    }
}

#[cfg(test)]
mod tests {
    use proptest::prelude::*;

    use super::*;

    fn records() -> impl Strategy<Value = Record> {
        let elapsed = prop_oneof![0..1u64 << 16, 0..1u64 << 24, 0..1u64 << 32, 0..=MAX_ELAPSED];
        (0..81u8, 0..81u8, any::<bool>(), elapsed).prop_map(|(from, to, by_cpu, elapsed_ms)| Record {
            mv: Move::new(Square::from_index(from).unwrap(), Square::from_index(to).unwrap()),
            by_cpu,
            elapsed_ms,
        })
    }

    proptest! {
        #[test]
        fn what_is_packed_is_unpacked(records in prop::collection::vec(records(), 0..40)) {
            let log = records.iter().fold(Vec::new(), |log, r| [pack(*r), log].concat());
            prop_assert_eq!(unpack(&log), Ok(records));
        }

        #[test]
        fn no_bytes_are_too_odd(log in prop::collection::vec(any::<u8>(), 0..60)) {
            if let Ok(records) = unpack(&log) {
                prop_assert!(records.len() * 4 <= log.len());
            }
        }
    }

    #[test]
    fn the_stored_form_stays() {
        let record = |text: &str, by_cpu, elapsed_ms| Record { mv: text.parse().unwrap(), by_cpu, elapsed_ms };
        // e1 is 4 and e5 is 40: 4 * 81 + 40 = 0x016c.
        assert_eq!(pack(record("e1e5", false, 1500)), [0x01, 0x6c, 0x05, 0xdc]);
        assert_eq!(pack(record("e1e5", true, 0)), [0x21, 0x6c, 0, 0]);
        assert_eq!(pack(record("e1e5", false, 65_536)), [0x41, 0x6c, 1, 0, 0]);
        assert_eq!(pack(record("i9i8", false, 1 << 24)), [0x99, 0x97, 1, 0, 0, 0]);
        assert_eq!(pack(record("a1a2", false, u64::MAX)), [0xc0, 0x09, 0xff, 0xff, 0xff, 0xff, 0xff]);
        assert_eq!(unpack(&[0x01]), Err(UnpackError));
        assert_eq!(unpack(&[0x01, 0x6c, 0x05]), Err(UnpackError));
        // 81 * 81 is beyond the last square.
        assert_eq!(unpack(&[0x19, 0xa1, 0, 0]), Err(UnpackError));
    }
}
