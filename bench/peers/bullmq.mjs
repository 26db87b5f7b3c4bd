// BullMQ: scripts inside Redis, finished jobs removed.
import { Queue, QueueEvents, Worker } from "bullmq";
import { Meter, URL_OF_STORE, main } from "./adapter.mjs";

const meter = new Meter();
const address = new URL(URL_OF_STORE);
const connection = { host: address.hostname, port: +address.port, db: +address.pathname.slice(1) };
const options = { removeOnComplete: true, removeOnFail: true };

class Client {
  packages = ["bullmq", "ioredis"];

  async open() {
    this.queue = new Queue("noop", { connection });
    this.events = new QueueEvents("noop", { connection });
    await this.events.waitUntilReady();
  }

  enqueue(n, sent) {
    // Whoever waits for a job must find it.
    return this.queue.add("noop", { n, sent }, sent ? { removeOnComplete: 1000 } : options);
  }

  enqueueMany(numbers) {
    return this.queue.addBulk(numbers.map((n) => ({ name: "noop", data: { n, sent: 0 }, opts: options })));
  }

  wait(job) {
    return job.waitUntilFinished(this.events, 30000);
  }

  async remaining() {
    const counts = await this.queue.getJobCounts("wait", "active", "prioritized", "delayed");
    return Object.values(counts).reduce((sum, jobs) => sum + jobs, 0);
  }

  async empty() {
    await this.queue.drain();
  }
}

async function work() {
  const worker = new Worker("noop", async (job) => meter.note(job.data.sent), { connection, concurrency: 100 });
  await worker.waitUntilReady();
}

await main(new Client(), work);
