import type { Guild, User, Channel, World } from "../model.ts";
import { commandEntries } from "./choices.ts";
import { OptionField, Person, ComponentField } from "./field.tsx";
import { MessageView } from "./message.tsx";
import { Members, People } from "./people.tsx";
import type { Done, RoomState } from "./state.ts";
import { ApplicationCommandType, ComponentType } from "discord-api-types/v10";
import type { Recorder } from "../recorder.ts";
import type { Component } from "../components.ts";
import type { Modal } from "../interaction.ts";
import { Text } from "./text.tsx";

/** What the page looks at. */
export type View = { guild: Guild; user: User; page: number };

/** The parts of the page that follow the world, by the id of their place. */
export function panels(state: RoomState, { guild, user, page }: View): Record<string, string> {
  const { world, recorder } = state;
  const done = state.done.filter((one) => one.user === user);
  return {
    members: String(<Members guild={guild} page={page} />),
    suggestions: String(<People world={world} />),
    answers: String(<Answers state={state} done={done} />),
    channels: String(<Channels world={world} guild={guild} />),
    directs: String(<Directs world={world} user={user} />),
    log: String(<Log recorder={recorder} />),
  };
}

/** The modal that waits for a person, if there is one. */
export function openModal(state: RoomState, user: User): { id: string; html: string } | null {
  const latest = state.done.find((one) => one.user === user && one.run.interaction.modal && !one.isModalClosed);
  const modal = latest?.run.interaction.modal;
  return latest && modal ? { id: latest.id, html: String(<ModalForm modal={modal} guild={latest.guild} run={latest.id} />) } : null;
}

function Answers({ state, done }: { state: RoomState; done: readonly Done[] }) {
  if (done.length === 0) return <p>Nothing has been run as this person.</p>;
  return (
    <>
      {done.map((one) => (
        <section class="answer" aria-label={`answer to ${one.run.interaction.name}`}>
          <h3>{one.run.interaction.name}</h3>
          <Answer state={state} one={one} />
        </section>
      ))}
    </>
  );
}

function Answer({ state, one }: { state: RoomState; one: Done }) {
  const { interaction } = one.run;
  const { original, followups } = interaction;
  if (interaction.missed) return <p>The application did not respond.</p>;
  if (interaction.modal) return <p>The answer is a form{one.isModalClosed ? ", now closed" : ""}.</p>;
  const messages = [original, ...followups].filter((message) => message !== null);
  if (messages.length === 0) return <p>{interaction.ack ? "Acknowledged." : "Waiting for the application..."}</p>;
  return (
    <>
      {messages.map((message) => (
        <MessageView message={message} place={{ world: state.world, guild: one.guild, run: one.id }} />
      ))}
    </>
  );
}

/** The fields of one command. */
export function commandFields(state: RoomState, guild: Guild, command: string): string {
  const entry = commandEntries(state.world, guild).find(({ value }) => value === command);
  if (!entry) return "";
  if (command.startsWith("2:")) return String(<Person id="option-target" name="v:target" label="target (required)" />);
  return String(
    <>
      {entry.options.map((option) => (
        <OptionField option={option} guild={guild} />
      ))}
    </>,
  );
}

const maxMessages = 30;

const newest = ({ messages }: Channel) => [...messages.values()].slice(-maxMessages);

/** The channels of a guild with their last messages, and a line to write in. */
export function Channels({ world, guild }: { world: World; guild: Guild }) {
  const menus = [...guild.commands.values(), ...world.application.commands.values()].filter(
    ({ type }) => type === ApplicationCommandType.Message,
  );
  return (
    <>
      {[...guild.channels.values()].map((channel) => (
        <section aria-label={`channel ${channel.name}`}>
          <h3>#{channel.name}</h3>
          {newest(channel).map((message) => (
            <>
              <MessageView message={message} place={{ world, guild }} />
              <p class="row">
                {menus.map(({ name }) => (
                  <button
                    type="button"
                    id={`use-${message.id}-${name}`}
                    data-act="menu"
                    data-command={name}
                    data-message={message.id}
                    data-channel={channel.id}
                  >
                    {name}
                  </button>
                ))}
                <button type="button" id={`delete-${message.id}`} data-act="delete" data-message={message.id} data-channel={channel.id}>
                  Delete
                </button>
              </p>
            </>
          ))}
          <form data-form="post" data-channel={channel.id}>
            <label for={`post-${channel.id}`}>Message to #{channel.name}</label>
            <input id={`post-${channel.id}`} name="content" autocomplete="off" />
            <button type="submit" id={`post-${channel.id}-send`}>
              Send
            </button>
          </form>
        </section>
      ))}
    </>
  );
}

/** What the bot has sent to a person. */
export function Directs({ world, user }: { world: World; user: User }) {
  const messages = [...world.channels.values()].filter(({ recipient }) => recipient === user).flatMap(newest);
  if (messages.length === 0) return <p>The bot has sent {user.username} nothing.</p>;
  return (
    <>
      {messages.map((message) => (
        <MessageView message={message} place={{ world }} />
      ))}
    </>
  );
}

const maxLines = 60;
const maxText = 4000;

const fold = (value: unknown): string => (value === undefined ? "" : JSON.stringify(value, null, 1).slice(0, maxText));

/** What went over the wire, newest first; headers are left out, bodies folded. */
export function Log({ recorder }: { recorder: Recorder }) {
  const rest = recorder.exchanges.slice(-maxLines).map(({ at, method, path, status, requestBody, responseBody }) => ({
    at,
    title: `${status} ${method} ${path}`,
    body: [fold(requestBody), fold(responseBody)].filter((part) => part !== "").join("\n\n"),
  }));
  const gateway = recorder.gatewayLog.slice(-maxLines).map(({ at, direction, op, t, d }) => ({
    at,
    title: `gateway ${direction} ${t ?? (op === null ? "" : `op ${op}`)}`,
    // Who identifies itself tells its token.
    body: op === 2 || op === 6 ? "" : fold(d),
  }));
  const lines = [...rest, ...gateway].toSorted((a, b) => b.at - a.at).slice(0, maxLines);
  return (
    <ol class="log">
      {lines.map(({ at, title, body }) => (
        <li>
          {body === "" ? (
            <p>{title}</p>
          ) : (
            <details data-key={`${at} ${title}`}>
              <summary>{title}</summary>
              <pre tabindex={0}>{body}</pre>
            </details>
          )}
        </li>
      ))}
    </ol>
  );
}

/** The form of a modal. */
export function ModalForm({ modal, guild, run }: { modal: Modal; guild: Guild; run: string }) {
  return (
    <form data-form="submit" data-run={run}>
      <h2 id="modal-title">{modal.title}</h2>
      {modal.components.map((part) => (
        <Part part={part} guild={guild} />
      ))}
      <p class="row">
        <button type="submit" class="primary" id="modal-send">
          Submit
        </button>
        <button type="button" id="modal-cancel" data-act="dismiss" data-run={run}>
          Cancel
        </button>
      </p>
    </form>
  );
}

function Part({ part, guild }: { part: Component; guild: Guild }) {
  if (part.type === ComponentType.TextDisplay)
    return (
      <p class="text">
        <Text text={part.content ?? ""} />
      </p>
    );
  const field = part.component ?? part.components?.[0];
  if (!field) return null;
  const name = part.label ?? field.label ?? field.custom_id ?? "";
  return (
    <>
      <ComponentField component={field} guild={guild} id={`field-${field.custom_id}`} name={`v:${field.custom_id}`} label={name} />
      {part.description && <p class="small">{part.description}</p>}
    </>
  );
}
