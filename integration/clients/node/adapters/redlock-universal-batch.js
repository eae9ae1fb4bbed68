// redlock-universal's batch: several locks, acquired all or none by one script,
// released and extended one by one. Over its ioredis adapter.
import { IoredisAdapter, LockManager } from 'redlock-universal';
import { ioredis } from '../clients.js';
import { isHeld } from './redlock-universal.js';

export async function open(server) {
  const { client, ping, close } = await ioredis(server);
  const adapter = new IoredisAdapter(client);
  const manager = new LockManager({ nodes: [adapter] });
  return {
    async tryAcquire(keys, ttl) {
      try {
        const handles = await manager.acquireBatch(keys, { ttl, retryAttempts: 0 });
        return { said: `${handles.length} handles`, lock: handles };
      } catch (error) {
        if (!isHeld(error)) throw error;
        return { said: error };
      }
    },
    release: (handles) => manager.releaseBatch(handles),
    extend: (handles, ttl) =>
      Promise.all(handles.map((handle) => manager.createSimpleLock(handle.key).extend(handle, ttl))),
    questions: { inspect: (keys) => Promise.all(keys.map(async (key) => (await adapter.inspect(key)) !== null)) },
    ping,
    close,
  };
}
