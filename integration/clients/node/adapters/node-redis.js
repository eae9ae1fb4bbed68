// node-redis 4, 5 and 6 with SET NX PX and scripts of our own.
import { randomUUID } from 'node:crypto';
import { nodeRedis } from '../clients.js';
import { left } from '../words.js';
import { EXTEND, RELEASE } from './scripts.js';

export async function open(server, { driver }) {
  const scripts = { releaseLock: await define(driver, RELEASE), extendLock: await define(driver, EXTEND) };
  const { client, ping, close } = await nodeRedis(server, driver, scripts);
  return {
    async tryAcquire([key], ttl) {
      const token = randomUUID();
      const said = await client.set(key, token, { PX: ttl, NX: true });
      return { said, lock: said === 'OK' ? { key, token, ttl } : undefined };
    },
    release: ({ key, token }) => client.releaseLock(key, token),
    extend: ({ key, token }, ttl) => client.extendLock(key, token, String(ttl)),
    questions: {
      exists: ([key]) => client.exists(key),
      mine: async ([key], lock) => (await client.get(key)) === (lock?.token ?? null),
      left: async ([key], lock) => left(await client.pTTL(key), lock?.ttl),
    },
    ping,
    close,
  };
}

/** A script of one key, in the form of version 4 and of those after it. */
async function define(driver, text) {
  const { defineScript } = await import(driver);
  return defineScript({
    SCRIPT: text,
    NUMBER_OF_KEYS: 1,
    transformArguments: (...args) => args,
    parseCommand(parser, key, ...args) {
      parser.pushKey(key);
      parser.push(...args);
    },
    transformReply: undefined,
  });
}
