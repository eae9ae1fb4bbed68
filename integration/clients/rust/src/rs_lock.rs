//! The rslock crate, on a runtime of its own for each client.

use crate::library::{Answer, Client, Endpoint, Library, Lock, NotOffered};
use crate::versions;
use rslock::LockManager;
use std::sync::Arc;
use std::time::Duration;
use tokio::runtime::{Builder, Runtime};

pub struct RsLock;

impl Library for RsLock {
    fn name(&self) -> &'static str {
        "rslock"
    }

    fn version(&self) -> String {
        versions::of("rslock")
    }

    fn connect(&self, at: &Endpoint) -> Result<Box<dyn Client>, String> {
        let runtime = Builder::new_current_thread()
            .enable_all()
            .build()
            .map_err(|e| e.to_string())?;
        let mut manager = LockManager::new(vec![at.url()]);
        manager.set_retry(1, Duration::from_millis(10)); // once: waiting is the scenario's
        Ok(Box::new(RsClient {
            runtime: Arc::new(runtime),
            manager,
        }))
    }
}

struct RsClient {
    runtime: Arc<Runtime>,
    manager: LockManager,
}

impl Client for RsClient {
    fn lock(&self, name: &str, ttl: Duration) -> Box<dyn Lock> {
        Box::new(RsLockObject {
            runtime: self.runtime.clone(),
            manager: self.manager.clone(),
            name: name.into(),
            ttl,
            held: None,
        })
    }

    /// The library connects again by itself when a command of a lock failed.
    fn reconnect(&self) -> Result<(), String> {
        self.runtime.block_on(async {
            let name = format!("reconnect:{:p}", self);
            let lock = self
                .manager
                .lock(name.as_bytes(), Duration::from_secs(1))
                .await;
            self.manager.unlock(&lock.map_err(|e| e.to_string())?).await;
            Ok(())
        })
    }
}

struct RsLockObject {
    runtime: Arc<Runtime>,
    manager: LockManager,
    name: String,
    ttl: Duration,
    held: Option<rslock::Lock>,
}

impl RsLockObject {
    fn keep(&mut self, got: Result<rslock::Lock, rslock::LockError>) -> Answer {
        match got {
            Ok(lock) => {
                self.held = Some(lock);
                Answer {
                    yes: true,
                    said: "a Lock".into(),
                }
            }
            Err(e) => Answer::error(e),
        }
    }
}

impl Lock for RsLockObject {
    fn acquire(&mut self) -> Answer {
        let got = self
            .runtime
            .block_on(self.manager.lock(self.name.as_bytes(), self.ttl));
        self.keep(got)
    }

    fn release(&mut self) -> Answer {
        let Some(lock) = &self.held else {
            return Answer::error("no lock to release");
        };
        self.runtime.block_on(self.manager.unlock(lock));
        Answer::done()
    }

    fn extend(&mut self, ttl: Duration) -> Result<Answer, NotOffered> {
        let Some(lock) = &self.held else {
            return Ok(Answer::error("no lock to extend"));
        };
        let got = self.runtime.block_on(self.manager.extend(lock, ttl));
        Ok(self.keep(got))
    }

    fn query(&mut self) -> Result<String, NotOffered> {
        let Some(lock) = &self.held else {
            return Ok("no lock to ask about".into());
        };
        let freed = self.runtime.block_on(self.manager.is_freed(lock));
        Ok(match freed {
            Ok(freed) => format!("freed {freed}"),
            Err(e) => format!("error: {e}"),
        })
    }
}
