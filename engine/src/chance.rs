//! Numbers that look random and are the same each time.

/// A splitmix64 generator.
pub struct Chance(u64);

impl Chance {
    /// The generator that begins here.
    pub const fn new(seed: u64) -> Self {
        Self(seed)
    }

    /// The next 64 bits.
    pub const fn next(&mut self) -> u64 {
        self.0 = self.0.wrapping_add(0x9e37_79b9_7f4a_7c15);
        let mut z = self.0;
        z = (z ^ (z >> 30)).wrapping_mul(0xbf58_476d_1ce4_e5b9);
        z = (z ^ (z >> 27)).wrapping_mul(0x94d0_49bb_1331_11eb);
        z ^ (z >> 31)
    }

    /// A number below `count`, which is not 0.
    pub const fn below(&mut self, count: usize) -> usize {
        (self.next() % count as u64) as usize
    }
}
