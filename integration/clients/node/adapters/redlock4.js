// redlock 4 (node-redlock) over one ioredis client, for one key or several.
import { ioredis } from '../clients.js';

export async function open(server) {
  const { default: Redlock } = await import('redlock4');
  const { client, ping, close } = await ioredis(server);
  const redlock = new Redlock([client], { retryCount: 0 });
  let fault;
  redlock.on('clientError', (error) => (fault ??= error));

  /** Runs one operation; what the server refused becomes the error's cause. */
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
        return { said: 'a Lock', lock: await run(() => redlock.acquire(keys, ttl)) };
      } catch (error) {
        if (error.cause || error.name !== 'LockError') throw error;
        return { said: error };
      }
    },
    release: (lock) => run(() => lock.unlock()),
    extend: (lock, ttl) => run(async () => ((await lock.extend(ttl)) === lock ? 'the Lock' : 'another Lock')),
    ping,
    close,
  };
}
