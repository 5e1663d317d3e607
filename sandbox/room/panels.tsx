import { Answers } from "./answers.tsx";
import { Channels, Directs } from "./channels.tsx";
import { commandEntries } from "./choices.ts";
import { OptionField } from "./field.tsx";
import { Log } from "./log.tsx";
import { ModalForm } from "./modal.tsx";
import { Members } from "./people.tsx";
import type { OptionDefinition } from "../command-rules.ts";
import type { RoomState } from "./state.ts";
import type { View } from "./view.ts";

/** The parts of the page that follow the world, by the id of their place. */
export function panels(state: RoomState, view: View): Record<string, string> {
  const { world, recorder } = state;
  const { guild, user } = view;
  const done = state.done.filter((one) => one.user === user && one.guild === guild);
  return {
    command: String(<Commands state={state} view={view} />),
    answers: String(<Answers world={world} done={done} />),
    channels: String(<Channels world={world} view={view} />),
    directs: String(<Directs world={world} user={user} />),
    members: String(<Members world={world} view={view} />),
    log: String(<Log recorder={recorder} />),
  };
}

/** The modal that waits for a person, if there is one. */
export function openModal(state: RoomState, { user, guild }: View): { id: string; html: string } | null {
  const latest = state.done.find((one) => one.user === user && one.guild === guild);
  const modal = latest?.run.interaction.modal;
  if (!latest || !modal || latest.isModalClosed) return null;
  return { id: latest.id, html: String(<ModalForm modal={modal} guild={guild} run={latest.id} />) };
}

/** The list of commands, those of one word together. */
function Commands({ state, view }: { state: RoomState; view: View }) {
  const { guild, member, language } = view;
  const all = commandEntries(state.world, guild, member, language);
  const groups = [...new Set(all.map(({ group }) => group))];
  if (groups.length === 0) return <option value="">None: Discord shows {view.user.username} no command here</option>;
  return (
    <>
      {groups.map((group) => (
        <optgroup label={group} data-key={group}>
          {all
            .filter((entry) => entry.group === group)
            .map(({ value, label }) => (
              <option value={value} data-key={value}>
                {label}
              </option>
            ))}
        </optgroup>
      ))}
    </>
  );
}

/** More options than these that may be left out are folded away, as in Discord. */
const maxOptional = 3;

/** What a command is for, and its fields. */
export function commandFields(state: RoomState, { guild, member, language }: View, command: string): string {
  const entry = commandEntries(state.world, guild, member, language).find(({ value }) => value === command);
  if (!entry) return "";
  const field = (option: OptionDefinition) => <OptionField option={option} guild={guild} language={language} />;
  const optional = entry.options.filter(({ required }) => !required);
  const folded = optional.length > maxOptional ? optional : [];
  return String(
    <>
      <p>{entry.description}</p>
      {entry.options.filter((option) => !folded.includes(option)).map(field)}
      {folded.length > 0 && (
        <details>
          <summary>{folded.length} more options</summary>
          {folded.map(field)}
        </details>
      )}
    </>,
  );
}
