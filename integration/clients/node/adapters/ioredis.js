// ioredis with SET NX PX and scripts of our own, as its users write them.
import { randomUUID } from 'node:crypto';
import { ioredis } from '../clients.js';
import { left } from '../words.js';
import { EXTEND, RELEASE } from './scripts.js';

export async function open(server, { driver }) {
  const { client, ping, close } = await ioredis(server, driver);
  client.defineCommand('releaseLock', { numberOfKeys: 1, lua: RELEASE });
  client.defineCommand('extendLock', { numberOfKeys: 1, lua: EXTEND });
  return {
    async tryAcquire([key], ttl) {
      const token = randomUUID();
      const said = await client.set(key, token, 'PX', ttl, 'NX');
      return { said, lock: said === 'OK' ? { key, token, ttl } : undefined };
    },
    release: ({ key, token }) => client.releaseLock(key, token),
    extend: ({ key, token }, ttl) => client.extendLock(key, token, ttl),
    questions: {
      exists: ([key]) => client.exists(key),
      mine: async ([key], lock) => (await client.get(key)) === (lock?.token ?? null),
      left: async ([key], lock) => left(await client.pttl(key), lock?.ttl),
    },
    ping,
    close,
  };
}
