//! The redlock crate. It opens a connection for every command.

use crate::library::{Answer, Client, Endpoint, Library, Lock};
use crate::versions;
use std::sync::Arc;
use std::time::Duration;

pub struct RedLock;

impl Library for RedLock {
    fn name(&self) -> &'static str {
        "redlock"
    }

    fn version(&self) -> String {
        versions::of("redlock")
    }

    fn connect(&self, at: &Endpoint) -> Result<Box<dyn Client>, String> {
        let mut manager = redlock::RedLock::new(vec![at.url()]);
        manager.set_retry(1, 5); // once, with at most 5 ms behind it
        Ok(Box::new(RedClient {
            manager: Arc::new(manager),
        }))
    }
}

struct RedClient {
    manager: Arc<redlock::RedLock>,
}

impl Client for RedClient {
    fn lock(&self, name: &str, ttl: Duration) -> Box<dyn Lock> {
        Box::new(RedLockObject {
            manager: self.manager.clone(),
            name: name.into(),
            ttl,
            token: vec![],
        })
    }

    fn reconnect(&self) -> Result<(), String> {
        Ok(())
    }
}

struct RedLockObject {
    manager: Arc<redlock::RedLock>,
    name: String,
    ttl: Duration,
    token: Vec<u8>,
}

impl Lock for RedLockObject {
    fn acquire(&mut self) -> Answer {
        match self
            .manager
            .lock(self.name.as_bytes(), self.ttl.as_millis() as usize)
        {
            Ok(Some(lock)) => {
                self.token = lock.val;
                Answer {
                    yes: true,
                    said: "a Lock".into(),
                }
            }
            Ok(None) => Answer {
                yes: false,
                said: "None".into(),
            },
            Err(e) => Answer::error(e),
        }
    }

    fn release(&mut self) -> Answer {
        self.manager.unlock(&redlock::Lock {
            resource: self.name.clone().into_bytes(),
            val: self.token.clone(),
            validity_time: 0,
            lock_manager: &self.manager,
        });
        Answer::done()
    }
}
