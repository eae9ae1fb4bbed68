// The scenarios of ../README.md. Each is given a Stage (stage.js): it brings
// callers, writes down what they see, and holds what has to be seen.
import { setTimeout as sleep } from 'node:timers/promises';
import { words } from './words.js';

const LONG = 10_000; // ms: does not lapse within a scenario
const SHORT = 1_500; // ms: lapses; long enough that a busy machine extends it in time
const LAPSED = 1_900; // ms after which SHORT is over, with the proxy's allowance of a tenth
const RESTART = 60_000; // ms: does not lapse while a proxy restarts

export const scenarios = {
  async 'acquire-free'(stage) {
    const keys = stage.keys();
    const a = await stage.caller('A');
    stage.expect(await a.acquires(keys, LONG), 'A gets the free lock');
    for (const key of keys) stage.expect((await stage.ttl(a, key)) > 0, 'the key has a TTL');
  },

  async 'acquire-held'(stage) {
    const keys = stage.keys();
    const [a, b] = await stage.callers('A', 'B');
    stage.expect(await a.acquires(keys, LONG), 'A gets the free lock');
    stage.expect(!(await b.acquires(keys, LONG)), 'B is refused');
    if (keys.length === 1) return;
    const [second, third, fourth] = [keys[1], ...stage.keys()];
    stage.expect(!(await b.acquires([second, third], LONG)), 'B is refused for one of two keys');
    stage.expect(await b.acquires([third, fourth], LONG), 'B left nothing behind');
  },

  async 'release-own'(stage) {
    const keys = stage.keys();
    const [a, b] = await stage.callers('A', 'B');
    const lock = await a.acquires(keys, LONG);
    stage.expect(lock, 'A gets the free lock');
    stage.expect(await a.releases(lock), 'A releases it');
    stage.expect(await b.acquires(keys, LONG), 'the lock is free');
  },

  async 'release-other'(stage) {
    const keys = stage.keys();
    const [a, b, c] = await stage.callers('A', 'B', 'C');
    const lost = await b.acquires(keys, SHORT);
    stage.expect(lost, 'B gets the free lock');
    await sleep(LAPSED);
    const lock = await a.acquires(keys, LONG);
    stage.expect(lock, 'A gets the lapsed lock');
    await b.releases(lost);
    stage.expect(!(await c.acquires(keys, LONG)), 'A still holds it');
    stage.expect(await a.releases(lock), 'A releases it');
    if (keys.length > 1) await releaseOfHalf(stage, a, b);
  },

  async 'release-after-lapse'(stage) {
    const keys = stage.keys();
    const [a, b] = await stage.callers('A', 'B');
    const lock = await a.acquires(keys, SHORT);
    stage.expect(lock, 'A gets the free lock');
    await sleep(LAPSED);
    await a.releases(lock);
    stage.expect(await b.acquires(keys, LONG), 'the lock is free');
  },

  async 'extend-own'(stage) {
    stage.needs('extend');
    const keys = stage.keys();
    const [a, b] = await stage.callers('A', 'B');
    const lock = await a.acquires(keys, SHORT);
    stage.expect(lock, 'A gets the free lock');
    // A library that can only renew the same TTL passes as well: it is asked
    // late, and B comes when the first TTL is over and the second is not.
    await sleep(SHORT * 0.6);
    stage.expect(await a.extends(lock, LONG), 'A extends it');
    await sleep(LAPSED - SHORT * 0.6);
    stage.expect(!(await b.acquires(keys, LONG)), 'A still holds it');
  },

  async 'extend-after-lapse'(stage) {
    stage.needs('extend');
    const keys = stage.keys();
    const [a, b] = await stage.callers('A', 'B');
    const lock = await a.acquires(keys, SHORT);
    stage.expect(lock, 'A gets the free lock');
    await sleep(LAPSED);
    await a.extends(lock, LONG);
    await b.acquires(keys, LONG);
    await a.extends(lock, LONG);
  },

  async 'query-owned'(stage) {
    stage.needs('questions');
    const keys = stage.keys();
    const [a, b] = await stage.callers('A', 'B');
    await a.asks('before', keys);
    const lock = await a.acquires(keys, LONG);
    stage.expect(lock, 'A gets the free lock');
    await a.asks('as the owner', keys, lock);
    await b.asks('while A holds it', keys);
    stage.expect(await a.releases(lock), 'A releases it');
    await a.asks('after', keys);
  },

  async 'lapse-hands-over'(stage) {
    const keys = stage.keys();
    const [a, b] = await stage.callers('A', 'B');
    const began = performance.now();
    stage.expect(await a.acquires(keys, SHORT), 'A gets the free lock');
    const lock = await b.waitsFor(keys, LONG);
    const took = performance.now() - began;
    stage.expect(took >= SHORT - 2, 'B waits for the TTL'); // servers count whole ms
    stage.expect(took <= SHORT + 2_000, 'B gets it soon after the TTL');
    stage.expect(await b.releases(lock), 'B releases it');
  },

  contention: (stage) => contend(stage, 50, () => true),

  async 'master-killed'(stage) {
    const all = 25 * CALLERS;
    let killed = false;
    let enough; // rounds, known once the master is dead: the callers go on for a while
    await contend(stage, 25, (done) => {
      if (done === Math.floor(all / 3)) stage.fault('kill-master').then(() => (killed = true));
      if (killed) enough ??= done + all / 5;
      return done >= enough;
    });
  },

  async 'proxy-restarted'(stage) {
    const [keys, others] = [stage.keys(), stage.keys()];
    const [a, b] = await stage.callers('A', 'B');
    const lock = await a.acquires(keys, RESTART);
    stage.expect(lock, 'A gets the free lock');
    if (stage.offers('extend')) stage.expect(await a.extends(lock, RESTART), 'A extends it');
    const other = await b.acquires(others, RESTART);
    stage.expect(await b.releases(other), 'B releases another lock');
    await stage.fault('restart-proxy');
    await Promise.all([a, b].map((caller) => caller.reconnects()));
    stage.expect(!(await b.acquires(keys, RESTART)), 'A still holds it');
    if (stage.offers('extend')) stage.expect(await a.extends(lock, RESTART), 'A extends it again');
    stage.expect(await a.releases(lock), 'A releases it');
    const next = await b.acquires(keys, RESTART);
    stage.expect(next, 'B gets it');
    stage.expect(await b.releases(next), 'B releases it');
  },
};

