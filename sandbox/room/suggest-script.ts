/** The part of the page's script for fields with suggestions: a list below the field, by mouse and by keyboard. */
export const suggestScript = `
const listOf = (field) => byId(field.getAttribute("aria-controls"));
const lastOf = (field) => ("many" in field.dataset ? field.value.split(",").at(-1).trim() : field.value);

/** What a form says; a suggestion that was chosen stands for its value. */
function filledIn(form) {
  const filled = new FormData(form);
  for (const field of form.querySelectorAll("[data-suggest]"))
    if (field.value !== "" && field.value === field.dataset.chosen) filled.set(field.name, field.dataset.value);
  return filled;
}

function closeList(field) {
  const list = listOf(field);
  list.hidden = true;
  list.replaceChildren();
  field.setAttribute("aria-expanded", "false");
  field.removeAttribute("aria-activedescendant");
}

let asks = 0;
async function suggest(field) {
  const turn = ++asks;
  const isOfCommand = field.dataset.suggest !== "@people";
  const form = isOfCommand ? filledIn(byId("run")) : new FormData();
  for (const [key, value] of view()) form.set(key, value);
  form.set("focused", field.dataset.suggest);
  form.set("typed", lastOf(field));
  const response = await fetch("/sandbox/api/suggestions", { method: "POST", body: form, headers: { "x-sandbox-room": "1" } });
  const { choices = [], said } = await response.json();
  if (turn !== asks || document.activeElement !== field) return;
  const list = listOf(field);
  const lines = choices.map(({ name, value, word }, index) => {
    const line = document.createElement("li");
    line.id = list.id + "-" + index;
    line.setAttribute("role", "option");
    line.setAttribute("aria-selected", "false");
    line.textContent = name;
    line.dataset.value = value;
    if (word) line.dataset.word = word;
    return line;
  });
  if (lines.length === 0) {
    const line = document.createElement("li");
    line.setAttribute("role", "option");
    line.setAttribute("aria-disabled", "true");
    line.textContent = said || "Nothing fits what you typed.";
    lines.push(line);
  }
  list.replaceChildren(...lines);
  list.hidden = false;
  field.setAttribute("aria-expanded", "true");
  field.removeAttribute("aria-activedescendant");
}

function chooseLine(field, line) {
  if (!line || line.dataset.value === undefined) return;
  const { value, word } = line.dataset;
  if ("many" in field.dataset) field.value = [...field.value.split(",").slice(0, -1).map((one) => one.trim()), word].join(", ");
  else {
    field.value = line.textContent;
    field.dataset.chosen = field.value;
    field.dataset.value = value;
  }
  closeList(field);
  if (field.form.dataset.form === "choose" && !("many" in field.dataset)) field.form.requestSubmit();
}

function moveTo(field, step) {
  const lines = [...listOf(field).children];
  const at = lines.findIndex((line) => line.getAttribute("aria-selected") === "true");
  const wanted = lines[(at + step + lines.length + (at < 0 && step < 0 ? 1 : 0)) % lines.length];
  if (!wanted || wanted.dataset.value === undefined) return;
  for (const line of lines) line.setAttribute("aria-selected", String(line === wanted));
  field.setAttribute("aria-activedescendant", wanted.id);
  wanted.scrollIntoView({ block: "nearest" });
}

let typing;
function suggestSoon(field) {
  clearTimeout(typing);
  typing = setTimeout(() => void suggest(field), 150);
}
document.addEventListener("input", ({ target }) => { if (target.dataset.suggest) suggestSoon(target); });
document.addEventListener("click", ({ target }) => {
  if (target.dataset.suggest && listOf(target).hidden) suggestSoon(target);
  const line = target.closest("[role=option]");
  if (line) chooseLine(line.closest(".combo").querySelector("input"), line);
});
/** A press on a suggestion leaves the focus in the field. */
document.addEventListener("mousedown", (event) => { if (event.target.closest("[role=listbox]")) event.preventDefault(); });
document.addEventListener("focusout", ({ target }) => {
  if (!target.dataset?.suggest) return;
  clearTimeout(typing);
  closeList(target);
});
document.addEventListener("keydown", (event) => {
  const field = event.target;
  if (!field.dataset?.suggest) return;
  const isOpen = !listOf(field).hidden;
  if (event.key === "ArrowDown" || event.key === "ArrowUp") {
    event.preventDefault();
    if (isOpen) moveTo(field, event.key === "ArrowDown" ? 1 : -1);
    else void suggest(field);
  }
  const line = byId(field.getAttribute("aria-activedescendant"));
  if (event.key === "Enter" && isOpen && line) { event.preventDefault(); chooseLine(field, line); }
  if (event.key === "Escape" && isOpen) { event.preventDefault(); closeList(field); }
});
`;
