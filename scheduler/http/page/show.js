/* Elements, and values as people read them. Texts become text nodes, never HTML. */

export function make(tag, properties = {}, ...children) {
  const element = document.createElement(tag);
  for (const [name, value] of Object.entries(properties)) {
    if (name === "class") element.className = value;
    else if (name.startsWith("on")) element.addEventListener(name.slice(2), value);
    else if (value !== null && value !== undefined && value !== false) element.setAttribute(name, value === true ? "" : value);
  }
  element.append(...children.filter((child) => child !== null && child !== undefined));
  return element;
}

const SVG = "http://www.w3.org/2000/svg";

export function draw(tag, attributes = {}, ...children) {
  const element = document.createElementNS(SVG, tag);
  for (const [name, value] of Object.entries(attributes)) element.setAttribute(name, value);
  element.append(...children);
  return element;
}

/* Sets a text only where it differs, so that nothing is laid out again in vain. */
export function setText(element, text) {
  if (element.textContent !== text) element.textContent = text;
}

const clock = new Intl.DateTimeFormat(undefined, {hour: "2-digit", minute: "2-digit", second: "2-digit", hourCycle: "h23"});
const day = new Intl.DateTimeFormat(undefined, {day: "2-digit", month: "short"});
let today = "";

export function time(seconds) {
  if (seconds === null) return "";
  return clock.format(seconds * 1000);
}

/* A time of today, or a day. */
export function when(seconds) {
  if (seconds === null) return "";
  today ||= day.format(Date.now());
  const then = day.format(seconds * 1000);
  return then === today ? time(seconds) : then;
}

export function duration(seconds) {
  if (seconds === null) return "";
  if (seconds < 0.0995) return `${(seconds * 1000).toFixed(0)} ms`;
  if (seconds < 60) return `${seconds.toFixed(seconds < 10 ? 1 : 0)} s`;
  if (seconds < 3600) return `${Math.floor(seconds / 60)} min ${Math.floor(seconds % 60)} s`;
  return `${Math.floor(seconds / 3600)} h ${Math.floor((seconds % 3600) / 60)} min`;
}

export function bytes(count) {
  const units = ["B", "KiB", "MiB", "GiB", "TiB"];
  let unit = 0;
  while (count >= 1024 && unit < units.length - 1) {
    count /= 1024;
    unit++;
  }
  return `${count.toFixed(unit && count < 10 ? 1 : 0)} ${units[unit]}`;
}

export function percent(part) {
  return `${Math.round(part * 100)} %`;
}

/* Each tenant has one of eight colors, in the order in which they are met. */
const colors = new Map();
export function color(tenant) {
  if (!colors.has(tenant)) colors.set(tenant, `t${colors.size % 8}`);
  return colors.get(tenant);
}

/* The same for devices, apart from the tenants. */
const deviceColors = new Map();
export function deviceColor(device) {
  if (!deviceColors.has(device)) deviceColors.set(device, `t${deviceColors.size % 8}`);
  return deviceColors.get(device);
}

export function progress(job) {
  if (job.items_total === null || job.items_total === undefined) return job.outputs ? `${job.outputs} out` : "";
  return `${job.items_done} / ${job.items_total}`;
}
