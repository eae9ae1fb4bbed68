// redlock 5 and its descendant @sesamecare-oss/redlock over one ioredis client,
// for one key or several.
import { ioredis } from '../clients.js';

export async function open(server, { module, driver }) {
  const library = await import(module);
  const { ResourceLockedError } = library;
  const Redlock = library.Redlock ?? library.default;
  const { client, ping, close } = await ioredis(server, driver);
  const redlock = new Redlock([client], { retryCount: 0 });
  let fault; // the attempt's; a failed acquire goes on to release, which fails too
  redlock.on('error', (error) => (fault ??= error));

  /** Runs one operation; what the only server said against it is the cause. */
  async function run(operation) {
    fault = undefined;
    try {
      return await operation();
    } catch (error) {
      throw fault ? Object.assign(error, { cause: fault }) : error;
    }
  }

  return {
    async tryAcquire(keys, ttl) {
      try {
        return { said: 'a Lock', lock: { held: await run(() => redlock.acquire(keys, ttl)) } };
      } catch (error) {
        if (!(error.cause instanceof ResourceLockedError)) throw error;
        return { said: error };
      }
    },
    release: (lock) => run(async () => `after ${(await lock.held.release()).attempts.length} attempt`),
    extend: (lock, ttl) =>
      run(async () => {
        lock.held = await lock.held.extend(ttl);
        return 'a Lock';
      }),
    ping,
    close,
  };
}
