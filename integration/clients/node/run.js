// The runner: plays every scenario with every library against both servers and
// prints one line for each. See ../README.md.
import { fork } from 'node:child_process';
import { randomBytes } from 'node:crypto';
import { readFileSync } from 'node:fs';
import { Barrier, request } from './faults.js';
import { judge } from './judge.js';
import { libraries } from './libraries.js';
import { scenarios } from './scenarios.js';

const env = (name) => process.env[name] ?? fail(`${name} is not set`);
const proxy = { host: env('PROXY_HOST'), port: Number(env('PROXY_PORT')) };
const plain = { host: env('PLAIN_HOST'), port: Number(env('PLAIN_PORT')) };
const control = env('CONTROL_URL');
const run = randomBytes(4).toString('hex');

const WITH_FAULTS = ['master-killed', 'proxy-restarted'];
const rows = libraries.map((_, row) => row);

const withoutFaults = Object.keys(scenarios).filter((name) => !WITH_FAULTS.includes(name));

await inParallel(rows, 2, (row) => compare(row, withoutFaults));
for (const group of chunks(rows, 4)) {
  await together(group, 'master-killed');
  await request(control, 'heal');
}
for (const group of chunks(rows, 6)) await together(group, 'proxy-restarted');

/** Plays a scenario with several libraries that share one fault. */
function together(group, scenario) {
  const barrier = new Barrier(control, group.length);
  return Promise.all(group.map((row) => compare(row, [scenario], barrier)));
}

/** Plays scenarios with one library on both servers and prints the results. */
async function compare(row, names, barrier) {
  const [withProxy, withPlain] = await Promise.all([
    play({ row, scenarios: names, server: proxy, faults: Boolean(barrier) }, barrier),
    play({ row, scenarios: names, server: plain }),
  ]);
  const { library, packageName, note } = libraries[row];
  for (const scenario of names) {
    const { result, detail = note } = judge(withProxy.get(scenario), withPlain.get(scenario));
    const line = { language: 'node', library, version: version(packageName), scenario, result, detail };
    console.log(JSON.stringify(line));
  }
}

/** Runs a side process; returns the outcome of each scenario. */
function play(task, barrier) {
  const outcomes = new Map();
  const side = fork(new URL('side.js', import.meta.url), [JSON.stringify(task)], {
    env: { ...process.env, LOCK_PREFIX: `${run}-${task.row}-` }, stdio: ['ignore', 'ignore', 'inherit', 'ipc'],
  });
  side.on('message', (message) => {
    if (message.scenario) outcomes.set(message.scenario, message.outcome);
    else barrier.arrive(side, message.fault).then(() => side.connected && side.send({}), fail);
  });
  return new Promise((resolve) => {
    side.on('exit', (code, signal) => {
      barrier?.arrive(side).catch(fail);
      for (const name of task.scenarios) {
        if (!outcomes.has(name)) outcomes.set(name, crashed(signal ?? code));
      }
      resolve(outcomes);
    });
  });
}

function crashed(code) {
  return { seen: [`the process ended with ${code}`], wrong: ['the scenario ends'] };
}

async function inParallel(items, width, work) {
  const queue = [...items];
  const worker = async () => {
    while (queue.length) await work(queue.shift());
  };
  await Promise.all(Array.from({ length: width }, worker));
}

function chunks(items, size) {
  return Array.from({ length: Math.ceil(items.length / size) }, (_, i) => items.slice(i * size, (i + 1) * size));
}

function version(packageName) {
  const file = new URL(`node_modules/${packageName}/package.json`, import.meta.url);
  return JSON.parse(readFileSync(file)).version.replace(/^v/, '');
}

function fail(reason) {
  console.error(reason);
  process.exit(1);
}
