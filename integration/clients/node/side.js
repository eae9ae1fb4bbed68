// One library against one server: a process of its own, so that what a library
// keeps in its module, and its crash, are nobody else's. The runner starts it
// and is told the outcome of every scenario.
import { libraries } from './libraries.js';
import { scenarios } from './scenarios.js';
import { Stage } from './stage.js';
import { words } from './words.js';

const task = JSON.parse(process.argv[2]);
const row = libraries[task.row];
const { open } = await import(`./adapters/${row.adapter}.js`);
process.on('disconnect', () => process.exit(1)); // the runner is gone

// An error that nobody catches ends a caller's process: it is seen as well.
const strays = [];
process.on('unhandledRejection', (error) => {
  console.error(`${row.library}: unhandled`, error);
  strays.push(`unhandled: ${words(error)}`);
});

/** Asks the runner for a fault. Without a test bed behind it, nothing happens. */
async function fault(kind) {
  if (!task.faults) return;
  const done = new Promise((resolve) => process.once('message', resolve));
  process.send({ fault: kind });
  await done;
}

async function play(scenario) {
  const stage = new Stage({
    scenario, server: task.server, open: (server) => open(server, row.options), keys: row.keys, fault,
  });
  const outcome = await stage.play(scenarios[scenario]);
  if (strays.length && outcome.seen) outcome.seen.push(...strays.splice(0));
  process.send({ scenario, outcome });
}

// Most of their time is waiting for TTLs: all at once, but for the busy ones.
const busy = ['contention', 'master-killed', 'proxy-restarted'];
await Promise.all(task.scenarios.filter((name) => !busy.includes(name)).map(play));
for (const name of task.scenarios.filter((name) => busy.includes(name))) await play(name);
process.disconnect();
process.exit();
