/* One job: what it is, what can be done with it, its life, its checkpoints, and its log as it grows. */
import {all, ask, tenantQuery, watch} from "./api.js";
import {chooseTarget, confirmCancel} from "./dialogs.js";
import {bytes, duration, make, progress, setText, time, when} from "./show.js";
import {timeline} from "./timeline.js";

const LOG_MAX = 500, EVENTS_MAX = 2000, DRAW_EVERY_MS = 500, AGAIN_MS = 2000;

/* Action: the states in which it is offered. */
const ACTIONS = {
  suspend: ["queued", "running"],
  resume: ["suspended", "held"],
  move: ["queued", "running", "suspended"],
  cancel: ["queued", "running", "suspended", "held"],
};

export class Detail {
  constructor(element, {devices, isAdmin, trouble, changed}) {
    this.element = element;
    this.host = {devices, isAdmin, trouble, changed};
    this.close();
  }

  close() {
    this.stop?.abort();
    this.job = null;
    this.element.replaceChildren(make("h2", {id: "detail-title"}, "Job"), make("p", {class: "hint"}, "Choose a job in the list to see its life."));
  }

  /* Shows a job; focus: the keyboard follows. */
  async open(id, focus) {
    this.stop?.abort();
    const stop = this.stop = new AbortController();
    this.job = {job: id};
    this.events = [];
    this.build(id);
    if (focus) this.element.focus();
    try {
      const job = await ask("GET", `/v1/jobs/${encodeURIComponent(id)}`, {query: tenantQuery(), signal: stop.signal});
      this.events = job.events;
      this.log.replaceChildren(...this.events.slice(-LOG_MAX).map((event) => this.line(event)));
      this.log.scrollTop = this.log.scrollHeight;
      this.show(job);
      await Promise.all([this.showCheckpoints(stop), this.follow(id, stop)]);
    } catch (error) {
      if (!stop.signal.aborted) setText(this.said, error.message);
    }
  }

  build(id) {
    this.state = make("span", {class: "state"});
    this.facts = make("dl");
    this.said = make("p", {role: "status", class: "hint"});
    this.buttons = Object.fromEntries(Object.keys(ACTIONS).map((verb) => [verb, make("button",
      {type: "button", disabled: true, class: verb === "cancel" ? "danger" : "", onclick: () => this.act(verb)},
      verb === "move" ? "Move…" : verb[0].toUpperCase() + verb.slice(1))]));
    this.life = make("div");
    this.checkpoints = make("div");
    this.log = make("ol", {class: "log", role: "log", tabindex: "0", "aria-label": "What happens to the job"});
    this.element.replaceChildren(
      make("div", {class: "title"}, make("h2", {id: "detail-title", class: "mono"}, id), this.state), this.facts,
      make("div", {class: "actions", role: "group", "aria-label": "Actions"}, ...Object.values(this.buttons)), this.said,
      make("h3", {}, "Life"), this.life, make("h3", {}, "Checkpoints"), this.checkpoints, make("h3", {}, "Log"), this.log);
  }

  /* Takes a newer look at the same job. */
  show(job) {
    Object.assign(this.job, job);
    setText(this.state, this.job.state);
    this.state.className = `state ${this.job.state}`;
    for (const [verb, states] of Object.entries(ACTIONS)) this.buttons[verb].disabled = this.busy || !states.includes(this.job.state);
    this.showFacts();
    this.planLife();
  }

  showFacts() {
    const job = this.job;
    const facts = [["model", job.model], ["tenant", job.tenant], ["device", job.device], ["priority", job.priority],
      ["progress", progress(job)], ["submitted", when(job.submitted ?? null)], ["started", when(job.started ?? null)],
      ["finished", when(job.finished ?? null)], ["device time", duration(job.device_seconds ?? null)],
      ["deadline", job.deadline ? `${when(job.deadline)}${job.missed ? ", missed" : ""}` : ""],
      ["moving to", job.migrating], ["there", job.moved_state], ["why", job.why]].filter(([, value]) => value);
    const text = facts.map(([name, value]) => `${name}\n${value}`).join("\n");
    if (text === this.factText) return;
    this.factText = text;
    this.facts.replaceChildren(...facts.flatMap(([name, value]) => [make("dt", {}, name), make("dd", {}, value)]));
  }

  /* A job with many events is not drawn for each of them. */
  planLife() {
    if (this.planned) return;
    this.planned = setTimeout(() => {
      this.planned = null;
      if (this.job) this.life.replaceChildren(timeline(this.events, Date.now() / 1000, this.life.clientWidth || undefined));
    }, this.drawn ? DRAW_EVERY_MS : 0);
    this.drawn = true;
  }

