/** The page's own script: it sends what is pressed and filled in, and shows what the sandbox answers. */
export const script = `"use strict";
const byId = (id) => document.getElementById(id);
const shown = new Map();
let modalId = null;
let busy = false;

const view = () => new URLSearchParams(new FormData(byId("view")));
const say = (text) => { byId("said").textContent = text; };

/** Puts new content in its place; the focus, what is typed and what is folded out stay. */
function fill(id, html) {
  const place = byId(id);
  if (shown.get(id) === html) return;
  const active = place.contains(document.activeElement) ? document.activeElement : null;
  if (active && active.matches("select")) return;
  const typed = [...place.querySelectorAll("input:not([type=checkbox]):not([type=file]), textarea")].filter((field) => field.value !== "");
  const open = new Set([...place.querySelectorAll("details[open]")].map((part) => part.dataset.key));
  place.innerHTML = html;
  shown.set(id, html);
  for (const old of typed) if (byId(old.id)) byId(old.id).value = old.value;
  for (const part of place.querySelectorAll("details")) if (open.has(part.dataset.key)) part.open = true;
  if (active && active.id && byId(active.id)) byId(active.id).focus();
}

function showModal(modal) {
  const dialog = byId("modal");
  if ((modal ? modal.id : null) === modalId) return;
  modalId = modal ? modal.id : null;
  if (!modal) return dialog.close();
  dialog.innerHTML = modal.html;
  if (!dialog.open) dialog.showModal();
}

async function refresh() {
  if (busy) return;
  busy = true;
  try {
    const response = await fetch("/sandbox/api/view?" + view());
    const state = await response.json();
    if (!response.ok) return say(state.said);
    for (const [id, html] of Object.entries(state.panels)) fill(id, html);
    showModal(state.modal);
  } catch { say("The sandbox does not answer."); } finally { busy = false; }
}

/** What is answered at another place of the page than where it was pressed. */
const answered = new Set(["menu", "press", "choose"]);

async function act(name, form) {
  for (const [key, value] of view()) form.set(key, value);
  const response = await fetch("/sandbox/api/acts/" + name, { method: "POST", body: form, headers: { "x-sandbox-room": "1" } });
  const { said } = await response.json();
  say(said);
  await refresh();
  if (response.ok && answered.has(name) && !form.has("run")) byId("answers").scrollIntoView();
}

const formOf = (data) => {
  const form = new FormData();
  for (const [key, value] of Object.entries(data)) form.set(key, value);
  return form;
};

async function showFields() {
  const asked = view();
  asked.set("command", byId("command").value);
  const response = await fetch("/sandbox/api/fields?" + asked);
  byId("fields").innerHTML = (await response.json()).html;
}

async function suggest(field) {
  const form = new FormData(byId("run"));
  for (const [key, value] of view()) form.set(key, value);
  form.set("focused", field.dataset.suggest);
  const response = await fetch("/sandbox/api/suggestions", { method: "POST", body: form, headers: { "x-sandbox-room": "1" } });
  const { choices } = await response.json();
  const list = byId("suggestions-" + field.dataset.suggest);
  list.replaceChildren(...choices.map(({ name, value }) => new Option(name, value)));
}

document.addEventListener("submit", (event) => {
  const { form: name, ...data } = event.target.dataset;
  if (!name) return;
  event.preventDefault();
  const form = new FormData(event.target);
  for (const [key, value] of Object.entries(data)) form.set(key, value);
  if (event.target.querySelector("[list=people]")) form.set("people", "true");
  if (name === "post") event.target.reset();
  void act(name, form);
});
document.addEventListener("click", (event) => {
  const button = event.target.closest("button");
  if (!button) return;
  if (button.dataset.page) { byId("view").elements.page.value = button.dataset.page; void refresh(); }
  if (!button.dataset.act) return;
  const { act: name, ...data } = button.dataset;
  void act(name, formOf(data));
});
document.addEventListener("change", (event) => {
  const field = event.target;
  if (field.dataset.act) { const { act: name, ...data } = field.dataset; void act(name, formOf({ ...data, on: field.checked })); }
  if (field.id === "command") void showFields();
  if (field.id === "guild") byId("view").submit();
  if (field.id === "as") void refresh();
});
let typing;
document.addEventListener("input", ({ target }) => {
  if (!target.dataset.suggest) return;
  clearTimeout(typing);
  typing = setTimeout(() => void suggest(target), 150);
});
document.addEventListener("cancel", (event) => {
  if (event.target.id === "modal" && modalId) void act("dismiss", formOf({ run: modalId }));
}, true);
void showFields();
void refresh();
setInterval(() => void refresh(), 1000);
`;
