/* A job's life as a picture: when it waited, on which device it ran, when it was suspended, and its checkpoints. */
import {deviceColor, draw, duration, make, time} from "./show.js";

const WIDTH = 640, TOP = 22, THICK = 24, BOTTOM = TOP + THICK;
const ENDED = ["succeeded", "failed", "cancelled", "moved", "released"];

/* What follows an event: {kind, device}; null: as before. */
function phase(event, before) {
  if (event.kind === "running") {
    const device = /^on ([^\s,;]+)/.exec(event.why ?? "");
    return {kind: "on", device: device ? device[1] : "a device"};
  }
  if (event.kind === "preempted" || event.kind === "moved_out" || event.kind === "restarted") return {kind: "queued"};
  if (event.kind !== "state") return null;
  if (ENDED.includes(event.state)) return {kind: "end", state: event.state};
  if (event.state === "suspended") return {kind: "suspended"};
  if (event.state === "held" || event.state === "in_doubt") return {kind: "held"};
  return before?.kind === "on" ? null : {kind: "queued"};
}

/* [{kind, device, from, to}] of a job's events, up to now. */
export function phases(events, now) {
  const found = [];
  for (const event of events) {
    const next = phase(event, found.at(-1));
    if (!next) continue;
    const last = found.at(-1);
    if (last && last.to === undefined) last.to = event.time;
    if (next.kind === "end") return {phases: found, end: next.state, until: event.time};
    found.push({...next, from: event.time});
  }
  if (found.length && found.at(-1).to === undefined) found.at(-1).to = Math.max(now, found.at(-1).from);
  return {phases: found, end: null, until: now};
}

function describe(one) {
  return `${one.kind === "on" ? `on ${one.device}` : one.kind} ${duration(one.to - one.from)}`;
}

function segment(one, x) {
  const left = x(one.from), width = Math.max(1.5, x(one.to) - left);
  const group = draw("g", {class: "segment"}, draw("title", {}, `${describe(one)}, from ${time(one.from)}`),
    draw("rect", {class: one.kind === "on" ? deviceColor(one.device) : one.kind, x: left.toFixed(1), y: TOP, width: width.toFixed(1), height: THICK, rx: 3}));
  if (one.kind === "on" && width > one.device.length * 7 + 8)
    group.append(draw("text", {x: (left + 5).toFixed(1), y: TOP + 16}, one.device));
  return group;
}

/* The picture and its legend. width: of the place for it. */
export function timeline(events, now, width = WIDTH) {
  const {phases: found, end, until} = phases(events, now);
  if (!found.length) return make("p", {class: "hint"}, "Nothing has happened to this job yet.");
  const from = found[0].from, span = Math.max(until - from, 0.001);
  const x = (at) => 1 + ((at - from) / span) * (width - 2);
  const marks = (kind, shape) => events.filter((event) => event.kind === kind && event.time >= from).map((event) => {
    const mark = shape(x(event.time));
    mark.append(draw("title", {}, `${kind} at ${time(event.time)}`));
    return mark;
  });
  const picture = draw("svg", {class: "timeline", viewBox: `0 0 ${width} 74`, role: "img",
    "aria-label": `The job's life: ${found.slice(0, 40).map(describe).join(", ")}${end ? `, then ${end}` : ""}`},
    draw("rect", {class: "track", x: 0, y: TOP, width, height: THICK, rx: 3}), ...found.map((one) => segment(one, x)),
    ...marks("checkpoint", (at) => draw("rect", {class: "checkpoint", x: (at - 1).toFixed(1), y: TOP - 8, width: 2, height: 8})),
    ...marks("output", (at) => draw("circle", {class: "output", cx: at.toFixed(1), cy: BOTTOM + 5, r: 2.5})),
    draw("text", {x: 0, y: 12}, time(from)), draw("text", {x: width, y: 12, "text-anchor": "end"}, end ? `${end} ${time(until)}` : "now"),
    draw("text", {x: 0, y: 70}, `${duration(span)} in all`));
  return make("div", {}, picture, legend(found));
}

function legend(found) {
  const item = (style, text) => make("span", {}, make("i", {class: style}), text);
  const devices = [...new Set(found.filter((one) => one.kind === "on").map((one) => one.device))];
  return make("p", {class: "legend"}, ...devices.map((device) => item(deviceColor(device), device)),
    item("queued", "queued"), item("suspended", "suspended"), item("held", "held"), item("checkpoint", "checkpoint"), item("output", "output"));
}
