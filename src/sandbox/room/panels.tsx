import type { Guild, User } from "../model.ts";
import { Channels, Directs } from "./channels.tsx";
import { commandEntries } from "./choices.ts";
import { OptionField, Person } from "./field.tsx";
import { Log } from "./log.tsx";
import { MessageView } from "./message.tsx";
import { ModalForm } from "./modal.tsx";
import { Members, People } from "./people.tsx";
import type { Done, RoomState } from "./state.ts";

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
