//! redis-rs without a lock library: SET NX PX, and scripts by EVALSHA, SCRIPT LOAD.

use crate::library::{Answer, Client, Endpoint, Library, Lock, NotOffered};
use crate::versions;
use redis::{Connection, RedisResult, Script};
use std::sync::atomic::{AtomicU64, Ordering};
use std::sync::{Arc, Mutex};
use std::time::Duration;

const RELEASE: &str = "
    if redis.call('GET', KEYS[1]) == ARGV[1] then
      return redis.call('DEL', KEYS[1])
    end
    return 0";

const EXTEND: &str = "
    if redis.call('GET', KEYS[1]) == ARGV[1] then
      return redis.call('PEXPIRE', KEYS[1], ARGV[2])
    end
    return 0";

pub struct Plain {
    pub name: &'static str,
    /// What stands behind the server in the URL.
    pub options: &'static str,
}

impl Library for Plain {
    fn name(&self) -> &'static str {
        self.name
    }

    fn version(&self) -> String {
        versions::of("redis")
    }

    fn connect(&self, at: &Endpoint) -> Result<Box<dyn Client>, String> {
        let client = redis::Client::open(at.url() + self.options).map_err(|e| e.to_string())?;
        let connection = client.get_connection().map_err(|e| e.to_string())?;
        Ok(Box::new(PlainClient {
            client,
            connection: Arc::new(Mutex::new(connection)),
            tokens: AtomicU64::new(0),
        }))
    }
}

struct PlainClient {
    client: redis::Client,
    connection: Arc<Mutex<Connection>>,
    tokens: AtomicU64,
}

impl Client for PlainClient {
    fn lock(&self, name: &str, ttl: Duration) -> Box<dyn Lock> {
        let n = self.tokens.fetch_add(1, Ordering::Relaxed);
        Box::new(PlainLock {
            connection: self.connection.clone(),
            key: name.into(),
            token: format!("{:p} {n}", Arc::as_ptr(&self.connection)),
            ttl,
        })
    }

    /// A connection of this driver does not come back by itself.
    fn reconnect(&self) -> Result<(), String> {
        let mut connection = self.connection.lock().unwrap();
        if redis::cmd("PING").exec(&mut *connection).is_err() {
            *connection = self.client.get_connection().map_err(|e| e.to_string())?;
        }
        Ok(())
    }
}

struct PlainLock {
    connection: Arc<Mutex<Connection>>,
    key: String,
    token: String,
    ttl: Duration,
}

impl PlainLock {
    fn run(&self, script: &str, ttl: Option<Duration>) -> Answer {
        let script = Script::new(script);
        let mut call = script.key(&self.key);
        call.arg(&self.token);
        if let Some(ttl) = ttl {
            call.arg(ttl.as_millis() as u64);
        }
        let reply: RedisResult<i64> = call.invoke(&mut *self.connection.lock().unwrap());
        match reply {
            Ok(n) => Answer {
                yes: n == 1,
                said: n.to_string(),
            },
            Err(e) => Answer::error(e),
        }
    }
}

impl Lock for PlainLock {
    fn acquire(&mut self) -> Answer {
        let mut set = redis::cmd("SET");
        set.arg(&self.key)
            .arg(&self.token)
            .arg("NX")
            .arg("PX")
            .arg(self.ttl.as_millis() as u64);
        let reply: RedisResult<redis::Value> = set.query(&mut *self.connection.lock().unwrap());
        match reply {
            Ok(v) => Answer {
                yes: v == redis::Value::Okay,
                said: format!("{v:?}"),
            },
            Err(e) => Answer::error(e),
        }
    }

    fn release(&mut self) -> Answer {
        self.run(RELEASE, None)
    }

    fn extend(&mut self, ttl: Duration) -> Result<Answer, NotOffered> {
        Ok(self.run(EXTEND, Some(ttl)))
    }

    fn query(&mut self) -> Result<String, NotOffered> {
        let mut pipe = redis::pipe();
        pipe.cmd("GET")
            .arg(&self.key)
            .cmd("EXISTS")
            .arg(&self.key)
            .cmd("PTTL")
            .arg(&self.key);
        let reply: RedisResult<(Option<String>, i64, i64)> =
            pipe.query(&mut *self.connection.lock().unwrap());
        Ok(match reply {
            Ok((value, exists, ttl)) => format!(
                "mine {}, exists {exists}, seconds left {}",
                value.as_ref() == Some(&self.token),
                (ttl as f64 / 1000.0).round()
            ),
            Err(e) => format!("error: {e}"),
        })
    }
}
