// pg-boss: a thousand jobs a fetch and a completion, woken by NOTIFY.
import { PgBoss } from "pg-boss";
import pg from "pg";
import { Meter, URL_OF_STORE, main } from "./adapter.mjs";

const meter = new Meter();

class Client {
  packages = ["pg-boss", "pg"];

  async open() {
    this.pool = new pg.Pool({ connectionString: URL_OF_STORE, max: 2 });
    this.boss = new PgBoss({ connectionString: URL_OF_STORE, max: 20, supervise: false, schedule: false });
    this.boss.on("error", console.error);
    await this.boss.start();
    await this.boss.createQueue("noop", { notify: true });
  }

  enqueue(n, sent) {
    return this.boss.send("noop", { n, sent });
  }

  enqueueMany(numbers) {
    return this.boss.insert("noop", numbers.map((n) => ({ data: { n, sent: 0 } })));
  }

  async remaining() {
    const found = await this.pool.query("SELECT count(*)::int AS jobs FROM pgboss.job WHERE state < 'completed'");
    return found.rows[0].jobs;
  }

  async empty() {
    await this.pool.query("TRUNCATE pgboss.job CASCADE");
  }
}

async function work() {
  const boss = new PgBoss({ connectionString: URL_OF_STORE, max: 10, useListenNotify: true });
  boss.on("error", console.error);
  await boss.start();
  const options = { batchSize: 1000, pollingIntervalSeconds: 0.5, burstWhenBatchFull: true };
  await boss.work("noop", options, async (jobs) => jobs.forEach((job) => meter.note(job.data.sent)));
}

await main(new Client(), work);
