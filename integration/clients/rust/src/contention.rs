//! Callers, with a client each, take turns at one lock.

use crate::library::{Client, acquire_waiting};
use crate::stage::{LONG, Stage, Stop};
use std::collections::BTreeSet;
use std::sync::Mutex;
use std::sync::atomic::{AtomicBool, AtomicU32, Ordering::SeqCst};
use std::time::Duration;

/// Something done once, by the caller that ends a third of all rounds.
pub type Event<'a> = &'a (dyn Fn() -> Result<(), String> + Sync);

pub struct Contention {
    callers: u32,
    rounds: u32,
    inside: AtomicU32,
    overlaps: AtomicU32,
    done: AtomicU32,
    happened: AtomicBool,
    failures: Mutex<BTreeSet<String>>,
}

impl Contention {
    pub fn new(callers: u32, rounds: u32) -> Contention {
        Contention {
            callers,
            rounds,
            inside: AtomicU32::new(0),
            overlaps: AtomicU32::new(0),
            done: AtomicU32::new(0),
            happened: AtomicBool::new(false),
            failures: Mutex::default(),
        }
    }

    pub fn run(self, s: &mut Stage, event: Event) -> Result<(), Stop> {
        std::thread::scope(|threads| -> Result<(), String> {
            for _ in 0..self.callers {
                let client = s.library.connect(s.at)?;
                let (name, this) = (&s.name, &self);
                threads.spawn(move || this.turns(client.as_ref(), name, event));
            }
            Ok(())
        })?;
        let (done, overlaps) = (self.done.into_inner(), self.overlaps.into_inner());
        s.add("rounds done:", &done.to_string());
        s.add("overlaps:", &overlaps.to_string());
        let failures = self.failures.into_inner().unwrap();
        if done != self.callers * self.rounds || overlaps != 0 || !failures.is_empty() {
            s.faults.push(format!("failed: {failures:?}"));
        }
        Ok(())
    }

    fn turns(&self, client: &dyn Client, name: &str, event: Event) {
        for _ in 0..self.rounds {
            let turn = self.turn(client, name);
            let third = self.done.load(SeqCst) >= self.callers * self.rounds / 3;
            let event = if third && !self.happened.swap(true, SeqCst) {
                event()
            } else {
                Ok(())
            };
            for failure in [turn.err(), event.err()].into_iter().flatten() {
                self.failures.lock().unwrap().insert(failure);
            }
        }
    }

    fn turn(&self, client: &dyn Client, name: &str) -> Result<(), String> {
        let mut lock = client.lock(name, LONG);
        let got = acquire_waiting(lock.as_mut(), Duration::from_secs(30));
        if !got.yes {
            return Err(format!("acquire: {}", got.said));
        }
        if self.inside.fetch_add(1, SeqCst) != 0 {
            self.overlaps.fetch_add(1, SeqCst);
        }
        // Long enough for another caller to come in, if it may.
        std::thread::sleep(Duration::from_millis(1));
        self.inside.fetch_sub(1, SeqCst);
        let left = lock.release();
        if !left.yes {
            return Err(format!("release: {}", left.said));
        }
        self.done.fetch_add(1, SeqCst);
        Ok(())
    }
}
