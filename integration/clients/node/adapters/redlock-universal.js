// redlock-universal's single lock over its node-redis adapter.
import { createLock, LockAcquisitionError, NodeRedisAdapter } from 'redlock-universal';
import { nodeRedis } from '../clients.js';
import { left } from '../words.js';

export async function open(server) {
  const { client, ping, close } = await nodeRedis(server, 'redis');
  const adapter = new NodeRedisAdapter(client);
  const create = (key, ttl) => createLock({ adapter, key, ttl, retryAttempts: 0 });
  return {
    async tryAcquire([key], ttl) {
      const lock = create(key, ttl);
      try {
        return { said: 'a handle', lock: { lock, ttl, handle: await lock.acquire() } };
      } catch (error) {
        if (!isHeld(error)) throw error;
        return { said: error };
      }
    },
    release: ({ lock, handle }) => lock.release(handle),
    extend: ({ lock, handle }, ttl) => lock.extend(handle, ttl),
    questions: {
      isLocked: ([key]) => create(key).isLocked(key),
      async inspect([key], lock) {
        const found = await adapter.inspect(key);
        return found && { mine: found.value === lock?.handle.value, left: left(found.ttl, lock?.ttl) };
      },
      async atomicExtend([key], lock) {
        const { resultCode } = await adapter.atomicExtend(key, lock?.handle.value ?? 'nobody', 1, 10_000);
        return resultCode;
      },
    },
    ping,
    close,
  };
}

/** Tells "somebody else holds it" from an attempt that failed. */
export function isHeld(error) {
  return error instanceof LockAcquisitionError && /is already (held|locked)/.test(error.cause?.message);
}
