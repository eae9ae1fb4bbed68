//! The scenarios, as ../README.md describes them.

use crate::contention::Contention;
use crate::library::{Answer, acquire_waiting};
use crate::raw;
use crate::stage::{CLOCK_STEP, EXTENDED, LONG, SHORT, Stage, Stop};
use std::time::{Duration, Instant};

pub type Scenario = fn(&mut Stage) -> Result<(), Stop>;

pub const ALL: [(&str, Scenario); 12] = [
    ("acquire-free", acquire_free),
    ("acquire-held", acquire_held),
    ("release-own", release_own),
    ("release-other", release_other),
    ("release-after-lapse", release_after_lapse),
    ("extend-own", extend_own),
    ("extend-after-lapse", extend_after_lapse),
    ("query-owned", query_owned),
    ("lapse-hands-over", lapse_hands_over),
    ("contention", contention),
    ("master-killed", master_killed),
    ("proxy-restarted", proxy_restarted),
];

fn acquire_free(s: &mut Stage) -> Result<(), Stop> {
    let mut a = s.lock("A")?;
    s.expect(true, "A acquires:", a.acquire());
    let has_ttl = raw::has_ttl(s.at, &s.name)?;
    s.expect(true, "a TTL is set:", Answer::of(has_ttl));
    Ok(())
}

fn acquire_held(s: &mut Stage) -> Result<(), Stop> {
    let (mut a, mut b) = (s.lock("A")?, s.lock("B")?);
    s.expect(true, "A acquires:", a.acquire());
    s.expect(false, "B acquires:", b.acquire());
    Ok(())
}

fn release_own(s: &mut Stage) -> Result<(), Stop> {
    let (mut a, mut b) = (s.lock("A")?, s.lock("B")?);
    s.expect(true, "A acquires:", a.acquire());
    s.expect(true, "A releases:", a.release());
    s.expect(true, "B acquires:", b.acquire());
    Ok(())
}

/// A lock object learns that it is not the owner by losing it: A's TTL passes, B acquires.
fn release_other(s: &mut Stage) -> Result<(), Stop> {
    let (mut a, mut b, mut c) = (s.short_lock("A")?, s.lock("B")?, s.lock("C")?);
    s.expect(true, "A acquires:", a.acquire());
    s.lapse();
    s.expect(true, "B acquires:", b.acquire());
    s.note("A releases:", a.release());
    s.expect(false, "C acquires:", c.acquire());
    Ok(())
}

fn release_after_lapse(s: &mut Stage) -> Result<(), Stop> {
    let (mut a, mut b) = (s.short_lock("A")?, s.lock("B")?);
    s.expect(true, "A acquires:", a.acquire());
    s.lapse();
    s.note("A releases:", a.release());
    s.expect(true, "B acquires:", b.acquire());
    Ok(())
}

fn extend_own(s: &mut Stage) -> Result<(), Stop> {
    let (mut a, mut b) = (s.lock_for("A", EXTENDED)?, s.lock("B")?);
    s.expect(true, "A acquires:", a.acquire());
    s.expect(true, "A extends:", a.extend(LONG)?);
    s.outlive(EXTENDED);
    s.expect(false, "B acquires:", b.acquire());
    Ok(())
}

fn extend_after_lapse(s: &mut Stage) -> Result<(), Stop> {
    let (mut a, mut b) = (s.short_lock("A")?, s.lock("B")?);
    s.expect(true, "A acquires:", a.acquire());
    s.lapse();
    s.note("A extends:", a.extend(LONG)?);
    s.note("B acquires:", b.acquire());
    Ok(())
}

fn query_owned(s: &mut Stage) -> Result<(), Stop> {
    let (mut a, mut b) = (s.lock("A")?, s.lock("B")?);
    s.add("before:", &a.query()?);
    s.expect(true, "A acquires:", a.acquire());
    s.add("A's view:", &a.query()?);
    s.add("B's view:", &b.query()?);
    s.expect(true, "A releases:", a.release());
    s.add("after:", &a.query()?);
    Ok(())
}

fn lapse_hands_over(s: &mut Stage) -> Result<(), Stop> {
    let (mut a, mut b) = (s.short_lock("A")?, s.lock("B")?);
    let start = Instant::now();
    s.expect(true, "A acquires:", a.acquire());
    s.expect(
        true,
        "B acquires in the end:",
        acquire_waiting(b.as_mut(), Duration::from_secs(5)),
    );
    let waited = start.elapsed();
    s.expect(
        true,
        "not too early:",
        Answer::of(waited > SHORT - CLOCK_STEP),
    );
    s.expect(
        true,
        "within two seconds:",
        Answer::of(waited < SHORT + Duration::from_secs(2)),
    );
    Ok(())
}

fn contention(s: &mut Stage) -> Result<(), Stop> {
    Contention::new(8, 50).run(s, &|| Ok(()))
}

fn master_killed(s: &mut Stage) -> Result<(), Stop> {
    let rounds = Contention::new(8, 25);
    if !s.at.faults {
        return rounds.run(s, &|| Ok(()));
    }
    let control = s.control;
    let ended = rounds.run(s, &|| control.post("/kill-master"));
    control.post("/heal")?;
    ended
}

fn proxy_restarted(s: &mut Stage) -> Result<(), Stop> {
    let (mut a, mut b) = (s.lock("A")?, s.lock("B")?);
    s.expect(true, "A acquires:", a.acquire());
    s.expect(false, "B acquires:", b.acquire());
    if let Ok(answer) = a.extend(LONG) {
        s.expect(true, "A extends:", answer);
    }
    if s.at.faults {
        s.control.post("/restart-proxy")?;
    }
    s.reconnect()?;
    if let Ok(answer) = a.extend(LONG) {
        s.expect(true, "A extends again:", answer);
    }
    s.expect(false, "B acquires again:", b.acquire());
    s.expect(true, "A releases:", a.release());
    s.expect(true, "B acquires the free lock:", b.acquire());
    s.expect(true, "B releases:", b.release());
    Ok(())
}
