// What a caller sees, in words that can be compared between two servers and two
// runs: without tokens, times and random names.

/** Says what a library returned, or what it threw. */
export function words(value, seen = new Set()) {
  if (value instanceof Error) return errorWords(value, seen);
  if (typeof value === 'function') return 'function';
  if (typeof value === 'object' && value !== null) return plain(JSON.stringify(value));
  return plain(String(value));
}

function errorWords(error, seen) {
  seen.add(error);
  const text = plain(`${error.name}: ${error.message}`);
  if (!(error.cause instanceof Error) || seen.has(error.cause)) return text;
  return `${text} ← ${words(error.cause, seen)}`;
}

const prefix = process.env.LOCK_PREFIX ?? ''; // of this run and this library

/** A name for a lock, which nobody else uses. */
export function lockName(scenario, number) {
  return `${prefix}${scenario}-${number}`;
}

function plain(text) {
  return text
    .replace(new RegExp(`${prefix}[a-z-]+-(\\d+)`, 'g'), 'lock-$1')
    .replace(/[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}/g, 'TOKEN')
    .replace(/\b[0-9a-f]{32,}\b/g, 'TOKEN')
    .replace(/\b\d{10,}\b|\b\d+(\.\d+)?m?s\b/g, 'TIME')
    .replace(/\b127\.0\.0\.1:\d+\b/g, 'SERVER');
}

/** Says how much of a TTL is left. A busy machine may be slow, but not by half of it. */
export function left(ms, ttl) {
  if (ms < 0) return ms; // no key, or no TTL
  return ms > ttl / 2 && ms <= ttl ? 'most of the TTL' : `${(ms / ttl).toFixed(2)} of the TTL`;
}

// The proxy's deliberate refusals name the program; an ordinary fault does not.
const byDesign = /is not served by redlock-proxy|redlock-proxy: this script/;

/** The text of a deliberate refusal that an error carries or was caused by. */
export function refusal(error) {
  for (let e = error, depth = 0; e instanceof Error && depth < 5; e = e.cause, depth++) {
    if (byDesign.test(e.message)) return words(error);
  }
  return undefined;
}
