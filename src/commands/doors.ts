import type { RouteSpec } from "../operations/route.ts";
import type { Entry } from "./entry.ts";
import { type CommandTable, nameOf } from "./table.ts";

/** One operation of the HTTP API, and how people do the same in Discord. */
export interface Door {
  operation: string;
  method: string;
  path: string;
  /** Commands, menus and buttons that lead to it. */
  commands: readonly string[];
  /** Why there is none; only where there is none. */
  reason?: string;
}

type Commands = Pick<CommandTable, "entries" | "menuEntries" | "menus" | "entryOf">;

/** The operations of an entry: several where what was given chooses. */
export const operationsOf = ({ operation, operations = [] }: Entry): readonly string[] => [...new Set([operation, ...operations])];

/** Everything in Discord that runs an operation. */
export function commandsOf({ entries, menus, entryOf }: Commands, operation: string): string[] {
  const found = entries.filter((entry) => operationsOf(entry).includes(operation)).map((entry) => `/${nameOf(entry)}`);
  const inMenus = menus.filter(({ entry }) => operationsOf(entryOf(entry)).includes(operation)).map(({ name }) => `menu ${name}`);
  const buttons = onlyButtons[operation];
  return [...found, ...inMenus, ...(buttons === undefined ? [] : [buttons])];
}

/** Both transports, operation by operation. @param routes what the HTTP API has */
export function doorsOf(table: Commands, routes: readonly { spec: Pick<RouteSpec, "operationId" | "method" | "path"> }[]): Door[] {
  return routes.map(({ spec: { operationId: operation, method, path } }) => {
    const reason = notInDiscord[operation];
    return { operation, method, path, commands: commandsOf(table, operation), ...(reason !== undefined && { reason }) };
  });
}

/** What is not as it has to be: every operation is found in Discord or is named with a reason, never both. */
export function flawsOf({ entries, menuEntries }: Commands, doors: readonly Door[]): string[] {
  const everyEntry = [...entries, ...menuEntries];
  const known = new Set(doors.map(({ operation }) => operation));
  const missing = (names: readonly string[], what: string): string[] =>
    names.filter((name) => !known.has(name)).map((name) => `${what} names ${name}, which is no operation`);
  return [
    ...doors.flatMap(({ operation, commands, reason }) => {
      if (commands.length === 0 && reason === undefined) return [`${operation} is neither in Discord nor named with a reason`];
      return commands.length > 0 && reason !== undefined ? [`${operation} is in Discord (${commands.join(", ")}) and has a reason`] : [];
    }),
    ...everyEntry
      .filter((entry) => entry.operationFor !== undefined && entry.operations === undefined)
      .map((entry) => `${nameOf(entry)} chooses among operations that nobody named`),
    ...missing([...new Set(everyEntry.flatMap(operationsOf))], "a command"),
    ...missing(Object.keys(notInDiscord), "the list of reasons"),
    ...missing(Object.keys(onlyButtons), "the list of buttons"),
  ];
}

/** The page of the table. */
export function doorsPage(doors: readonly Door[]): string {
  const cell = (text: string): string => text.replaceAll("|", "\\|");
  const rows = doors
    .toSorted((a, b) => (a.path + a.method < b.path + b.method ? -1 : 1))
    .map(({ operation, method, path, commands, reason }) => {
      const there = commands.length === 0 ? `– ${reason ?? ""}` : commands.map((one) => `\`${one}\``).join(", ");
      return [`\`${method.toUpperCase()} ${path}\``, `\`${operation}\``, cell(there)];
    });
  return [head, tableOf(["Route", "Operation", "In Discord"], rows), ""].join("\n");
}

const head = `# Two doors

Everything that can be done over HTTP can be done in Discord, with the same rights, the same refusals and the same audit. Each line is one
operation of the HTTP door and the commands, menus and buttons that lead to the same verb; where there is none, the line says why.

This page is made from the code: \`npm run generate\`.
`;

/** As the formatter writes it. */
export function tableOf(heads: readonly string[], rows: readonly (readonly string[])[]): string {
  const widths = heads.map((_, column) => Math.max(...[heads, ...rows].map((row) => (row[column] ?? "").length)));
  const line = (row: readonly string[]): string => `| ${row.map((text, column) => text.padEnd(widths[column] ?? 0)).join(" | ")} |`;
  return [line(heads), line(widths.map((width) => "-".repeat(width))), ...rows.map(line)].join("\n");
}

/** Operations that no command leads to, each with the reason, for people. */
export const notInDiscord: Readonly<Record<string, string>> = {
  getHealth: "for machines: whether the service is well, asked by what watches over it",
  getLiveness: "for machines: whether the service is to be started again",
  getReadiness: "for machines: whether requests can be sent here",
  followEvents: "for machines: a stream that a client follows",
  getWebhook: "every web-hook is shown whole with /setup webhooks list",
  redeliverWebhookEvent: "for machines: what a receiver has lost is known there; a place in the log is named by its id",
  listBlacklistChanges: "for machines: a feed by which a client keeps its own copy",
  createCallsignPool: "set up once: the rules of a pool are too many for a form",
  updateCallsignPool: "set up once: the rules of a pool are too many for a form",
  deleteCallsignPool: "set up once: the rules of a pool are too many for a form",
  redactUser: "erasing somebody for good is done at the command line or over HTTP, where nobody presses a button by mistake",
  replaceRolePermissions: "for machines: a whole set at once; single rights of a role are changed with /permission role",
  decideWorkflows: "for machines: many decisions at once, out of a selection on a page",
  getWorkflowPolicy: "every policy is shown at once with /setup policies",
  listWorkflowTypes: "for machines: what the forms of requests are made of",
};

/** Operations that only buttons and menus of answers lead to. */
export const onlyButtons: Readonly<Record<string, string>> = {
  retryListAction: "button Try again",
  getNativeAction: "menus of /intel by-hand and /case timeline",
  listWorkflowEvidence: "card of a request: evidence",
};
