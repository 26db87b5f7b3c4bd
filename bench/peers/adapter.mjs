// What runs in the process of an adapter in JavaScript: the same protocol as bench/adapter.py.
import { createInterface } from "node:readline";
import { openSync, readFileSync, writeSync } from "node:fs";
import { createRequire } from "node:module";
import { join } from "node:path";

export const URL_OF_STORE = process.env.BENCH_URL;
const FOLDER = process.env.BENCH_METER;
const BATCH = 1000;

export const microseconds = () => Number(process.hrtime.bigint() / 1000n);

// Tells the harness, through files, how many jobs were handled and when; see Meter in bench/adapter.py.
export class Meter {
  constructor() {
    this.every = Number(process.env.BENCH_EVERY ?? 1);
    this.count = 0;
    this.files = {};
  }

  note(sent = 0) {
    if (sent) this.write("started", [sent, microseconds()]);
    else if (this.count++ % this.every === 0) this.write("handled", [microseconds()]);
  }

  write(kind, numbers) {
    const name = `${process.pid}.${kind}-${this.every}`;
    this.files[kind] ??= openSync(join(FOLDER, name), "a");
    const record = Buffer.alloc(8 * numbers.length);
    numbers.forEach((number, index) => record.writeBigUInt64LE(BigInt(number), 8 * index));
    writeSync(this.files[kind], record);
  }
}

const range = (first, last) => Array.from({ length: last - first }, (_, index) => first + index);
const seconds = () => performance.now() / 1000;

async function timed(run, allowed) {
  const started = seconds();
  const jobs = await run(started + allowed);
  return { jobs, seconds: seconds() - started };
}

async function caller(client, until) {
  let jobs = 0;
  while (seconds() < until) await client.enqueue(jobs++, 0);
  return jobs;
}

const commands = {
  async open(client) {
    await client.open();
    const found = client.packages.map((name) => [name, versionOf(name)]);
    return {
      versions: { node: process.version.slice(1), ...Object.fromEntries(found) },
      bulk: "enqueueMany" in client,
      results: "wait" in client,
      counts: "remaining" in client,
      holds: false,
    };
  },
  async enqueue_one(client, asked) {
    await client.enqueue(0, 0);
    return timed((until) => caller(client, until), asked.seconds);
  },
  async enqueue_together(client, asked) {
    await client.enqueue(0, 0);
    const all = (until) => Promise.all(range(0, asked.callers).map(() => caller(client, until)));
    return timed(async (until) => (await all(until)).reduce((sum, jobs) => sum + jobs, 0), asked.seconds);
  },
  async enqueue_many(client, asked) {
    await client.enqueueMany(range(0, BATCH));
    return timed(async (until) => {
      let jobs = 0;
      for (; seconds() < until; jobs += BATCH) await client.enqueueMany(range(jobs, jobs + BATCH));
      return jobs;
    }, asked.seconds);
  },
  async fill(client, asked) {
    for (let first = 0; first < asked.jobs; first += BATCH)
      await client.enqueueMany(range(first, Math.min(first + BATCH, asked.jobs)));
    return {};
  },
  async remaining(client) {
    return { jobs: await client.remaining() };
  },
  async empty(client) {
    await client.empty();
    return {};
  },
  async latency(client, asked) {
    const fired = await paced(asked, async (number) => {
      const sent = microseconds();
      await client.enqueue(number, sent);
      await sleep(30);
      return sent;
    });
    if (!("wait" in client)) return { fired, visible: [] };
    const visible = await paced(asked, async (number) => {
      const sent = microseconds();
      await client.wait(await client.enqueue(number, sent));
      return microseconds() - sent;
    });
    return { fired, visible };
  },
};

const sleep = (milliseconds) => new Promise((resolve) => setTimeout(resolve, milliseconds));

async function paced(asked, one) {
  const told = [];
  const until = seconds() + asked.seconds;
  for (let number = 0; number < asked.jobs && seconds() < until; number++) {
    told.push(await one(number));
    // No fixed step, which could fall in with somebody's polling.
    await sleep(10 + Math.random() * 40);
  }
  return told;
}

function versionOf(name) {
  const require = createRequire(import.meta.url);
  const folders = require.resolve.paths(name);
  for (const folder of folders) {
    try {
      return JSON.parse(readFileSync(join(folder, name, "package.json"), "utf8")).version;
    } catch (error) {
      if (error.code !== "ENOENT") throw error;
    }
  }
  return "not installed";
}

// Start as what the command line says: answer the harness, or work.
export async function main(client, work) {
  process.on("SIGTERM", () => process.exit(0));
  if (process.argv[2] === "work") return work();
  for await (const line of createInterface({ input: process.stdin })) {
    const asked = JSON.parse(line);
    const answer = await commands[asked.do](client, asked);
    process.stdout.write(JSON.stringify(answer) + "\n");
  }
  process.exit(0);
}
