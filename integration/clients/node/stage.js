// Where a scenario plays: one library against one server. It opens callers,
// writes down what they see, and closes them at the end.
import { setTimeout as sleep } from 'node:timers/promises';
import { acquireByWaiting } from './scenarios.js';
import { ioredis } from './clients.js';
import { lockName, refusal, words } from './words.js';

const PATIENCE = 40_000; // ms, for one scenario

/** Ends a scenario that the library or the proxy cannot do, with the reason. */
class Unsupported extends Error {}

export class Stage {
  seen = []; // what the callers saw, in order
  wrong = []; // what should have been seen and was not
  deadline = performance.now() + PATIENCE;
  #opened = [];
  #names = 0;

  /** keys is how many keys a lock has; fault asks the test bed for a fault. */
  constructor({ scenario, server, open, keys, fault }) {
    Object.assign(this, { scenario, server, open, keyCount: keys, fault });
  }

  /** Plays a scenario to its end and returns what came out. */
  async play(scenario) {
    try {
      this.sample = await this.caller('A');
      await within(PATIENCE, scenario(this));
    } catch (error) {
      if (error instanceof Unsupported) return { unsupported: error.message };
      const refused = refusal(error); // even the connection may be
      if (refused) return { unsupported: `proxy: ${refused}` };
      this.fails('the scenario', error);
    } finally {
      for (const { close } of this.#opened) close();
    }
    return { seen: this.seen, wrong: this.wrong };
  }

  /** New names for one lock. */
  keys() {
    return Array.from({ length: this.keyCount }, () => lockName(this.scenario, ++this.#names));
  }

  async caller(name) {
    const session = await this.open(this.server);
    this.#opened.push(session);
    return new Caller(this, name, session);
  }

  callers(...names) {
    return Promise.all(names.map((name) => this.caller(name)));
  }

  offers(operation) {
    return Boolean(this.sample.session[operation]);
  }

  /** Ends the scenario if the library has no such operation. */
  needs(operation) {
    if (!this.offers(operation)) throw new Unsupported(`library: has no ${operation}`);
  }

  sees(text) {
    this.seen.push(text);
  }

  expect(condition, text) {
    if (!condition) this.wrong.push(text);
  }

  /** Writes down an error. A deliberate refusal of the proxy ends the scenario. */
  fails(who, error) {
    const refused = refusal(error);
    if (refused) throw new Unsupported(`proxy: ${refused}`);
    this.sees(`${who}: ${words(error)}`);
    this.expect(false, `${who} fails`);
  }

  /** What is left of a lock on the server, in ms. */
  async ttl({ session }, key) {
    return (await this.#raw()).pttl(session.serverKey?.(key) ?? key);
  }

  /** Takes a key over, as nobody should. */
  async overwrite(key, ttl) {
    await (await this.#raw()).set(key, 'somebody else', 'PX', ttl);
  }

  async #raw() {
    if (!this.raw) {
      this.raw = await ioredis(this.server);
      this.#opened.push(this.raw);
    }
    return this.raw.client;
  }
}

/** One caller with a connection of its own. Its methods write down what it sees. */
class Caller {
  constructor(stage, name, session) {
    Object.assign(this, { stage, name, session });
  }

  /** Returns the lock, or nothing. */
  acquires(keys, ttl) {
    return this.#does('acquires', async () => {
      const { said, lock } = await this.session.tryAcquire(keys, ttl);
      return { said, value: lock };
    });
  }

  releases(lock) {
    return this.#does('releases', async () => ({ said: await this.session.release(lock), value: true }));
  }

  extends(lock, ttl) {
    return this.#does('extends', async () => ({ said: await this.session.extend(lock, ttl), value: true }));
  }

  /** Keeps trying, without writing down how often. */
  waitsFor(keys, ttl) {
    return this.#does('waits', async () => {
      const lock = await acquireByWaiting(this.session, keys, this.stage.deadline, ttl);
      return { said: 'gets it', value: lock };
    });
  }

  async asks(when, keys, lock) {
    for (const [question, ask] of Object.entries(this.session.questions)) {
      await this.#does(`asks ${question} ${when}`, async () => ({ said: await ask(keys, lock) }));
    }
  }

  /** Waits until the driver has a connection again; what it says meanwhile is its own way. */
  async reconnects() {
    const until = performance.now() + 5_000;
    for (;;) {
      try {
        return await this.session.ping();
      } catch (error) {
        if (performance.now() > until) throw error;
        await sleep(20);
      }
    }
  }

  async #does(what, operation) {
    try {
      const { said, value } = await operation();
      this.stage.sees(`${this.name} ${what}: ${words(said)}`);
      return value;
    } catch (error) {
      const refused = refusal(error);
      if (refused) throw new Unsupported(`proxy: ${refused}`);
      this.stage.sees(`${this.name} ${what}: ${words(error)}`);
      return undefined;
    }
  }
}

function within(limit, promise) {
  let timer;
  const late = new Promise((_, reject) => {
    timer = setTimeout(() => reject(new Error(`not done after ${limit / 1000} s`)), limit);
  });
  return Promise.race([promise, late]).finally(() => clearTimeout(timer));
}
