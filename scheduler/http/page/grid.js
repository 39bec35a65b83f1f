/* The list of jobs: only the rows in view are elements, so that any number of jobs scrolls fluently. One row is the active
 * one: arrow keys move it, Enter opens its job. */
import {duration, make, progress, setText, when} from "./show.js";

const ROW = 30, SPARE = 6;
const COLUMNS = [
  {title: "job", text: (job) => job.job, class: "mono long"},
  {title: "model", text: (job) => job.model, class: "long"},
  {title: "state", text: (job) => job.state, state: true},
  {title: "priority", text: (job) => job.priority},
  {title: "device", text: (job) => job.device ?? "", class: "long"},
  {title: "progress", text: progress, class: "number"},
  {title: "submitted", text: (job) => when(job.submitted), class: "number"},
  {title: "device time", text: (job) => duration(job.device_seconds), class: "number"},
];

class Row {
  constructor() {
    this.cells = COLUMNS.map((column) => make("span", {role: "gridcell", class: column.class ?? ""}));
    this.element = make("div", {class: "row", role: "row"}, ...this.cells);
    this.index = -1;
  }

  show(index, job, chosen, active) {
    if (index !== this.index) {
      this.index = index;
      this.element.id = `job-row-${index}`;
      this.element.style.top = `${index * ROW}px`;
      this.element.setAttribute("aria-rowindex", index + 2);
    }
    COLUMNS.forEach((column, i) => {
      setText(this.cells[i], column.text(job));
      if (column.state) this.cells[i].className = `state ${job.state}`;
    });
    if (this.why !== job.why) this.element.title = this.why = job.why ?? "";
    const selected = String(job.job === chosen);
    if (this.selected !== selected) this.element.setAttribute("aria-selected", this.selected = selected);
    this.element.className = active ? "row active" : "row";
  }
}

export class Grid {
  constructor(element, open) {
    this.open = open;
    this.items = [];
    this.active = 0;
    this.chosen = null;
    this.rows = [];
    this.space = make("div", {class: "space", role: "presentation"});
    this.empty = make("p", {class: "empty", role: "presentation"});
    this.view = make("div", {class: "view", tabindex: "0", role: "rowgroup", "aria-label": "Jobs; arrow keys move, Enter opens"}, this.space, this.empty);
    this.table = make("div", {class: "grid", role: "grid", "aria-labelledby": "jobs-title", "aria-colcount": COLUMNS.length},
      make("div", {role: "rowgroup"}, make("div", {class: "head", role: "row", "aria-rowindex": "1"},
        ...COLUMNS.map((column) => make("span", {role: "columnheader", class: column.class === "number" ? "number" : ""}, column.title)))),
      this.view);
    element.append(this.table);
    this.view.addEventListener("scroll", () => this.plan(), {passive: true});
    this.view.addEventListener("keydown", (event) => this.press(event));
    this.view.addEventListener("focus", () => this.plan());
    this.view.addEventListener("click", (event) => this.click(event));
    new ResizeObserver(() => this.plan()).observe(this.view);
  }

  /* The jobs to show, in their order; the place in view stays where it is. */
  set(items, emptyText) {
    this.items = items;
    this.active = Math.min(this.active, Math.max(0, items.length - 1));
    this.table.setAttribute("aria-rowcount", items.length + 1);
    const height = `${items.length * ROW}px`;
    if (this.space.style.height !== height) this.space.style.height = height;
    this.empty.hidden = items.length > 0;
    setText(this.empty, emptyText);
    this.plan();
  }

  choose(id) {
    this.chosen = id;
    this.plan();
  }

  inView() {
    const [from, to] = this.range(0);
    return this.items.slice(from, to);
  }

  range(spare) {
    const from = Math.floor(this.view.scrollTop / ROW) - spare;
    const to = Math.ceil((this.view.scrollTop + this.view.clientHeight) / ROW) + spare;
    return [Math.max(0, from), Math.min(this.items.length, to)];
  }

  /* Draws once before the next frame. */
  plan() {
    this.planned ??= requestAnimationFrame(() => {
      this.planned = null;
      this.draw();
    });
  }

  draw() {
    const [from, to] = this.range(SPARE);
    while (this.rows.length < to - from) {
      const row = new Row();
      this.rows.push(row);
      this.view.append(row.element);
    }
    /* an item keeps its row while it stays in view */
    const count = this.rows.length;
    const used = new Set();
    for (let index = from; index < to; index++) {
      const row = this.rows[index % count];
      used.add(row);
      row.element.hidden = false;
      row.show(index, this.items[index], this.chosen, index === this.active);
    }
    for (const row of this.rows) if (!used.has(row)) row.element.hidden = true;
    const active = this.active >= from && this.active < to;
    if (active) this.view.setAttribute("aria-activedescendant", `job-row-${this.active}`);
    else this.view.removeAttribute("aria-activedescendant");
  }

  move(index) {
    this.active = Math.max(0, Math.min(this.items.length - 1, index));
    const top = this.active * ROW, height = this.view.clientHeight;
    if (top < this.view.scrollTop) this.view.scrollTop = top;
    else if (top + ROW > this.view.scrollTop + height) this.view.scrollTop = top + ROW - height;
    this.draw();
  }

  press(event) {
    const rows = Math.max(1, Math.floor(this.view.clientHeight / ROW) - 1);
    const to = {ArrowDown: this.active + 1, ArrowUp: this.active - 1, PageDown: this.active + rows,
      PageUp: this.active - rows, Home: 0, End: this.items.length - 1}[event.key];
    if (to !== undefined) this.move(to);
    else if (event.key === "Enter" && this.items[this.active]) this.open(this.items[this.active].job, true);
    else return;
    event.preventDefault();
  }

  click(event) {
    const element = event.target.closest(".row");
    const row = this.rows.find((candidate) => candidate.element === element);
    if (!row || !this.items[row.index]) return;
    this.active = row.index;
    this.open(this.items[row.index].job, false);
  }
}
