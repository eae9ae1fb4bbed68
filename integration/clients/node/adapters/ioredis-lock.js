// @microfleet/ioredis-lock over ioredis 5, the newest that it accepts.
import { createLock } from '@microfleet/ioredis-lock';
import { ioredis } from '../clients.js';

export async function open(server) {
  const { client, ping, close } = await ioredis(server);
  return {
    async tryAcquire([key], ttl) {
      const lock = createLock(client, { timeout: ttl, retries: 0 });
      try {
        await lock.acquire(key);
      } catch (error) {
        // Its own refusal; what the server refused has another text.
        if (!error.message.startsWith('Could not acquire lock')) throw error;
        return { said: error };
      }
      return { said: 'the lock', lock };
    },
    release: async (lock) => ((await lock.release()) === lock ? 'the lock' : 'another'),
    extend: async (lock, ttl) => ((await lock.extend(ttl)) === lock ? 'the lock' : 'another'),
    ping,
    close,
  };
}
