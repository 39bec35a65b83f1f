/* Questions to the user, as dialogs of the browser: the keyboard stays inside, Escape closes. */
import {make} from "./show.js";

/* Resolves to the form's data, or to null. */
function open(title, content, action, danger) {
  return new Promise((resolve) => {
    const cancel = make("button", {type: "button", onclick: () => dialog.close()}, "Back");
    const go = make("button", {type: "submit", class: danger ? "danger" : "main"}, action);
    const form = make("form", {}, make("h2", {id: "dialog-title"}, title), ...content, make("menu", {}, cancel, go));
    const dialog = make("dialog", {"aria-labelledby": "dialog-title"}, form);
    let answer = null;
    form.addEventListener("submit", (event) => {
      event.preventDefault();
      answer = new FormData(form);
      dialog.close();
    });
    dialog.addEventListener("close", () => {
      dialog.remove();
      resolve(answer);
    });
    document.body.append(dialog);
    dialog.showModal();
  });
}

export async function confirmCancel(job) {
  const answer = await open("Cancel this job?", [make("p", {}, `${job.job} (${job.model}) ends. What it has stored stays until it is removed.`)], "Cancel the job", true);
  return answer !== null;
}

/* Where a job is to go: {device}, {node} or null. nodes: null: this user may not see them, and types a name. */
export async function chooseTarget(job, devices, nodes) {
  const choice = (kind, name, text) => make("label", {}, make("input", {type: "radio", name: "target", value: `${kind} ${name}`, required: true}), text);
  const content = [make("fieldset", {class: "choices"}, make("legend", {class: "hint"}, "Devices of this node"),
    ...devices.filter((device) => device !== job.device).map((device) => choice("device", device, device)),
    ...(nodes ?? []).map((node) => choice("node", node.node, `node ${node.node}${node.up === false ? " (does not answer)" : ""}`)),
    choice("named", "", "the node named below"))];
  content.push(make("label", {}, "Node", make("input", {name: "node", pattern: "[A-Za-z0-9._\\-]+", maxlength: "64", autocomplete: "off"})));
  const answer = await open(`Move ${job.job}`, content, "Move", false);
  if (!answer) return null;
  const [kind, name] = answer.get("target").split(" ");
  if (kind === "device") return {device: name};
  const node = kind === "node" ? name : answer.get("node").trim();
  return node ? {node} : null;
}