  line(event) {
    const what = event.kind === "state" || !event.kind ? event.state : event.kind;
    return make("li", {}, make("time", {}, time(event.time)), make("span", {}, event.why ? `${what}: ${event.why}` : what));
  }

  async showCheckpoints(stop) {
    const list = await all(`/v1/jobs/${encodeURIComponent(this.job.job)}/checkpoints`, tenantQuery());
    if (stop.signal.aborted) return;
    if (!list.length) {
      this.checkpoints.replaceChildren(make("p", {class: "hint"}, "None yet."));
      return;
    }
    const head = (text, style) => make("th", {scope: "col", class: style ?? ""}, text);
    const cell = (text, style) => make("td", {class: style ?? ""}, text);
    const rows = list.reverse().slice(0, 100).map((point) => make("tr", {}, cell(String(point.id), "number"), cell(when(point.time)),
      cell(bytes(point.bytes), "number"), cell(point.items_done === null ? "" : String(point.items_done), "number")));
    this.checkpoints.replaceChildren(make("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": "Checkpoints"},
      make("table", {}, make("thead", {}, make("tr", {}, head("id", "number"), head("time"), head("size", "number"), head("items", "number"))), make("tbody", {}, ...rows))));
  }

  /* The job's stream; it ends with the job, and begins again where the connection broke. */
  async follow(id, stop) {
    while (!stop.signal.aborted && !this.job.ended) {
      const since = this.events.at(-1)?.seq ?? 0;
      try {
        await watch(`/v1/jobs/${encodeURIComponent(id)}/watch`, {...tenantQuery(), since}, stop.signal, (line) => {
          if (!stop.signal.aborted) this.take(line, stop);
        });
      } catch (error) {
        if (stop.signal.aborted) return;
        if (error.status) throw error;
      }
      if (stop.signal.aborted) return;
      const job = await ask("GET", `/v1/jobs/${encodeURIComponent(id)}`, {query: tenantQuery(), signal: stop.signal});
      delete job.events;
      this.show(job);
      if (!job.ended) await new Promise((done) => setTimeout(done, AGAIN_MS));
    }
  }

  take(line, stop) {
    if (line.time === undefined) {
      this.show(line.outputs === undefined || line.items_done !== undefined ? line : {outputs: line.outputs});
      return;
    }
    if (this.events.length && line.seq <= this.events.at(-1).seq) return;
    this.events.push({...line, kind: line.kind ?? "state"});
    if (this.events.length > EVENTS_MAX) this.events.splice(1, this.events.length - EVENTS_MAX);
    const atEnd = this.log.scrollTop + this.log.clientHeight > this.log.scrollHeight - 30;
    this.log.append(this.line(this.events.at(-1)));
    while (this.log.children.length > LOG_MAX) this.log.firstChild.remove();
    if (atEnd) this.log.scrollTop = this.log.scrollHeight;
    if (line.kind === "checkpoint") this.showCheckpoints(stop).catch(() => {}); /* the next one shows them */
    this.planLife();
  }

  async act(verb) {
    const job = {...this.job}, stop = this.stop;
    const post = (what, body) => ask("POST", `/v1/jobs/${encodeURIComponent(job.job)}/${what}`, {query: tenantQuery(), body});
    if (verb === "cancel" && !await confirmCancel(job)) return;
    const target = verb === "move" ? await this.chooseTarget(job) : null;
    if (verb === "move" && !target) return;
    this.busy = true;
    this.show({});
    setText(this.said, verb === "suspend" || verb === "cancel" ? "Waits for the job's next safepoint…" : "");
    try {
      if (target?.node) await post("migrate", {to: target.node});
      else if (target) {
        if (job.state !== "suspended") await post("suspend", {});
        await post("resume", {device: target.device});
      } else await post(verb, {});
      if (!stop.signal.aborted) setText(this.said, "");
    } catch (error) {
      if (!stop.signal.aborted) setText(this.said, error.message);
    }
    this.busy = false;
    if (stop.signal.aborted) return;
    const now = await ask("GET", `/v1/jobs/${encodeURIComponent(job.job)}`, {query: tenantQuery()}).catch(() => null);
    if (!now || stop.signal.aborted) return;
    delete now.events;
    this.show(now);
    this.host.changed(now);
  }

  async chooseTarget(job) {
    let nodes = null;
    if (this.host.isAdmin()) nodes = await all("/v1/nodes", {}).catch(() => []);
    return chooseTarget(job, this.host.devices(), nodes);
  }
}
