import type { Guild } from "../model.ts";
import { Choices } from "./field.tsx";
import { languages, type View } from "./view.ts";

/** How many people can be chosen from the list; anybody else is a page of members away. */
const maxListed = 500;

/** The control room. What moves is filled in by its script. */
export function Page({ guilds, view }: { guilds: readonly Guild[]; view: View }) {
  const { guild, member, user, language } = view;
  const people = new Set([...[...guild.members.values()].slice(0, maxListed).filter((one) => !one.user.bot), member]);
  return (
    <html lang="en">
      <head>
        <meta charset="utf-8" />
        <meta name="viewport" content="width=device-width" />
        <title>Control room</title>
        <link rel="stylesheet" href="/sandbox/style.css" />
        <script src="/sandbox/script.js" defer />
      </head>
      <body>
        <header class="banner">local sandbox - not Discord</header>
        <main>
          <h1>Control room</h1>
          <p id="said" role="status" aria-live="polite" />
          <section aria-labelledby="view-title">
            <h2 id="view-title">Who you are</h2>
            <form id="view" method="get" action="/sandbox" class="row">
              <Choices
                id="guild"
                name="guild"
                label="Server"
                options={guilds.map(({ id, name }) => ({ value: id, label: name, default: id === guild.id }))}
              />
              <Choices
                id="as"
                name="as"
                label="Acting as"
                options={[...people].map((one) => ({ value: one.user.id, label: one.user.username, default: one.user === user }))}
              />
              <Choices
                id="language"
                name="language"
                label="Language"
                options={Object.entries(languages).map(([value, label]) => ({ value, label, default: value === language }))}
              />
              <input type="hidden" name="page" value={String(view.page)} />
            </form>
          </section>
          <section aria-labelledby="run-title">
            <h2 id="run-title">Run a command</h2>
            <form id="run" data-form="run">
              <div class="field">
                <label for="command">Command</label>
                <select id="command" name="command" />
              </div>
              <div id="fields" />
              <button type="submit" class="primary" id="run-send">
                Run
              </button>
            </form>
          </section>
          <section aria-labelledby="sent-title">
            <h2 id="sent-title">What the bot sent</h2>
            <h3>Answers</h3>
            <div id="answers" aria-live="polite" />
            <h3>Direct messages</h3>
            <div id="directs" class="panel" />
          </section>
          <Panel id="channels" title="Channels" />
          <Panel id="members" title="Members" />
          <Panel id="log" title="What went over the wire" />
        </main>
        <dialog id="modal" aria-labelledby="modal-title" />
      </body>
    </html>
  );
}

const Panel = ({ id, title }: { id: string; title: string }) => (
  <section aria-labelledby={`${id}-title`}>
    <h2 id={`${id}-title`}>{title}</h2>
    <div
      id={id}
      class="panel"
      tabindex={id === "members" ? 0 : undefined}
      role={id === "members" ? "region" : undefined}
      aria-label={id === "members" ? `Table of ${title}` : undefined}
    />
  </section>
);

/** The page's own look; every text keeps a contrast of 4.5 and every control 44 pixels. */
export const style = `:root { color-scheme: light; --ink: #1b1d22; --soft: #4b5160; --page: #ffffff; --panel: #f3f4f7; --edge: #7a8090; --accent: #3340b8; --danger: #a3171f; --good: #1c6b34; }
* { box-sizing: border-box; }
body { margin: 0; background: var(--page); color: var(--ink); font: 16px/1.5 system-ui, sans-serif; overflow-wrap: anywhere; }
main { max-width: 75rem; margin: 0 auto; padding: 1rem; }
.banner { margin: 0; padding: .5rem 1rem; background: #5a3a00; color: #ffffff; text-align: center; font-weight: bold; }
section { border-top: 1px solid var(--edge); margin-top: 1rem; }
.panel { max-height: 40rem; overflow: auto; }
label { display: inline-flex; align-items: center; min-height: 44px; min-width: 44px; }
input, select, textarea, button { font: inherit; color: var(--ink); background: var(--page); border: 1px solid var(--edge); border-radius: 6px; padding: .5rem .75rem; min-height: 44px; max-width: 100%; }
input:not([type=checkbox]):not([type=file]), textarea { width: 20rem; }
button { min-width: 44px; cursor: pointer; }
button.primary { background: var(--accent); color: #ffffff; }
button.success { background: var(--good); color: #ffffff; }
button.danger { background: var(--danger); color: #ffffff; }
button:disabled { border-style: dashed; cursor: not-allowed; }
summary { min-height: 44px; min-width: 44px; padding: .5rem 0; }
:focus-visible { outline: 3px solid var(--accent); outline-offset: 2px; }
p { margin: .5rem 0; }
.field > * { display: block; width: fit-content; max-width: 100%; }
.field > label, .box { display: flex; align-items: center; }
.field > textarea { width: 32rem; }
.line { display: block; }
.box { gap: .5rem; }
fieldset { border: 1px solid var(--edge); border-radius: 6px; }
.combo { position: relative; }
[role=listbox] { position: absolute; z-index: 2; top: 100%; margin: 0; padding: 0; width: 20rem; max-width: 100%; max-height: 20rem; overflow: auto; background: var(--page); border: 1px solid var(--edge); list-style: none; }
[role=option] { min-height: 44px; padding: .5rem .75rem; cursor: pointer; }
[role=option][aria-selected=true], [role=option]:hover { background: var(--accent); color: #ffffff; }
.menu > summary { border: 1px solid var(--edge); border-radius: 6px; padding: .5rem .75rem; width: fit-content; max-width: 100%; background: var(--page); color: var(--ink); cursor: pointer; }
.menu > ul { margin: 0; padding: 0; list-style: none; width: fit-content; max-width: 100%; }
.menu > ul button { width: 100%; text-align: left; }
.error { color: var(--danger); font-weight: bold; }
#said { position: sticky; top: 0; z-index: 1; background: var(--page); color: var(--ink); }
.row { display: flex; flex-wrap: wrap; gap: .5rem; }
.message, .answer { background: var(--panel); color: var(--ink); border-radius: 6px; padding: .5rem .75rem; margin: .5rem 0; }
.text { white-space: pre-wrap; }
.small { color: var(--soft); font-size: .875rem; }
.tag { margin-left: .5rem; border: 1px solid var(--edge); border-radius: 4px; padding: 0 .25rem; }
.embed { position: relative; background: var(--page); color: var(--ink); border-radius: 4px; margin: .5rem 0; padding: .5rem .5rem .5rem 1.25rem; }
.bar { position: absolute; left: .5rem; top: .5rem; width: 4px; height: calc(100% - 1rem); }
.title { font-weight: bold; }
dt { font-weight: bold; } dd { margin: 0; }
table { border-collapse: collapse; } caption { text-align: left; }
th, td { overflow-wrap: break-word; border-bottom: 1px solid var(--edge); padding: .25rem .5rem; text-align: left; font-weight: normal; }
pre { background: var(--panel); color: var(--ink); overflow: auto; max-height: 20rem; padding: .5rem; white-space: pre-wrap; }
dialog { border: 2px solid var(--edge); border-radius: 8px; max-width: 40rem; color: var(--ink); background: var(--page); }
dialog::backdrop { background: #000000aa; }
td .row { flex-wrap: nowrap; }
.log { padding-left: 2.5rem; }
`;
