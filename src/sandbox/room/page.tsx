import type { Guild } from "../model.ts";
import { commandEntries } from "./choices.ts";
import { Choices } from "./field.tsx";
import type { View } from "./panels.tsx";
import type { RoomState } from "./state.ts";

/** How many people can be chosen from the list; anybody else is a page of members away. */
const maxListed = 500;
/** Languages a person may read Discord in; one that a bot has no texts in shows what it falls back to. */
const languages = [
  { value: "en-US", label: "English" },
  { value: "de", label: "Deutsch" },
  { value: "fr", label: "Français" },
];

/** The control room. What moves is filled in by its script. */
export function Page({ state, guilds, view }: { state: RoomState; guilds: readonly Guild[]; view: View }) {
  const { guild, user } = view;
  const people = [...guild.members.values()].slice(0, maxListed).filter((member) => !member.user.bot);
  const commands = commandEntries(state.world, guild);
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
        <p class="banner" role="note">
          local sandbox - not Discord
        </p>
        <main>
          <h1>Control room</h1>
          <form id="view" method="get" action="/sandbox">
            <Choices
              id="guild"
              name="guild"
              label="Guild"
              options={guilds.map(({ id, name }) => ({ value: id, label: name, default: id === guild.id }))}
            />
            <Choices
              id="as"
              name="as"
              label="Acting as"
              options={people.map((member) => ({ value: member.user.id, label: member.user.username, default: member.user === user }))}
            />
            <Choices id="language" name="language" label="Language" options={languages} />
            <input type="hidden" name="page" value={String(view.page)} />
            <button type="submit" id="show">
              Show
            </button>
          </form>
          <p id="said" role="status" aria-live="polite" />
          <section aria-labelledby="run-title">
            <h2 id="run-title">Run a command</h2>
            <form id="run" data-form="run">
              <Choices id="command" name="command" label="Command" options={commands} />
              <div id="fields" />
              <button type="submit" class="primary" id="run-send">
                Run
              </button>
            </form>
            <div id="answers" aria-live="polite" />
          </section>
          <Panel id="channels" title="Channels" />
          <Panel id="directs" title="Direct messages" />
          <Panel id="members" title="Members" />
          <Panel id="log" title="Wire log" />
          <div id="suggestions" />
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
      aria-label={id === "members" ? title : undefined}
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
p label + input, p label + select, p label + textarea { margin-left: .5rem; }
#said { position: sticky; top: 0; z-index: 1; background: var(--page); color: var(--ink); }
.row { display: flex; flex-wrap: wrap; gap: .5rem; }
.message, .answer { background: var(--panel); color: var(--ink); border-radius: 6px; padding: .5rem .75rem; margin: .5rem 0; }
.text { white-space: pre-wrap; }
.small { color: var(--soft); font-size: .875rem; }
.tag { margin-left: .5rem; border: 1px solid var(--edge); border-radius: 4px; padding: 0 .25rem; }
.embed { display: flex; gap: .75rem; background: var(--page); color: var(--ink); border-radius: 4px; margin: .5rem 0; padding: .5rem; }
.bar { width: 4px; min-width: 4px; height: auto; align-self: stretch; }
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
