// graphile-worker: claims and completions in batches, with the settings of its own page on performance.
import { makeWorkerUtils, run } from "graphile-worker";
import pg from "pg";
import { Meter, URL_OF_STORE, main } from "./adapter.mjs";

const meter = new Meter();

class Client {
  packages = ["graphile-worker", "pg"];

  async open() {
    this.pool = new pg.Pool({ connectionString: URL_OF_STORE, max: 20 });
    this.utils = await makeWorkerUtils({ pgPool: this.pool });
    await this.utils.migrate();
  }

  enqueue(n, sent) {
    return this.utils.addJob("noop", { n, sent });
  }

  enqueueMany(numbers) {
    return this.utils.addJobs(numbers.map((n) => ({ identifier: "noop", payload: { n, sent: 0 } })));
  }

  async remaining() {
    const found = await this.pool.query("SELECT count(*)::int AS jobs FROM graphile_worker._private_jobs");
    return found.rows[0].jobs;
  }

  async empty() {
    await this.pool.query("TRUNCATE graphile_worker._private_jobs");
  }
}

async function work() {
  const worker = {
    connectionString: URL_OF_STORE,
    concurrentJobs: 24,
    maxPoolSize: 25,
    localQueue: { size: 500 },
    completeJobBatchDelay: 0,
    failJobBatchDelay: 0,
  };
  const taskList = { noop: async (payload) => meter.note(payload.sent) };
  const runner = await run({ preset: { worker }, taskList });
  await runner.promise;
}

await main(new Client(), work);
