//! Shows how far a long work has come: a bar on a terminal, a line of the log now and then elsewhere.

use std::io::{self, IsTerminal as _, Write as _};
use std::sync::Arc;
use std::sync::atomic::Ordering;
use std::time::{Duration, Instant};

use indicatif::{ProgressBar, ProgressStyle};
use tokio::sync::mpsc;
use tokio::time::{MissedTickBehavior, interval};

use hasami_ladder::ladder::verify::{Mismatch, Progress};

/// How often the bar moves.
const TICK: Duration = Duration::from_millis(200);
/// How often a line is logged where there is no bar.
const LINE: Duration = Duration::from_secs(5);

/// A bar or lines.
pub struct Shown {
    what: &'static str,
    /// What is counted.
    unit: &'static str,
    progress: Arc<Progress>,
    bar: Option<ProgressBar>,
    logged: Instant,
}

impl Shown {
    /// Begins to show. Rows are counted.
    pub fn new(what: &'static str, progress: Arc<Progress>) -> Self {
        let bar = io::stderr().is_terminal().then(|| ProgressBar::new(0).with_message(what));
        Self { what, unit: "", progress, bar, logged: Instant::now() }.counting("rows")
    }

    /// Something else is counted.
    pub fn counting(self, unit: &'static str) -> Self {
        if let Some(bar) = &self.bar {
            let template =
                format!("{{msg}} {{wide_bar}} {{human_pos}}/{{human_len}} {unit}, {{per_sec}}, {{eta}} left");
            let style = ProgressStyle::with_template(&template);
            bar.set_style(style.unwrap_or_else(|_| ProgressStyle::default_bar()));
        }
        Self { unit, ..self }
    }

    fn show(&mut self) {
        let [done, total] = [&self.progress.done, &self.progress.total].map(|n| n.load(Ordering::Relaxed));
        match &self.bar {
            Some(bar) => {
                bar.set_length(total.try_into().unwrap_or_default());
                bar.set_position(done.try_into().unwrap_or_default());
            }
            None if self.logged.elapsed() >= LINE => {
                self.logged = Instant::now();
                tracing::info!("{}: {done} of {total} {}", self.what, self.unit);
            }
            None => {}
        }
    }

    /// Prints a line on standard output, the bar being out of its way.
    fn print(&self, line: &dyn std::fmt::Display) -> io::Result<()> {
        let print = || writeln!(io::stdout(), "{line}");
        match &self.bar {
            Some(bar) => bar.suspend(print),
            None => print(),
        }
    }

    /// Shows how far `work` is until it has ended.
    ///
    /// # Errors
    /// Its own.
    pub async fn during<T>(mut self, work: impl Future<Output = T>) -> T {
        let mut ticks = ticks();
        tokio::pin!(work);
        loop {
            tokio::select! {
                done = &mut work => {
                    self.clear();
                    return done;
                }
                _ = ticks.tick() => self.show(),
            }
        }
    }

    /// Prints mismatches as they come, until there are no more; how many it were.
    ///
    /// # Errors
    /// Standard output is closed.
    pub async fn print_all(mut self, mut mismatches: mpsc::Receiver<Mismatch>) -> io::Result<u64> {
        let mut count = 0;
        let mut ticks = ticks();
        loop {
            tokio::select! {
                mismatch = mismatches.recv() => match mismatch {
                    Some(mismatch) => {
                        self.print(&mismatch)?;
                        count += 1;
                    }
                    None => {
                        self.clear();
                        return Ok(count);
                    }
                },
                _ = ticks.tick() => self.show(),
            }
        }
    }

    fn clear(&mut self) {
        self.show();
        if let Some(bar) = &self.bar {
            bar.finish_and_clear();
        }
    }
}

fn ticks() -> tokio::time::Interval {
    let mut ticks = interval(TICK);
    ticks.set_missed_tick_behavior(MissedTickBehavior::Delay);
    ticks
}
