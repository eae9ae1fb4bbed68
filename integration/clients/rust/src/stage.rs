//! One run of a scenario against one server: its lock name, its callers, and
//! what they saw in words that are the same in every run.

use crate::control::Control;
use crate::library::{Answer, Client, Endpoint, Library, Lock, NotOffered};
use std::collections::HashMap;
use std::time::{Duration, Instant, SystemTime};

pub const LONG: Duration = Duration::from_secs(10);
pub const SHORT: Duration = Duration::from_millis(300);

/// The first TTL of a lock that is extended: a slow machine must do that within it.
pub const EXTENDED: Duration = Duration::from_millis(1500);

/// A server looks at its clock once per turn of its loop.
pub const CLOCK_STEP: Duration = Duration::from_millis(10);

/// Why a scenario ended early.
pub enum Stop {
    NotOffered(&'static str),
    Broke(String),
}

impl From<NotOffered> for Stop {
    fn from(n: NotOffered) -> Stop {
        Stop::NotOffered(n.0)
    }
}

impl From<String> for Stop {
    fn from(s: String) -> Stop {
        Stop::Broke(s)
    }
}

pub struct Stage<'a> {
    pub library: &'a dyn Library,
    pub at: &'a Endpoint,
    pub control: &'a Control,
    pub name: String,
    pub seen: Vec<String>,
    pub faults: Vec<String>,
    clients: HashMap<&'static str, Box<dyn Client>>,
}

impl<'a> Stage<'a> {
    pub fn new(library: &'a dyn Library, at: &'a Endpoint, control: &'a Control) -> Stage<'a> {
        let now = SystemTime::now()
            .duration_since(SystemTime::UNIX_EPOCH)
            .expect("a clock after 1970");
        let name = format!("lock:{}:{}", std::process::id(), now.as_nanos());
        Stage {
            library,
            at,
            control,
            name,
            seen: vec![],
            faults: vec![],
            clients: HashMap::new(),
        }
    }

    pub fn lock(&mut self, who: &'static str) -> Result<Box<dyn Lock>, Stop> {
        self.lock_for(who, LONG)
    }

    /// A lock that is meant to lapse.
    pub fn short_lock(&mut self, who: &'static str) -> Result<Box<dyn Lock>, Stop> {
        self.lock_for(who, SHORT)
    }

    pub fn lock_for(&mut self, who: &'static str, ttl: Duration) -> Result<Box<dyn Lock>, Stop> {
        if !self.clients.contains_key(who) {
            self.clients.insert(who, self.library.connect(self.at)?);
        }
        Ok(self.clients[who].lock(&self.name, ttl))
    }

    /// Lets every driver notice that its connection is gone.
    pub fn reconnect(&self) -> Result<(), Stop> {
        for client in self.clients.values() {
            let start = Instant::now();
            while let Err(e) = client.reconnect() {
                if start.elapsed() > Duration::from_secs(10) {
                    return Err(e.into());
                }
                std::thread::sleep(Duration::from_millis(20));
            }
        }
        Ok(())
    }

    /// Waits until a short TTL is over.
    pub fn lapse(&self) {
        self.outlive(SHORT);
    }

    /// Waits until a TTL is over, on every clock.
    pub fn outlive(&self, ttl: Duration) {
        std::thread::sleep(ttl + Duration::from_millis(200));
    }

    pub fn note(&mut self, who: &str, answer: Answer) -> bool {
        self.add(who, &answer.said);
        answer.yes
    }

    /// Like note, and it is a fault if the answer is not what the scenario asks for.
    pub fn expect(&mut self, want: bool, who: &str, answer: Answer) {
        if self.note(who, answer) != want {
            self.faults
                .push(format!("{who} wanted {}", if want { "yes" } else { "no" }));
        }
    }

    pub fn add(&mut self, who: &str, what: &str) {
        self.seen
            .push(format!("{who} {}", what.replace(&self.name, "LOCK")));
    }

    pub fn report(&self) -> String {
        let seen = self.seen.join(", ");
        if self.faults.is_empty() {
            seen
        } else {
            format!("{seen}; at fault: {}", self.faults.join(", "))
        }
    }
}
