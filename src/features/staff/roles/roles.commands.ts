import type { VerbInput, Verbs } from "../../../commands/verbs.ts";
import { escapeText } from "../../../discord/replies.ts";
import type { StaffRoleView } from "./roles.schema.ts";
import type { Call } from "../../../kernel/call.ts";
import { fieldError } from "../../../kernel/errors.ts";
import type { Entry, FieldSpec, CommandInput, OptionSpec } from "../../../commands/entry.ts";
import { picked, textIn } from "../../../commands/input.ts";
import { enumLabel } from "../../../commands/show.ts";
import { readView } from "../../../commands/records.ts";
import { say, type Translate } from "../../../kit/say.ts";

const command = "staffrole";
const key: OptionSpec = { name: "key", kind: "text", required: true, completes: "staff-role", max: 50 };
const newKey: OptionSpec = { name: "key", kind: "text", required: true, max: 50 };
const role: OptionSpec = { name: "discord-role", kind: "role" };
const roleId: OptionSpec = { name: "discord-role-id", kind: "text", min: 17, max: 20 };
const level: OptionSpec = { name: "level", kind: "text" };
const rank: OptionSpec = { name: "rank", kind: "integer" };
const name: OptionSpec = { name: "name", kind: "text" };
const capacity: OptionSpec = { name: "capacity", kind: "integer" };
const whyForm: readonly FieldSpec[] = [{ name: "reason", kind: "paragraph", required: true }];

const at = (given: CommandInput) => ({ key: textIn(given, "key") ?? "" });
const refOf = (guildId: string, id: string): string => `${guildId}:${id}`;

/** What the mappings are now, and of which revision: a change is refused when somebody else made one meanwhile. */
async function mappedNow(given: CommandInput, call: Call, verbs: Verbs): Promise<CommandInput["values"]> {
  verbs.require("updateStaffRole", call, at(given));
  const { discord, revision } = await readView<StaffRoleView>(verbs, "getStaffRole", call, { params: at(given) });
  return { revision, mapped: discord.map((one) => refOf(one.guild_id, one.role_id)) };
}

/** @returns the change of all mappings, made from what `mappedNow` has found */
function mapping(given: CommandInput, change: (mapped: readonly string[]) => readonly string[]): VerbInput {
  const { mapped, revision } = given.values;
  const discord = change(Array.isArray(mapped) ? mapped : []).map((ref) => {
    const [guildId = "", id = ""] = ref.split(":");
    return { guild_id: guildId, role_id: id };
  });
  return { params: at(given), body: { discord }, revision: Number(revision) };
}

function withoutRole(mapped: readonly string[], given: CommandInput): readonly string[] {
  const id = textIn(given, "discord-role") ?? textIn(given, "discord-role-id");
  const rest = mapped.filter((ref) => ref.split(":")[1] !== id);
  if (rest.length === mapped.length)
    throw fieldError("/discord-role", id === undefined ? "required" : "unknown_role", say("staff.name-a-discord-role-that-stands-for"));
  return rest;
}

const readers: readonly Entry[] = [
  { command, path: "list", operation: "listStaffRoles", input: () => ({}), line: (view, { t }) => lineOf(view, t) },
  { command, path: "show", operation: "getStaffRole", options: [key], input: (given) => ({ params: at(given) }), show: shown },
];

const mappings: readonly Entry[] = [
  {
    command,
    path: "map",
    operation: "updateStaffRole",
    options: [key, { ...role, required: true }],
    locate: mappedNow,
    input: (given, call) => {
      const ref = refOf(call.guildId ?? "", textIn(given, "discord-role") ?? "");
      return mapping(given, (mapped) => [...mapped.filter((one) => one !== ref), ref]);
    },
    show: shown,
  },
  {
    command,
    path: "unmap",
    operation: "updateStaffRole",
    options: [key, role, roleId],
    locate: mappedNow,
    input: (given) => mapping(given, (mapped) => withoutRole(mapped, given)),
    show: shown,
  },
];

const changes: readonly Entry[] = [
  {
    command,
    path: "capacity",
    operation: "updateStaffRole",
    options: [key, capacity],
    input: (given) => ({ params: at(given), body: { capacity: given.values["capacity"] ?? null } }),
    show: shown,
  },
  {
    command,
    path: "create",
    operation: "putStaffRole",
    options: [newKey, { ...name, required: true }, { ...level, required: true }, { ...rank, required: true }, role, capacity],
    input: (given, call) => {
      const id = textIn(given, "discord-role");
      const discord = id === undefined ? [] : [{ guild_id: call.guildId, role_id: id }];
      // The revision of what is not there: a role of this key is never replaced.
      return { params: at(given), body: { ...picked(given, "name", "level", "rank", "capacity"), discord }, revision: 0 };
    },
    show: shown,
  },
  {
    command,
    path: "edit",
    operation: "updateStaffRole",
    options: [key, name, level, rank, { name: "callsign-pool", kind: "text", completes: "pool" }],
    input: (given) => ({ params: at(given), body: picked(given, "name", "level", "rank", "callsign-pool") }),
    show: shown,
  },
  {
    command,
    path: "delete",
    operation: "deleteStaffRole",
    options: [key, { name: "reason", kind: "text" }],
    form: whyForm,
    input: (given) => ({ params: at(given), body: picked(given, "reason") }),
    async asks({ t, call, given }, verbs) {
      const view = await readView<StaffRoleView>(verbs, "getStaffRole", call, { params: at(given) });
      return `${t("staffrole delete ask")}\n${lineOf(view, t)}`;
    },
    show: (_view, { t, given }) => ({ content: t("staffrole deleted", { key: escapeText(textIn(given, "key") ?? "") }) }),
  },
];

/** `/staffrole`: what Discord roles stand for. */
export const staffRoleEntries: readonly Entry[] = [...readers, ...mappings, ...changes];

function shown(view: StaffRoleView, { t }: { t: Translate }) {
  const pool = view.callsign_pool === null ? "" : `\n${t("staffrole pool", { pool: escapeText(view.callsign_pool) })}`;
  return { content: `${lineOf(view, t)}\n${t("staffrole holds", { count: view.permissions_count })}${pool}` };
}

function lineOf(view: StaffRoleView, t: Translate): string {
  const roles = view.discord.map(({ role_id: id, missing }) => (missing ? t("staffrole missing", { id }) : `<@&${id}>`));
  const room = view.capacity === null ? "" : `/${view.capacity.toString()}${view.over_capacity ? " ⚠" : ""}`;
  return [
    `**${escapeText(view.name)}** (\`${view.key}\`)`,
    enumLabel(view.level, t),
    t("staffrole rank", { rank: view.rank }),
    roles.length === 0 ? t("staffrole unmapped") : roles.join(" "),
    t("staffrole members", { count: `${view.members_count.toString()}${room}` }),
  ].join(" · ");
}
