// What the outcomes of one scenario on both servers come to.

/** Compares what was seen through the proxy and with the plain server. */
export function judge(proxy, plain) {
  if (plain.unsupported) return { result: 'unsupported', detail: plain.unsupported };
  if (proxy.unsupported) return { result: 'unsupported', detail: proxy.unsupported };
  const difference = firstDifference(proxy.seen, plain.seen);
  if (difference) return { result: 'differs', detail: difference };
  const wrong = proxy.wrong[0] ?? plain.wrong[0];
  if (wrong) {
    const who = proxy.wrong.length ? (plain.wrong.length ? 'both' : 'proxy') : 'plain';
    return { result: 'differs', detail: `${who}: not seen: ${wrong}` };
  }
  return { result: 'pass' };
}

function firstDifference(proxy, plain) {
  for (let i = 0; i < Math.max(proxy.length, plain.length); i++) {
    if (proxy[i] !== plain[i]) return `proxy: ${proxy[i] ?? 'nothing more'}; plain: ${plain[i] ?? 'nothing more'}`;
  }
  return undefined;
}
