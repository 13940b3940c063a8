use crate::position::Position;

/// Which positions stood, for counting repetitions.
///
/// A hash table of chains: `latest` leads from the low bits of the hash to the last ply in the chain, and each
/// standing to the one before it. It never grows or moves, and the longest game fills it only twice over. Keys that
/// were made to fall into one chain cost a comparison of hashes for each ply of it, a few milliseconds a game.
#[derive(Clone, Debug)]
pub(crate) struct Record {
    /// By ply, from the start of the game.
    standings: Vec<Standing>,
    latest: Box<[u16; CHAINS]>,
    /// The first ply that can still repeat: captured pieces never return.
    since: u16,
}

#[derive(Clone, Debug)]
struct Standing {
    position: Position,
    /// How often it has stood by now.
    times: u8,
    /// The ply before in the same chain, `NONE` at its beginning.
    previous: u16,
}

const CHAINS: usize = 1024;
const NONE: u16 = u16::MAX;

impl Record {
    /// The record at the start of a game that has room for this many plies.
    pub(crate) fn new(start: &Position, plies: usize) -> Self {
        let mut record = Self { standings: Vec::with_capacity(plies + 1), latest: Box::new([NONE; CHAINS]), since: 0 };
        record.add(start);
        record
    }

    /// The position after the next ply.
    pub(crate) fn add(&mut self, position: &Position) {
        let latest = &mut self.latest[position.hash() as usize % CHAINS];
        let mut times = 1;
        let mut ply = *latest;
        // The chain runs back in time, and what stood before the last capture is out of reach.
        while ply != NONE && ply >= self.since {
            let standing = &self.standings[usize::from(ply)];
            // Equality looks at the board too: a mere collision of hashes must not count.
            if standing.position == *position {
                times += standing.times;
                break;
            }
            ply = standing.previous;
        }
        self.standings.push(Standing { position: *position, times, previous: *latest });
        *latest = (self.standings.len() - 1) as u16;
    }

    /// Leaves everything behind that stood up to now.
    pub(crate) fn forget(&mut self) {
        self.since = self.standings.len() as u16;
    }

    /// How often the latest position has stood by now.
    pub(crate) fn times(&self) -> u8 {
        self.standings.last().map_or(0, |latest| latest.times)
    }

    /// After which plies a position stood.
    pub(crate) fn stood_at(&self, position: &Position) -> Vec<u16> {
        (0..).zip(&self.standings).filter(|(_, standing)| standing.position == *position).map(|(ply, _)| ply).collect()
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    /// Positions of the start's own chain: some that share its hash, and some that share only its low bits.
    fn colliding() -> Vec<Position> {
        let hash = Position::START.hash();
        let others = Position::START.legal_moves().enumerate();
        others
            .map(|(number, mv)| {
                let (position, _) = Position::START.play_unchecked(mv);
                match number % 2 {
                    0 => position.with_hash(hash),
                    _ => position.with_hash(hash ^ (number as u64) << 32),
                }
            })
            .collect()
    }

    #[test]
    fn collisions_do_not_count() {
        let mut record = Record::new(&Position::START, 0);
        for round in 1..=3 {
            for position in colliding() {
                record.add(&position);
                assert_eq!(record.times(), round);
            }
        }
        record.add(&Position::START);
        assert_eq!(record.times(), 2);
    }

    #[test]
    fn nothing_before_a_capture_counts() {
        let mut record = Record::new(&Position::START, 0);
        record.add(&Position::START);
        assert_eq!(record.times(), 2);
        record.forget();
        record.add(&Position::START);
        assert_eq!(record.times(), 1);
        record.add(&Position::START);
        assert_eq!(record.times(), 2);
    }
}
