//! Looks at keys without any lock library.

use crate::library::Endpoint;

/// Reports whether a key whose name contains the lock's has a TTL.
pub fn has_ttl(at: &Endpoint, lock: &str) -> Result<bool, String> {
    let look = || -> redis::RedisResult<bool> {
        let mut connection = redis::Client::open(at.url())?.get_connection()?;
        let keys: Vec<String> = redis::cmd("KEYS")
            .arg(format!("*{lock}*"))
            .query(&mut connection)?;
        let Some(key) = keys.first() else {
            return Ok(false);
        };
        let ttl: i64 = redis::cmd("PTTL").arg(key).query(&mut connection)?;
        Ok(ttl > 0)
    };
    look().map_err(|e| e.to_string())
}
