//! What an adapter for a lock library has to offer. An adapter adds no behaviour
//! of its own: an answer is what the library said.

use std::fmt::Display;
use std::time::{Duration, Instant};

/// One of the two servers that a library is run against.
pub struct Endpoint {
    pub host: String,
    pub port: u16,
    /// Whether faults can be asked for: only the proxy has them.
    pub faults: bool,
}

impl Endpoint {
    pub fn url(&self) -> String {
        format!("redis://{}:{}", self.host, self.port)
    }
}

/// A library in one of its modes: a row of the table.
pub trait Library: Sync {
    fn name(&self) -> &'static str;

    fn version(&self) -> String;

    /// A client of its own, as in another process.
    fn connect(&self, at: &Endpoint) -> Result<Box<dyn Client>, String>;
}

pub trait Client: Send {
    /// A lock object with a token of its own; nothing is sent yet.
    fn lock(&self, name: &str, ttl: Duration) -> Box<dyn Lock>;

    /// Makes sure that the driver is connected, without the lock of the scenario.
    fn reconnect(&self) -> Result<(), String>;
}

pub trait Lock {
    /// Tries once, without waiting.
    fn acquire(&mut self) -> Answer;

    fn release(&mut self) -> Answer;

    fn extend(&mut self, _ttl: Duration) -> Result<Answer, NotOffered> {
        Err(NotOffered("has no call that extends a lock"))
    }

    /// All questions that the library answers about the lock, in one line.
    fn query(&mut self) -> Result<String, NotOffered> {
        Err(NotOffered("has no question about a lock"))
    }
}

/// Tries again and again: none of these libraries waits for anything but time.
pub fn acquire_waiting(lock: &mut dyn Lock, at_most: Duration) -> Answer {
    let start = Instant::now();
    for turn in 0u64.. {
        let answer = lock.acquire();
        if answer.yes || start.elapsed() > at_most {
            return answer;
        }
        // Between 5 and 20 ms, not in step with the others.
        let pause = 5 + (u64::from(start.elapsed().subsec_nanos()) / 1000 + turn) % 16;
        std::thread::sleep(Duration::from_millis(pause));
    }
    unreachable!()
}

/// What the library said, and whether that means yes.
pub struct Answer {
    pub yes: bool,
    pub said: String,
}

impl Answer {
    pub fn of(yes: bool) -> Answer {
        Answer {
            yes,
            said: yes.to_string(),
        }
    }

    /// For a call without a result: it returned.
    pub fn done() -> Answer {
        Answer {
            yes: true,
            said: "done".into(),
        }
    }

    pub fn error(e: impl Display) -> Answer {
        Answer {
            yes: false,
            said: format!("error: {e}"),
        }
    }
}

/// The library has no such operation.
pub struct NotOffered(pub &'static str);
