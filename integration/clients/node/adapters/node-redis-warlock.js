// node-redis-warlock over node_redis 3, which it was written for.
import { promisify } from 'node:util';
import warlock from 'node-redis-warlock';
import { nodeRedis3 } from '../clients.js';

export async function open(server) {
  const { client, ping, close } = await nodeRedis3(server);
  const locks = warlock(client);
  const lock = (key, ttl) =>
    new Promise((resolve, reject) =>
      locks.lock(key, ttl, (error, unlock, id) => (error ? reject(error) : resolve({ unlock, id }))));
  return {
    async tryAcquire([key], ttl) {
      const { unlock, id } = await lock(key, ttl);
      return { said: unlock, lock: unlock ? { key, id, unlock } : undefined };
    },
    release: ({ unlock }) => promisify(unlock)(),
    extend: ({ key, id }, ttl) => locks.touch(key, id, ttl),
    serverKey: (key) => locks.makeKey(key),
    ping,
    close,
  };
}
