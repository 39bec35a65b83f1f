/* The jobs that the page knows, in the order in which they came. The daemon answers lists in pages; all pages are read
 * once. Later only what may have changed is read again: what is new, what runs, what is in view, and page by page what has
 * not ended. */
import {page, tenantQuery} from "./api.js";

const PAGE = 1000, FIRST = 60, RANGE = 200, SINGLES = 16;
const FIELDS = ["job", "place", "model", "tenant", "state", "items_done", "items_total", "device", "priority", "submitted",
  "started", "finished", "deadline", "missed", "device_seconds", "checkpoint_age", "migrating", "moved_state", "why", "ended", "outputs"];

function keep(line) {
  const job = {};
  for (const field of FIELDS) job[field] = line[field];
  return job;
}

export class Jobs {
  constructor(changed) {
    this.changed = changed; /* (job, its state before or null): called for what was seen to change */
    this.clear();
  }

  clear() {
    this.list = [];
    this.byId = new Map();
    this.loaded = false;
    this.sweepAt = 0;
    this.round = (this.round ?? 0) + 1; /* answers to an earlier round's questions are dropped */
  }

  find(id) {
    return this.byId.get(id);
  }

  put(line) {
    const known = this.byId.get(line.job);
    if (!known) {
      const job = keep(line);
      this.byId.set(job.job, job);
      this.list.push(job);
      this.unsorted ||= this.list.length > 1 && this.list.at(-2).place > job.place;
      if (this.loaded) this.changed(job, null);
      return;
    }
    const before = known.state;
    Object.assign(known, keep(line));
    if (before !== known.state) this.changed(known, before);
  }

  sort() {
    if (this.unsorted) this.list.sort((a, b) => a.place - b.place);
    this.unsorted = false;
  }

  /* The index of the first job behind a place. */
  indexBehind(place) {
    let low = 0, high = this.list.length;
    while (low < high) {
      const middle = (low + high) >> 1;
      if (this.list[middle].place > place) high = middle;
      else low = middle + 1;
    }
    return low;
  }

  /* Takes all jobs of the places (after, last]: those that are not among the lines were removed. */
  takeRange(after, last, lines) {
    for (const line of lines) this.put(line);
    this.sort();
    const present = new Set(lines.map((line) => line.job));
    const from = this.indexBehind(after), to = this.indexBehind(last);
    const gone = this.list.slice(from, to).filter((job) => !present.has(job.job));
    if (!gone.length) return;
    for (const job of gone) this.byId.delete(job.job);
    this.list = this.list.filter((job) => this.byId.has(job.job));
  }

  /* Reads a page behind a place, up to another one; where the next page begins, or null. */
  async read(after, limit, until = Infinity) {
    const round = this.round;
    const {lines, next} = await page("/v1/jobs", {...tenantQuery(), after: after || null, limit});
    if (round !== this.round) return null;
    const last = next === null ? until : Math.min(until, Number(next));
    this.takeRange(after, last, lines.filter((line) => line.place <= until));
    return next === null ? null : Number(next);
  }

  /* What waits comes first, so that the queue is there at once; then everything. */
  async load(shown) {
    const round = this.round;
    const first = async (state) => {
      const {lines} = await page("/v1/jobs", {...tenantQuery(), state, limit: FIRST});
      if (round !== this.round) return;
      for (const line of lines) this.put(line);
      this.sort();
    };
    await first("queued");
    shown();
    for (let after = 0; after !== null && round === this.round;) {
      after = await this.read(after, PAGE);
      shown();
    }
    if (round !== this.round) return;
    this.loaded = true;
    shown();
  }

  async refresh(inView) {
    if (!this.loaded) return;
    await this.read(this.list.at(-1)?.place ?? 0, PAGE);
    await this.refreshView(inView.filter((job) => !job.ended));
    await this.refreshRunning();
    await this.sweep();
  }

  async refreshOne(job) {
    await this.read(job.place - 1, 1, job.place);
  }

  async refreshView(jobs) {
    if (!jobs.length) return;
    const places = jobs.map((job) => job.place);
    const first = Math.min(...places), last = Math.max(...places);
    if (this.indexBehind(last) - this.indexBehind(first - 1) <= RANGE) await this.read(first - 1, RANGE, last);
    else for (const job of jobs.slice(0, SINGLES)) await this.refreshOne(job);
  }

  async refreshRunning() {
    const running = this.list.filter((job) => job.state === "running");
    for (const job of running.slice(0, SINGLES)) await this.refreshOne(job);
  }

  /* One page of those that have not ended, from where the last sweep stopped. */
  async sweep() {
    let index = this.indexBehind(this.sweepAt);
    while (index < this.list.length && this.list[index].ended) index++;
    if (index === this.list.length) {
      this.sweepAt = 0;
      return;
    }
    const after = this.list[index].place - 1;
    const last = this.list[Math.min(index + PAGE, this.list.length) - 1].place;
    await this.read(after, PAGE, last);
    this.sweepAt = last;
  }
}
