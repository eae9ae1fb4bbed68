// The rows of the table. Each names the adapter that drives the library, the
// package whose version is reported, and what the adapter is opened with.
//
// An adapter module exports open(server, options), which connects one caller
// and returns its session:
//
//   tryAcquire(keys, ttl)  → { said, lock }: what the library returned, and the
//                            lock, or no lock if somebody else holds it. It
//                            throws when the attempt failed for another reason.
//   release(lock)          → what the library returned
//   extend(lock, ttl)      → the same; missing if the library has none
//   questions              → { name: (keys, lock) => answer }; missing likewise
//   serverKey(key)         → the lock's name on the server; missing: the key
//   ping()                 → resolves when the connection works
//   close()
//
// keys has one name, or as many as the row's keys says. ttl is in milliseconds.
// A note is printed with what passes.
const NODE_22 = 'every release asks for Node 22; this one works on 20 too';

const redlock5 = { module: 'redlock5', driver: 'ioredis' };
const sesamecare = { module: '@sesamecare-oss/redlock', driver: 'ioredis6' };

export const libraries = [
  row('ioredis, own scripts', 'ioredis', 'ioredis', { options: { driver: 'ioredis' } }),
  row('ioredis, own scripts', 'ioredis6', 'ioredis', { options: { driver: 'ioredis6' } }),
  row('node-redis, own scripts', 'redis4', 'node-redis', { options: { driver: 'redis4' } }),
  row('node-redis, own scripts', 'redis', 'node-redis', { options: { driver: 'redis' } }),
  row('node-redis, own scripts', 'redis6', 'node-redis', { options: { driver: 'redis6' } }),
  row('redlock', 'redlock4', 'redlock4'),
  row('redlock (two keys)', 'redlock4', 'redlock4', { keys: 2 }),
  row('redlock', 'redlock5', 'redlock5', { options: redlock5 }),
  row('redlock (two keys)', 'redlock5', 'redlock5', { keys: 2, options: redlock5 }),
  row('@sesamecare-oss/redlock', '@sesamecare-oss/redlock', 'redlock5', { options: sesamecare }),
  row('@sesamecare-oss/redlock (two keys)', '@sesamecare-oss/redlock', 'redlock5', { keys: 2, options: sesamecare }),
  row('redis-semaphore Mutex', 'redis-semaphore', 'redis-semaphore'),
  row('redis-lock', 'redis-lock', 'redis-lock'),
  row('node-redis-warlock', 'node-redis-warlock', 'node-redis-warlock'),
  row('simple-redis-mutex', 'simple-redis-mutex', 'simple-redis-mutex'),
  row('redlock-universal', 'redlock-universal', 'redlock-universal', { note: NODE_22 }),
  row('redlock-universal (batch of two)', 'redlock-universal', 'redlock-universal-batch', { keys: 2, note: NODE_22 }),
  row('@microfleet/ioredis-lock', '@microfleet/ioredis-lock', 'ioredis-lock'),
];

/** One row: its name, the package in node_modules and the adapter's file. */
function row(library, packageName, adapter, { keys = 1, options = {}, note = '' } = {}) {
  return { library, packageName, adapter, keys, options, note };
}
