import type { CommandSet, Entry, CommandInput, OptionSpec, PickSpec } from "../../commands/entry.ts";
import { choiceLimit } from "../../commands/sources.ts";
import { cut, enumLabel } from "../../commands/show.ts";
import { shownStatuses, storedStatuses, type ServerView } from "./servers.schema.ts";
import { picked, textIn } from "../../commands/input.ts";
import {
  agreementLine,
  incidentLine,
  registeredLine,
  registeredReply,
  agreementsPress,
  incidentsPress,
  registeredPress,
  serverOption as server,
} from "./commands/replies.ts";
import { idsIn, numberIn, pickedQuery } from "../../commands/records.ts";

const command = "intel";

const at = (given: CommandInput) => ({ id: idsIn(textIn(given, "server"))[0] ?? "" });

/** A server that is gone or became part of another was registered before. */
const firstStatuses = storedStatuses.filter((status) => status !== "merged" && status !== "defunct");
const text = (name: string, max: number): OptionSpec => ({ name, kind: "text", min: 1, max });
const status = (choices: readonly string[]): OptionSpec => ({ name: "status", kind: "text", choices });
const facts: readonly OptionSpec[] = [
  text("name", 100),
  { name: "owner", kind: "user" },
  text("contacts", 2000),
  text("aliases", 500),
  text("tags", 1000),
  text("note", 2000),
  text("invite", 200),
  text("icon", 100),
];

/** What is taken away, by the option that would set it: the field, and what it is without. */
const emptied: Readonly<Record<string, readonly [field: string, value: null | readonly never[]]>> = {
  name: ["name", null],
  owner: ["owner_user_id", null],
  contacts: ["contacts", []],
  aliases: ["aliases", []],
  tags: ["tags", []],
  note: ["note", null],
  invite: ["invite_code", null],
  icon: ["icon", null],
};

const partsOf = (typed: string): string[] =>
  typed
    .split(/[,;\n]/)
    .map((part) => part.trim())
    .filter((part) => part !== "");

/** `80351110224678912 owner, @somebody events`: an id or a mention, then what the person is there. */
function contactsIn(typed: string): { user_id: string; role: string }[] {
  return partsOf(typed).map((part) => {
    const [first = "", ...rest] = part.split(/\s+/);
    return { user_id: idsIn(first)[0] ?? "", role: rest.join(" ") };
  });
}

/** The code at the end of an address, or what was typed. */
const inviteIn = (typed: string): string =>
  /^(?:https?:\/\/)?(?:www\.)?(?:discord\.gg|discord\.com\/invite)\/([^/?#]+)/.exec(typed)?.[1] ?? typed;

/** Lists that are typed replace the whole list. What was not given is not sent. */
function fieldsOf(given: CommandInput): Record<string, unknown> {
  const [aliases, tags] = [textIn(given, "aliases"), textIn(given, "tags")];
  const [contacts, invite] = [textIn(given, "contacts"), textIn(given, "invite")];
  return {
    ...picked(given, "name", "icon", "note", "status"),
    owner_user_id: textIn(given, "owner"),
    ...(aliases !== undefined && { aliases: idsIn(aliases) }),
    ...(tags !== undefined && { tags: partsOf(tags) }),
    ...(contacts !== undefined && { contacts: contactsIn(contacts) }),
    ...(invite !== undefined && { invite_code: inviteIn(invite.trim()) }),
  };
}

function changesOf(given: CommandInput): Record<string, unknown> {
  const [field, value] = emptied[textIn(given, "clear") ?? ""] ?? [];
  const into = textIn(given, "merged-into");
  return {
    ...fieldsOf(given),
    ...(into !== undefined && { merged_into: idsIn(into)[0] ?? "" }),
    ...(field !== undefined && { [field]: value }),
  };
}

const opens: PickSpec = {
  press: registeredPress,
  placeholder: "intel server pick",
  of: ({ id, name }: { id: string; name: string | null }) => ({ value: id, label: name ?? id }),
};

/** `/intel server`: the register of servers the community knows of. */
const serverEntries: readonly Entry[] = [
  {
    command,
    path: "server list",
    operation: "listServers",
    options: [status(shownStatuses), { name: "q", kind: "text" }],
    input: (given) => ({ query: pickedQuery(given, "status", "q") }),
    line: registeredLine,
    picks: [opens],
  },
  {
    command,
    path: "server show",
    operation: "getServer",
    options: [server],
    input: (given) => ({ params: at(given) }),
    show: registeredReply,
    press: registeredPress,
  },
  {
    command,
    path: "server register",
    operation: "registerServer",
    options: [{ name: "server", kind: "text", required: true, max: 40 }, status(firstStatuses), ...facts],
    input: (given) => ({ body: { ...at(given), ...fieldsOf(given) } }),
    show: registeredReply,
  },
  {
    command,
    path: "server edit",
    operation: "updateServer",
    options: [
      server,
      status(storedStatuses),
      { name: "merged-into", kind: "text", completes: "registered-server", max: 40 },
      ...facts,
      { name: "clear", kind: "text", choices: Object.keys(emptied) },
      { name: "revision", kind: "integer", min: 1 },
    ],
    input: (given) => ({ params: at(given), body: changesOf(given), revision: numberIn(given, "revision") }),
    show: registeredReply,
  },
  {
    command,
    path: "server agreements",
    operation: "listServerAgreements",
    options: [server],
    input: (given) => ({ params: at(given) }),
    line: agreementLine,
    press: agreementsPress,
  },
  {
    command,
    path: "server incidents",
    operation: "listServerIncidents",
    options: [server],
    input: (given) => ({ params: at(given) }),
    line: incidentLine,
    press: incidentsPress,
  },
];

/** What Discord offers of the register of servers. */
export const serverCommands: CommandSet = {
  entries: serverEntries,
  sources: {
    "registered-server": {
      operation: "listServers",
      input: (typed) => ({ query: { limit: choiceLimit, q: typed.trim() === "" ? undefined : typed.trim().slice(0, 100) } }),
      choice: ({ id, name, status }: ServerView, _typed, t) => ({
        name: cut([name, id, enumLabel(status, t, "intel")].filter(Boolean).join(" · "), 100),
        value: id,
      }),
    },
  },
};
