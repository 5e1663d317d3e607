import { suggestScript } from "./suggest-script.ts";

/** The page's own script: it sends what is pressed and filled in, and shows what the sandbox answers. */
export const script = `"use strict";
const byId = (id) => document.getElementById(id);
const shown = new Map();
const closed = new Set();
let modalId = null;
let fieldsOf = "";
let busy = false;
let again = false;

const view = () => new URLSearchParams(new FormData(byId("view")));
function say(text, isError = false) {
  const place = byId(byId("modal").open ? "modal-said" : "said");
  place.textContent = text;
  place.classList.toggle("error", isError);
}

const keyOf = (node) => (node.nodeType === 1 ? node.id || node.dataset.key || null : null);

/** Makes the children of one element those of another; elements that are in both stay, with the focus, what is typed and what is folded out. */
function morph(from, to) {
  const wantedKeys = new Set([...to.children].map(keyOf).filter(Boolean));
  const keyed = new Map();
  for (const child of [...from.children]) {
    const key = keyOf(child);
    if (key === null) continue;
    if (wantedKeys.has(key)) keyed.set(key, child);
    else child.remove();
  }
  let next = from.firstChild;
  for (const wanted of [...to.childNodes]) {
    const key = keyOf(wanted);
    const found = key === null ? (next !== null && keyOf(next) === null ? next : null) : keyed.get(key) ?? null;
    // What is moved loses the focus, so what stands before it goes instead.
    if (key !== null && found !== null) while (next !== found && next !== null && keyOf(next) === null) next = removed(next);
    if (found === null || found.nodeName !== wanted.nodeName) { from.insertBefore(wanted, next); continue; }
    if (found === next) next = next.nextSibling;
    else from.insertBefore(found, next);
    if (found.nodeType !== 1) { if (found.data !== wanted.data) found.data = wanted.data; }
    else if (found.dataset.own === undefined) { copyAttributes(found, wanted); morph(found, wanted); }
  }
  while (next !== null) next = removed(next);
}
function removed(node) {
  const next = node.nextSibling;
  node.remove();
  return next;
}
function copyAttributes(from, to) {
  for (const { name } of [...from.attributes]) if (!to.hasAttribute(name) && name !== "open") from.removeAttribute(name);
  for (const { name, value } of to.attributes) if (from.getAttribute(name) !== value) from.setAttribute(name, value);
  if (from.matches("input[type=checkbox][data-act]")) from.checked = to.hasAttribute("checked");
}

function fill(id, html) {
  if (shown.get(id) === html) return;
  const wanted = document.createElement("template");
  wanted.innerHTML = html;
  morph(byId(id), wanted.content);
  shown.set(id, html);
}

function showModal(modal) {
  const wanted = modal && !closed.has(modal.id) ? modal : null;
  if ((wanted ? wanted.id : null) === modalId) return;
  const dialog = byId("modal");
  modalId = wanted ? wanted.id : null;
  if (!wanted) return dialog.close();
  dialog.innerHTML = wanted.html;
  if (!dialog.open) dialog.showModal();
}
/** A form that was sent or left stays closed, whatever was on its way before. */
function closeModal(isSent) {
  if (modalId === null) return;
  const id = modalId;
  closed.add(id);
  showModal(null);
  if (!isSent) void act("dismiss", formOf({ run: id }));
}

async function refresh() {
  again = busy;
  if (busy) return;
  busy = true;
  try {
    const response = await fetch("/sandbox/api/view?" + view());
    const state = await response.json();
    if (!response.ok) return say(state.said, true);
    for (const [id, html] of Object.entries(state.panels)) fill(id, html);
    showModal(state.modal);
    if (fieldsKey() !== fieldsOf) await showFields();
  } catch { say("The sandbox does not answer. Is it still running?", true); } finally { busy = false; }
  if (again) await refresh();
}

/** What is answered at another place of the page than where it was pressed. */
const answered = new Set(["menu", "person", "press", "choose"]);

async function act(name, form) {
  for (const [key, value] of view()) form.set(key, value);
  let response;
  try {
    response = await fetch("/sandbox/api/acts/" + name, { method: "POST", body: form, headers: { "x-sandbox-room": "1" } });
  } catch { return say("The sandbox does not answer. Is it still running?", true); }
  const { said } = await response.json();
  if (response.ok && name === "submit") closeModal(true);
  if (response.ok && name === "run") await showFields();
  say(said, !response.ok);
  await refresh();
  if (response.ok && answered.has(name) && !form.has("run")) byId("answers").scrollIntoView();
  return response.ok;
}

const formOf = (data) => {
  const form = new FormData();
  for (const [key, value] of Object.entries(data)) form.set(key, value);
  return form;
};

const fieldsKey = () => ["command", "guild", "language"].map((id) => byId(id).value).join(" ");
async function showFields() {
  fieldsOf = fieldsKey();
  const asked = view();
  asked.set("command", byId("command").value);
  const response = await fetch("/sandbox/api/fields?" + asked);
  const { html = "" } = await response.json();
  byId("fields").innerHTML = html;
}
${suggestScript}
document.addEventListener("submit", (event) => {
  const { form: name, ...data } = event.target.dataset;
  if (!name) return;
  event.preventDefault();
  const form = filledIn(event.target);
  for (const [key, value] of Object.entries(data)) form.set(key, value);
  if (event.target.querySelector("[data-suggest='@people']")) form.set("people", "true");
  const target = event.target;
  const menu = event.target.closest("details.menu");
  if (menu) menu.open = false;
  void act(name, form).then((isDone) => { if (isDone && name === "post") target.reset(); });
});
document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  if (button.dataset.page) { byId("view").elements.page.value = button.dataset.page; void refresh(); }
  if (button.dataset.close) closeModal(false);
  if (!button.dataset.act) return;
  const { act: name, ...data } = button.dataset;
  const menu = button.closest("details.menu");
  if (menu) menu.open = false;
  void act(name, formOf(data));
});
document.addEventListener("change", (event) => {
  const field = event.target;
  if (field.dataset.act) { const { act: name, ...data } = field.dataset; void act(name, formOf({ ...data, on: field.checked })); }
  if (field.id === "command") void showFields();
  if (field.id === "guild") byId("view").submit();
  if (field.id === "as" || field.id === "language") { history.replaceState(null, "", "?" + view()); say(""); void refresh(); }
});
byId("modal").addEventListener("close", () => closeModal(false));
void refresh();
setInterval(() => { if (!busy) void refresh(); }, 1000);
`;
