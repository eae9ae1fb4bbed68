// simple-redis-mutex over node-redis 5. It subscribes on a second connection,
// counts fencing tokens with INCR and publishes releases. Its refresh gives the
// lock the TTL of its acquisition again.
import { tryLock } from 'simple-redis-mutex';
import { nodeRedis } from '../clients.js';

export async function open(server) {
  const { client, ping, close } = await nodeRedis(server, 'redis');
  return {
    async tryAcquire([key], ttl) {
      const [got, release] = await tryLock(client, key, { timeout: ttl });
      return { said: got, lock: got ? release : undefined };
    },
    release: (release) => release(),
    extend: (release) => release.refreshTimeout(),
    serverKey: (key) => `@simple-redis-mutex:lock-${key}`,
    ping,
    close,
  };
}
