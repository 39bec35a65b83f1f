/* The page: who is signed in, what is read how often, and where it is shown. */
import {actFor, ask, whenSignedOut} from "./api.js";
import {Detail} from "./detail.js";
import {Devices} from "./devices.js";
import {Grid} from "./grid.js";
import {Jobs} from "./jobs.js";
import {make, setText, time} from "./show.js";
import {Tenants} from "./tenants.js";

const EVERY_MS = 2000, ACTIVITY_MAX = 200;
const get = (id) => document.getElementById(id);

const STATES = {
  unfinished: (job) => !job.ended,
  queued: (job) => job.state === "queued",
  running: (job) => job.state === "running",
  suspended: (job) => job.state === "suspended" || job.state === "held",
  ended: (job) => job.ended,
  all: () => true,
};

let caller = null;
let timer = null;

const jobs = new Jobs(noteChange);
const grid = new Grid(get("grid"), openJob);
const devices = new Devices(get("devices"), openJobOf);
const tenants = new Tenants(get("tenants"));
const detail = new Detail(get("detail"), {
  devices: () => devices.names,
  isAdmin: () => caller?.role === "admin",
  changed: (job) => {
    const known = jobs.find(job.job);
    if (known) jobs.put({...known, ...job, place: known.place});
    showJobs();
  },
});

function openJob(id, focus) {
  if (!id) return;
  grid.choose(id);
  detail.open(id, focus);
}

/* A job of a tenant that may be another one than is shown now. */
async function openJobOf(tenant, id) {
  if (caller.role === "admin" && tenant !== get("tenant").value) {
    get("tenant").value = tenant;
    changeTenant();
  }
  openJob(id, true);
}

function changeTenant() {
  const name = get("tenant").value;
  actFor(name === caller.tenant ? null : name);
  readJobs().catch(fail);
}

function noteChange(job, before) {
  const list = get("activity");
  const text = before === null ? `came, ${job.state}` : `${before} → ${job.state}`;
  list.prepend(make("li", {}, make("time", {}, time(Date.now() / 1000)), make("span", {},
    make("button", {type: "button", class: "link mono", onclick: () => openJob(job.job, true)}, job.job), ` ${job.model} ${text}`)));
  while (list.children.length > ACTIVITY_MAX) list.lastChild.remove();
}

/* The jobs that the filter and the search let through. */
function showJobs() {
  const keeps = STATES[get("filter").value], words = get("find").value.toLowerCase().split(/\s+/).filter((word) => word);
  const says = (job) => words.every((word) => `${job.job} ${job.model} ${job.state} ${job.device ?? ""} ${job.why ?? ""}`.toLowerCase().includes(word));
  const items = jobs.list.filter((job) => keeps(job) && (!words.length || says(job)));
  if (get("order").value === "newest") items.reverse();
  setText(get("count"), `${items.length.toLocaleString()} of ${jobs.list.length.toLocaleString()}${jobs.loaded ? "" : ", reading…"}`);
  grid.set(items, jobs.loaded ? "No job is like this." : "Reading the jobs…");
  if (items.length && !performance.getEntriesByName("jobs-shown").length) requestAnimationFrame(() => performance.mark("jobs-shown"));
}

function fail(error) {
  if (error?.name === "AbortError") return;
  get("trouble").hidden = !error;
  setText(get("trouble"), error ? `The daemon does not answer as it should: ${error.message}` : "");
}

async function readTop() {
  const top = await ask("GET", "/v1/top");
  devices.take(top);
  tenants.take(top.tenants);
  return top;
}

/* One look at everything; the next one begins a while after it has ended, and none while nobody sees the page. */
async function turn() {
  timer = null;
  try {
    if (!document.hidden) {
      await readTop();
      await jobs.refresh(grid.inView());
      showJobs();
      fail(null);
    }
  } catch (error) {
    fail(error);
  }
  if (caller) timer ??= setTimeout(turn, EVERY_MS);
}

function readJobs() {
  jobs.clear();
  get("activity").replaceChildren();
  detail.close();
  grid.choose(null);
  return jobs.load(showJobs);
}

function showTenants(top) {
  const choice = get("tenant");
  choice.replaceChildren(...top.tenants.map((tenant) => make("option", {}, tenant.tenant)));
  choice.value = caller.tenant;
  get("tenant-choice").hidden = caller.role !== "admin";
}

async function begin(session) {
  caller = session;
  actFor(null);
  get("sign-in").hidden = true;
  get("app").hidden = get("sign-out").hidden = false;
  setText(get("version"), session.version ?? "");
  setText(get("who"), `${session.role} of ${session.tenant}`);
  try {
    await Promise.all([readTop().then(showTenants), readJobs()]);
    fail(null);
  } catch (error) {
    fail(error);
  }
  if (caller) timer ??= setTimeout(turn, EVERY_MS);
}

function askForToken(why) {
  caller = null;
  clearTimeout(timer);
  timer = null;
  detail.close();
  jobs.clear();
  get("app").hidden = get("sign-out").hidden = true;
  get("sign-in").hidden = false;
  setText(get("who"), "");
  get("tenant-choice").hidden = true;
  setText(get("sign-in-error"), why ?? "");
  fail(null);
  get("token").focus();
}

get("sign-in").addEventListener("submit", async (event) => {
  event.preventDefault();
  const token = get("token").value.trim();
  try {
    const session = await ask("POST", "/v1/session", {body: {token}});
    get("token").value = "";
    await begin(session);
  } catch (error) {
    setText(get("sign-in-error"), error.message);
  }
});

get("sign-out").addEventListener("click", async () => {
  await ask("DELETE", "/v1/session").catch(() => {}); /* it has ended already */
  askForToken();
});

get("tenant").addEventListener("change", changeTenant);

get("filter").addEventListener("change", () => {
  get("order").value = ["ended", "all"].includes(get("filter").value) ? "newest" : "oldest";
  showJobs();
});
get("order").addEventListener("change", showJobs);
get("find").addEventListener("input", showJobs);

/* The choice of colors is all that the page keeps in the browser. */
function applyTheme(theme) {
  if (theme === "auto") delete document.documentElement.dataset.theme;
  else document.documentElement.dataset.theme = theme;
}
get("theme").addEventListener("change", (event) => {
  localStorage.setItem("layover-theme", event.target.value);
  applyTheme(event.target.value);
});
get("theme").value = ["light", "dark"].includes(localStorage.getItem("layover-theme")) ? localStorage.getItem("layover-theme") : "auto";
applyTheme(get("theme").value);
document.addEventListener("visibilitychange", () => {
  if (!document.hidden && caller && timer) {
    clearTimeout(timer);
    turn();
  }
});

whenSignedOut(() => caller && askForToken("The session has ended."));
ask("GET", "/v1/session").then(begin, () => askForToken());