const CALLERS = 8;

/** A lock on two keys, one of which was taken over by somebody else. */
async function releaseOfHalf(stage, a, b) {
  const keys = stage.keys();
  const lock = await a.acquires(keys, LONG);
  stage.expect(lock, 'A gets two free keys');
  await stage.overwrite(keys[1], LONG);
  await a.releases(lock);
  await b.acquires([keys[0], ...stage.keys().slice(1)], LONG);
  stage.expect(!(await b.acquires([keys[1], ...stage.keys().slice(1)], LONG)), 'the other one is not touched');
}

/**
 * Lets callers compete for one lock: each for the given number of rounds, and
 * on until isEnough(rounds of all) is true.
 */
async function contend(stage, rounds, isEnough) {
  const keys = stage.keys();
  const callers = await stage.callers(...Array.from({ length: CALLERS }, (_, i) => `caller ${i + 1}`));
  stage.expect(await callers[0].releases(await callers[0].acquires(keys, LONG)), 'a first round alone works');
  let [inside, overlaps, done] = [0, 0, 0];
  const released = new Set();
  const takeTurns = async ({ session }) => {
    for (let round = 0, enough = false; round < rounds || !enough; round++) {
      const lock = await acquireByWaiting(session, keys, stage.deadline);
      if (++inside > 1) overlaps++;
      await sleep(Math.random() * 4);
      inside--;
      released.add(words(await session.release(lock)));
      enough = isEnough(++done);
    }
  };
  const ends = await Promise.allSettled(callers.map(takeTurns));
  for (const end of ends) if (end.status === 'rejected') stage.fails('a caller', end.reason);
  stage.sees(`released: ${[...released].sort().join(', ')}`);
  stage.expect(overlaps === 0, `nobody overlaps (${overlaps} did)`);
  stage.expect(done >= CALLERS * rounds, `all rounds end (${done} of ${CALLERS * rounds} did)`);
}

/** Tries until the lock is got. */
export async function acquireByWaiting(session, keys, deadline, ttl = LONG) {
  while (performance.now() < deadline) {
    const { lock } = await session.tryAcquire(keys, ttl);
    if (lock) return lock;
    await sleep(5 + Math.random() * 10);
  }
  throw new Error('the lock was not got in time');
}
