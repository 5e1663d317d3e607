import type { Guild } from "../model.ts";
import { commandEntries } from "./choices.ts";
import { Choices } from "./field.tsx";
import type { View } from "./panels.tsx";
import type { RoomState } from "./state.ts";

/** How many people can be chosen from the list; anybody else is a page of members away. */
const mostListed = 500;
/** Languages a person may read Discord in; one that a bot has no texts in shows what it falls back to. */
const languages = [
  { value: "en-US", label: "English" },
  { value: "de", label: "Deutsch" },
  { value: "fr", label: "Français" },
];

/** The control room. What moves is filled in by its script. */
export function Page({ state, guilds, view }: { state: RoomState; guilds: readonly Guild[]; view: View }) {
  const { guild, user } = view;
  const people = [...guild.members.values()].slice(0, mostListed).filter((member) => !member.user.bot);
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
