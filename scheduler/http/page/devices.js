/* The devices: how busy each is and how much of its memory is used, since the page was opened, and whose job it runs. */
import {bytes, color, draw, make, percent, setText} from "./show.js";

const SAMPLES = 300; /* at one every two seconds: ten minutes */
const HEIGHT = 40, STRIPE = 5, SCALE = 1000;

class Device {
  constructor(name, open) {
    this.samples = [];
    this.name = make("b");
    this.now = make("span", {class: "now"});
    this.busy = draw("path", {class: "busy"});
    this.memory = draw("path", {class: "memory"});
    this.owners = draw("g");
    this.chart = draw("svg", {viewBox: `0 0 ${SCALE} ${HEIGHT + STRIPE + 2}`, preserveAspectRatio: "none", role: "img"},
      this.busy, this.memory, this.owners);
    this.dot = make("span", {class: "dot"});
    this.tenant = make("span");
    this.job = make("button", {type: "button", class: "link mono", onclick: () => open(this.owner, this.running)});
    this.whose = make("p", {class: "whose"}, this.dot, this.tenant, this.job);
    this.element = make("article", {class: "device", "aria-label": `Device ${name}`},
      make("div", {class: "top"}, this.name, this.now), this.chart, this.whose);
    setText(this.name, name);
  }

  add(time, status) {
    const last = this.samples.at(-1);
    const used = status.memory_bytes ? 1 - status.free_bytes / status.memory_bytes : 0;
    const passed = last ? time - last.time : 0;
    if (last && passed <= 0) return;
    const worked = last ? (status.busy_seconds - last.busy_seconds) / passed : status.job ? 1 : 0;
    this.samples.push({time, busy_seconds: status.busy_seconds, busy: Math.min(1, Math.max(0, worked)), used, tenant: status.tenant});
    if (this.samples.length > SAMPLES) this.samples.shift();
    this.running = status.job;
    this.owner = status.tenant;
    this.show(status);
  }

  show(status) {
    const {busy, used} = this.samples.at(-1);
    setText(this.now, `busy ${percent(busy)} · ${bytes(status.memory_bytes - status.free_bytes)} of ${bytes(status.memory_bytes)}`);
    this.dot.className = `dot ${status.tenant ? color(status.tenant) : ""}`;
    setText(this.tenant, status.tenant ?? (busy > 0.02 ? "another tenant's job" : "idle"));
    setText(this.job, status.job ?? "");
    this.chart.setAttribute("aria-label",
      `${status.device}: busy ${percent(busy)}, memory ${percent(used)}, ${status.tenant ? `runs a job of ${status.tenant}` : "runs no job that you may see"}`);
    this.plot();
  }

  plot() {
    const step = SCALE / (SAMPLES - 1);
    const first = SAMPLES - this.samples.length;
    const at = (i) => ((first + i) * step).toFixed(1);
    const height = (part) => (HEIGHT - 1 - part * (HEIGHT - 3)).toFixed(1);
    const line = (what) => this.samples.map((sample, i) => `${i ? "L" : "M"}${at(i)} ${height(sample[what])}`).join("");
    this.busy.setAttribute("d", `${line("busy")}L${SCALE} ${HEIGHT}L${at(0)} ${HEIGHT}Z`);
    this.memory.setAttribute("d", line("used"));
    this.owners.replaceChildren(...this.stripes(step, first));
  }

  /* One rectangle for each stretch of samples of the same tenant. */
  stripes(step, first) {
    const found = [];
    this.samples.forEach((sample, i) => {
      const last = found.at(-1);
      if (last && last.tenant === sample.tenant) last.to = i;
      else found.push({tenant: sample.tenant, from: i, to: i});
    });
    return found.filter((stretch) => stretch.tenant).map((stretch) => draw("rect", {
      class: color(stretch.tenant), x: ((first + stretch.from - 0.5) * step).toFixed(1), y: HEIGHT + 2,
      width: ((stretch.to - stretch.from + 1) * step).toFixed(1), height: STRIPE,
    }, draw("title", {}, stretch.tenant)));
  }
}

export class Devices {
  constructor(element, open) {
    this.element = element;
    this.open = open;
    this.devices = new Map();
    this.key = make("p", {class: "key hint"}, make("span", {}, make("i", {class: "busy"}), "busy"),
      make("span", {}, make("i", {class: "memory"}), "memory"), make("span", {}, "stripe: the tenant's color; the last ten minutes"));
  }

  get names() {
    return [...this.devices.keys()];
  }

  take({time, devices}) {
    for (const status of devices) {
      if (!this.devices.has(status.device)) {
        const device = new Device(status.device, this.open);
        this.devices.set(status.device, device);
        this.element.append(device.element);
        this.element.after(this.key);
      }
      this.devices.get(status.device).add(time, status);
    }
  }
}
