// redis-semaphore's Mutex over ioredis 6. Its public way to renew a lock is to
// take over an identifier that was acquired before.
import { Mutex } from 'redis-semaphore';
import { ioredis } from '../clients.js';

const once = { acquireAttemptsLimit: 1, retryInterval: 0, refreshInterval: 0 };

export async function open(server) {
  const { client, ping, close } = await ioredis(server, 'ioredis6');
  return {
    async tryAcquire([key], ttl) {
      const mutex = new Mutex(client, key, { ...once, lockTimeout: ttl });
      const said = await mutex.tryAcquire();
      return { said, lock: said ? { key, mutex } : undefined };
    },
    release: ({ mutex }) => mutex.release(),
    extend: ({ key, mutex }, ttl) =>
      new Mutex(client, key, {
        ...once, lockTimeout: ttl, identifier: mutex.identifier, acquiredExternally: true,
      }).tryAcquire(),
    questions: { isAcquired: (_, lock) => lock?.mutex.isAcquired ?? false },
    serverKey: (key) => `mutex:${key}`,
    ping,
    close,
  };
}
