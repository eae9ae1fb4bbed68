// Connections of the drivers that the lock libraries stand on. A lost connection
// is the driver's business: it reconnects in its own way, and says so on stderr.
import { once } from 'node:events';

/** An ioredis client; driver is the package's name here. */
export async function ioredis(server, driver = 'ioredis') {
  const { Redis } = await import(driver);
  const client = new Redis({ host: server.host, port: server.port, lazyConnect: true });
  client.on('error', complain);
  await client.connect();
  return { client, ping: () => client.ping(), close: () => client.disconnect() };
}

/** A node-redis client of version 4 or newer, with scripts as it wants them. */
export async function nodeRedis(server, driver, scripts = {}) {
  const { createClient } = await import(driver);
  const client = createClient({ socket: { host: server.host, port: server.port }, scripts });
  client.on('error', complain);
  await client.connect();
  const close = () => (client.destroy ? client.destroy() : client.disconnect());
  return { client, ping: () => client.ping(), close };
}

/** A client of node_redis 3, which has callbacks. */
export async function nodeRedis3(server) {
  const { default: redis } = await import('redis3');
  const client = redis.createClient({ host: server.host, port: server.port });
  client.on('error', complain);
  await once(client, 'ready');
  const ping = () =>
    new Promise((resolve, reject) => client.ping((error, reply) => (error ? reject(error) : resolve(reply))));
  return { client, ping, close: () => client.end(true) };
}

const complaints = new Set();

/** Says every fault once: drivers repeat them while they reconnect. */
function complain(error) {
  if (complaints.has(error.message)) return;
  complaints.add(error.message);
  console.error(`connection: ${error.message}`);
}
