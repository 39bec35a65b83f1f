/* The tenants' shares of device-time beside the shares that their weights give them. */
import {color, duration, make, percent, setText} from "./show.js";

class Row {
  constructor(name) {
    const number = () => make("td", {class: "number"});
    this.bar = make("i", {class: color(name)});
    this.mark = make("u");
    this.share = make("div", {class: "share", role: "img"}, this.bar, this.mark);
    this.weight = number();
    this.queued = number();
    this.running = number();
    this.suspended = number();
    this.used = number();
    this.element = make("tr", {},
      make("th", {scope: "row"}, make("span", {class: "name"}, make("span", {class: `dot ${color(name)}`}), name)),
      this.weight, make("td", {}, this.share), this.queued, this.running, this.suspended, this.used);
  }

  show(tenant, wanted) {
    this.bar.style.width = percent(tenant.share).replace(" ", "");
    this.mark.style.left = `calc(${(wanted * 100).toFixed(1)}% - 1px)`;
    this.mark.hidden = !wanted;
    this.share.title = `${percent(tenant.share)} of the last ten seconds` + (wanted ? `; its weight gives ${percent(wanted)}` : "; it has no jobs that wait or run");
    this.share.setAttribute("aria-label", this.share.title);
    setText(this.weight, String(tenant.weight));
    setText(this.queued, String(tenant.queued));
    setText(this.running, String(tenant.running));
    setText(this.suspended, String(tenant.suspended));
    setText(this.used, duration(tenant.device_seconds));
  }
}

export class Tenants {
  constructor(element) {
    this.rows = new Map();
    this.body = make("tbody");
    const head = (text, type) => make("th", {scope: "col", class: type ?? "", title: text}, text);
    element.append(
      make("div", {class: "scroll", tabindex: "0", role: "region", "aria-label": "Tenants"}, make("table", {},
        make("thead", {}, make("tr", {}, head("tenant"), head("weight", "number"), head("share"), head("queued", "number"),
          head("running", "number"), head("susp.", "number"), head("used", "number"))), this.body)),
      make("p", {class: "hint"}, make("small", {}, "Share: of the device-time of the last ten seconds. The mark is what the weight gives among the tenants that have jobs now.")));
  }

  take(tenants) {
    const works = (tenant) => tenant.queued + tenant.running > 0;
    const weights = tenants.filter(works).reduce((sum, tenant) => sum + tenant.weight, 0);
    for (const tenant of tenants) {
      if (!this.rows.has(tenant.tenant)) {
        this.rows.set(tenant.tenant, new Row(tenant.tenant));
        this.body.append(this.rows.get(tenant.tenant).element);
      }
      this.rows.get(tenant.tenant).show(tenant, works(tenant) ? tenant.weight / weights : 0);
    }
  }
}
