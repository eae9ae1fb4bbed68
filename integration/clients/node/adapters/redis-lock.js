// redis-lock over node-redis 4. It only waits: every error is a reason to try
// again, for ever. So an attempt is watched from its client, and given up by
// never answering it.
import redisLock from 'redis-lock';
import { nodeRedis } from '../clients.js';

const RETRY_DELAY = 10; // ms
const PATIENCE = 1_000; // ms, how long an attempt may wait

export async function open(server) {
  const { client, ping, close } = await nodeRedis(server, 'redis4');
  return {
    async tryAcquire([key], ttl) {
      const watch = watched(client);
      const unlock = await Promise.race([redisLock(watch.client, RETRY_DELAY)(key, ttl), watch.fault, patience()]);
      watch.giveUp();
      return unlock ? { said: unlock, lock: unlock } : { said: 'waits' };
    },
    release: (unlock) => unlock(),
    serverKey: (key) => `lock.${key}`,
    ping,
    close,
  };
}

const patience = () => new Promise((resolve) => setTimeout(resolve, PATIENCE));

/** A client that tells of the first error, and falls silent when given up. */
function watched(client) {
  let givenUp = false;
  let fail;
  const fault = new Promise((_, reject) => (fail = reject));
  fault.catch(() => {}); // it may come when nobody waits for it any more
  const set = async (...args) => {
    if (givenUp) await new Promise(() => {});
    try {
      return await client.set(...args);
    } catch (error) {
      fail(error);
      throw error;
    }
  };
  return { client: { v4: client, set, del: (key) => client.del(key) }, fault, giveUp: () => (givenUp = true) };
}
