import { ComponentType } from "discord-api-types/v10";
import { findCommand, type OptionValue } from "../command-options.ts";
import { isSelect, walkComponents, type Component } from "../components.ts";
import type { Run } from "../interaction-run.ts";
import type { FieldValues } from "../modal-fields.ts";
import type { Guild, User } from "../model.ts";
import { ban, kick, removeMember, updateMember } from "../world-members.ts";
import { fileOf, findUser, optionValue } from "./choices.ts";
import type { RoomState } from "./state.ts";

/** One thing done in the room: by whom, where, and what the form says. */
export type Act = { state: RoomState; form: FormData; guild: Guild; user: User };

const text = (form: FormData, name: string): string => {
  const value = form.get(name);
  return typeof value === "string" ? value : "";
};

const messageOf = (form: FormData) => ({ id: text(form, "message"), channelId: text(form, "channel") });
const targetOf = ({ state, form }: Act): User => findUser(state.world, text(form, "user"));

/** What the page can do, by name; each answers with what it says to the person. */
export const acts: Record<string, (act: Act) => string | Promise<string>> = {
  role: setRole,
  commands: setCommands,
  kick(act) {
    requireThere(act, kick(act.state.world, act.guild, targetOf(act), byHand(act)));
    return `${targetOf(act).username} is kicked.`;
  },
  leave(act) {
    requireThere(act, removeMember(act.state.world, act.guild, targetOf(act)));
    return `${targetOf(act).username} has left.`;
  },
  ban(act) {
    ban(act.state.world, act.guild, targetOf(act), byHand(act));
    return `${targetOf(act).username} is banned.`;
  },
  post({ state, form, guild, user }) {
    state.keys(user, guild).post({ content: text(form, "content"), channel: { id: text(form, "channel") } });
    return "The message is sent.";
  },
  delete({ state, form, guild, user }) {
    state.keys(user, guild).deleteMessage(messageOf(form));
    return "The message is deleted.";
  },
  dismiss({ state, form }) {
    state.find(text(form, "run")).isModalClosed = true;
    return "The form is closed.";
  },
  run: (act) => follow(act, runCommand(act), `/${wordsOf(act)}`),
  person: (act) => follow(act, act.state.keys(act.user, act.guild).runUserCommand(wordsOf(act), targetOf(act)), wordsOf(act)),
  menu: (act) => follow(act, act.state.keys(act.user, act.guild).runMessageCommand(wordsOf(act), messageOf(act.form)), wordsOf(act)),
  press: (act) => follow(act, press(act), text(act.form, "words")),
  choose: (act) => follow(act, choose(act), text(act.form, "words")),
  submit,
};

/** The name of a command, without the mark of its type. */
const wordsOf = ({ form }: Act): string => text(form, "command").replace(/^\d:/, "");

async function follow({ state, user, guild }: Act, started: Promise<Run>, words: string): Promise<string> {
  const run = await started;
  state.keep({ words, run, user, guild });
  return `Sent: ${words}`;
}

function setRole(act: Act): string {
  const { state, form, guild } = act;
  const user = targetOf(act);
  const member = guild.members.get(user.id);
  const role = guild.roles.get(text(form, "role"));
  if (!member || !role) throw new Error("this member or role is gone");
  const others = member.roles.filter((id) => id !== role.id);
  const isGiven = text(form, "on") === "true";
  updateMember(state.world, guild, member, { roles: isGiven ? [...others, role.id] : others }, byHand(act));
  return `${user.username} ${isGiven ? "has" : "has lost"} ${role.name}.`;
}

/** What an owner sets under Integrations: whether a role sees the commands of the application. */
function setCommands({ form, guild }: Act): string {
  const role = guild.roles.get(text(form, "role"));
  if (!role) throw new Error("this role is gone");
  const isGiven = text(form, "on") === "true";
  if (isGiven) guild.commandRoles.add(role.id);
  else guild.commandRoles.delete(role.id);
  return `${role.name} ${isGiven ? "sees" : "no longer sees"} the commands.`;
}

/** As the person who is at the keyboard of the room. */
const byHand = ({ user }: Act) => ({ by: user, reason: "by hand" });

function requireThere(act: Act, was: boolean): void {
  if (!was) throw new Error(`${targetOf(act).username} is not in ${act.guild.name}`);
}

async function runCommand(act: Act): Promise<Run> {
  const words = wordsOf(act);
  return act.state.keys(act.user, act.guild).runSlashCommand(words, await optionsOf(act, words));
}

/** The options of a command as the form has them. */
export async function optionsOf({ state, form, guild }: Act, words: string): Promise<Record<string, OptionValue>> {
  const values: Record<string, OptionValue> = {};
  for (const option of findCommand(state.world, guild, words).options) {
    const value = await optionValue(state.world, guild, option, form.get(`v:${option.name}`));
    if (value !== undefined) values[option.name] = value;
  }
  return values;
}

async function press({ state, form, guild, user }: Act): Promise<Run> {
  const choice = { custom_id: text(form, "custom") };
  const run = text(form, "run");
  return run === "" ? state.keys(user, guild).press(messageOf(form), choice) : state.find(run).run.clickButton(choice, 100);
}

async function choose(act: Act): Promise<Run> {
  const { state, form, guild, user } = act;
  const picked = text(form, "value");
  const values = picked === "" ? await valuesOf(act, "v:values", form.get("people") === "true") : [picked];
  const run = text(form, "run");
  const custom = text(form, "custom");
  return run === "" ? state.keys(user, guild).choose(messageOf(form), custom, values) : state.find(run).run.select(custom, values, 100);
}

/** All values of one field: choices, people by name, files. */
async function valuesOf({ state, form }: Act, name: string, arePeople: boolean): Promise<OptionValue[]> {
  const values: OptionValue[] = [];
  for (const given of form.getAll(name)) {
    const value = typeof given === "string" ? given : await fileOf(given);
    if (value === undefined || value === "") continue;
    if (arePeople && typeof value === "string") values.push(...value.split(",").map((one) => findUser(state.world, one)));
    else values.push(value);
  }
  return values;
}

async function submit(act: Act): Promise<string> {
  const { run, user, guild, words } = act.state.find(text(act.form, "run"));
  const { modal } = run.interaction;
  const values: FieldValues = {};
  for (const field of walkComponents(modal?.components ?? []))
    if (field.custom_id !== undefined) values[field.custom_id] = await fieldValue(act, field);
  return follow({ ...act, user, guild }, run.submitModal(values, 100), words);
}

async function fieldValue(act: Act, field: Component): Promise<FieldValues[string]> {
  const name = `v:${field.custom_id}`;
  if (field.type === ComponentType.Checkbox) return text(act.form, name) === "true";
  if (field.type === ComponentType.TextInput) return text(act.form, name);
  return valuesOf(
    act,
    name,
    isSelect(field) && (field.type === ComponentType.UserSelect || field.type === ComponentType.MentionableSelect),
  );
}
