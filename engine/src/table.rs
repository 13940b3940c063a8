//! The transposition table: what is known of positions that were searched before, by another order of moves or less
//! deeply. It lives for one search, so that nothing is left from one to the next.

use crate::order::Packed;

/// Entries that share a place. A new one takes the place of the least deep.
const WAYS: usize = 4;

/// What a stored value is to the true one.
#[derive(Clone, Copy, PartialEq, Eq, Debug)]
pub enum Bound {
    /// At most this much: no move was better.
    Upper,
    /// At least this much: a move was good enough to stop.
    Lower,
    /// This much.
    Exact,
}

/// What is known of a position.
#[derive(Clone, Copy, Debug)]
pub struct Known {
    /// The best move found, 0 if there was none.
    pub mv: Packed,
    /// From the view of the side to move; a win or loss counts from this position.
    pub value: i32,
    /// How deep the search was.
    pub depth: i32,
    pub bound: Bound,
}

/// Pairs of a key and a packed [`Known`]. Plain numbers, for memory that is zero already costs nothing to make.
pub struct Table {
    buckets: Vec<[u64; 2 * WAYS]>,
    /// The number of buckets less one; the number is a power of two.
    mask: usize,
}

impl Table {
    /// A table that fits a search of this many nodes. Only every few nodes is one stored, and the largest table takes
    /// 16 MiB.
    pub fn new(nodes: u64) -> Self {
        let entries = (nodes / 2).clamp(64, 1 << 20).next_power_of_two() as usize;
        let buckets = entries / WAYS;
        Self { buckets: vec![[0; 2 * WAYS]; buckets], mask: buckets - 1 }
    }

    /// What is known of the position with this key.
    #[inline]
    pub fn get(&self, key: u64) -> Option<Known> {
        let bucket = &self.buckets[key as usize & self.mask];
        let entry = bucket.chunks_exact(2).find(|entry| entry[0] == key && entry[1] != 0)?;
        Some(unpack(entry[1]))
    }

    /// Keeps what was found out.
    #[inline]
    pub fn put(&mut self, key: u64, known: Known) {
        let bucket = &mut self.buckets[key as usize & self.mask];
        let mut place = 0;
        let mut least = i32::MAX;
        for way in 0..WAYS {
            let entry = bucket[2 * way + 1];
            if entry == 0 || bucket[2 * way] == key {
                place = way;
                break;
            }
            let depth = unpack(entry).depth;
            if depth < least {
                (place, least) = (way, depth);
            }
        }
        let mut known = known;
        if bucket[2 * place] == key && known.mv == 0 {
            // A search in which no move was good says nothing about which is best.
            known.mv = unpack(bucket[2 * place + 1]).mv;
        }
        bucket[2 * place] = key;
        bucket[2 * place + 1] = pack(known);
    }
}

/// Bits 0..14 the move, 16..32 the value, 32..40 the depth, 40..42 the bound. Never 0, for the bound is not.
const fn pack(known: Known) -> u64 {
    let bound = match known.bound {
        Bound::Upper => 1,
        Bound::Lower => 2,
        Bound::Exact => 3,
    };
    known.mv as u64 | (known.value as i16 as u16 as u64) << 16 | (known.depth as u8 as u64) << 32 | bound << 40
}

const fn unpack(entry: u64) -> Known {
    let bound = match entry >> 40 {
        1 => Bound::Upper,
        2 => Bound::Lower,
        _ => Bound::Exact,
    };
    Known { mv: entry as u16, value: (entry >> 16) as u16 as i16 as i32, depth: (entry >> 32) as u8 as i32, bound }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn gives_back_what_was_put_in() {
        let mut table = Table::new(1000);
        for (mv, value, depth, bound) in
            [(0, 0, 0, Bound::Upper), (80 << 7 | 79, -29_999, 60, Bound::Lower), (1, 29_999, 1, Bound::Exact)]
        {
            let key = u64::from(mv) << 40 | 5;
            table.put(key, Known { mv, value, depth, bound });
            let known = table.get(key).unwrap();
            assert_eq!((known.mv, known.value, known.depth, known.bound), (mv, value, depth, bound));
        }
        assert!(table.get(6).is_none());
    }

    #[test]
    fn the_deepest_stay() {
        let mut table = Table::new(1);
        let keys: Vec<u64> = (1..=100).map(|number| number << 32).collect();
        for (depth, &key) in (0..).zip(&keys) {
            table.put(key, Known { mv: 1, value: 0, depth, bound: Bound::Exact });
        }
        assert!(keys[97..].iter().all(|&key| table.get(key).is_some()));
        assert!(table.get(keys[0]).is_none());
    }
}
