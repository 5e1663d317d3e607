import type { CommandInput, SourceSpec } from "../../../commands/entry.ts";
import { textIn } from "../../../commands/input.ts";
import { cut } from "../../../commands/show.ts";
import { holds } from "../../../commands/sources.ts";
import { say, type Translate } from "../../../kit/say.ts";
import type { Verbs } from "../../../commands/verbs.ts";
import type { Call } from "../../../kernel/call.ts";
import { fieldError } from "../../../kernel/errors.ts";
import { isSnowflake } from "../../../kernel/fields.ts";
import { filingOperation } from "../kinds/kinds.ts";

type Server = ReturnType<Verbs["requests"]["servers"]>[number];

/** What stands for every server where servers are named. */
const all = "all";
/** The option and the field of a form that names servers. */
export const serversOption = "servers";
/** The value that says every server, beside those that were named. */
export const everywhereValue = "everywhere";
const wordsForAll = new Set([all, "alle", "everywhere", "überall", "*"]);
const long = 100;

/**
 * The servers that were named, by name or id, as their ids; `all` is every one of them.
 * @throws ProblemError validation_failed for a name that none or several of the servers have
 */
export function locateServers(given: CommandInput, _call: Call, verbs: Verbs): Promise<CommandInput["values"]> {
  const typed = textIn(given, serversOption)?.trim() ?? "";
  if (typed === "") return Promise.resolve({});
  if (wordsForAll.has(typed.toLowerCase())) return Promise.resolve({ [everywhereValue]: true, [serversOption]: [] });
  const ours = verbs.requests.servers();
  return Promise.resolve({ [serversOption]: [...new Set(partsIn(typed).map((part) => idOf(part, ours)))] });
}

/** Ids may be separated by spaces; names, which have spaces themselves, by commas. */
function partsIn(typed: string): string[] {
  const words = typed.split(/[\s,;]+/).filter((word) => word !== "");
  const parts = words.every(isSnowflake) ? words : typed.split(/[,;]/);
  return parts.map((part) => part.trim()).filter((part) => part !== "");
}

function idOf(name: string, ours: readonly Server[]): string {
  if (isSnowflake(name)) return name;
  const found = ours.filter((server) => server.name?.toLowerCase() === name.toLowerCase());
  const [first] = found;
  if (first !== undefined && found.length === 1) return first.id;
  const names = ours.map((server) => server.name ?? server.id).join(", ");
  if (found.length > 1)
    throw fieldError(`/${serversOption}`, "ambiguous", say("workflows.several-servers-are-called-name-them-by", { name }));
  throw fieldError(`/${serversOption}`, "unknown_server", say("workflows.no-server-here-is-called-there-are", { name, names }));
}

/** The served servers while some are being typed: each offer is what was typed so far, with one more. */
export const servedServerSource: SourceSpec = {
  operation: filingOperation("punishment"),
  input: () => ({}),
  read(_given, call, verbs, typed) {
    if (!verbs.may(filingOperation("punishment"), call, {})) return Promise.resolve([]);
    const before = beforeLast(typed);
    const named = new Set(partsIn(before).map((part) => part.toLowerCase()));
    const ours = verbs.requests.servers();
    const twice = (name: string): boolean => ours.filter((one) => one.name === name).length > 1;
    const offers = ours
      .filter(({ id, name }) => !named.has(id) && !named.has((name ?? "").toLowerCase()))
      .map(({ id, name }) => ({ name: name ?? id, value: name === null || twice(name) || /[,;]/.test(name) ? id : name }));
    return Promise.resolve(before === "" && ours.length > 1 ? [...offers, { name: all, value: all }] : offers);
  },
  choice({ name, value }: { name: string; value: string }, typed: string, t: Translate) {
    const before = beforeLast(typed);
    const whole = `${before}${value}`;
    const shown = value === all ? t("request all-servers") : `${before}${name}`;
    // A value that Discord would cut names other servers, or none.
    return { name: cut(shown, long), value: whole.length > long ? value : whole };
  },
  keeps: ({ name, value }: { name: string; value: string }, typed) => holds(typed.slice(beforeLast(typed).length).trim(), name, value),
};

/** What was typed up to the last comma, as a beginning that one more name completes. */
function beforeLast(typed: string): string {
  const parts = typed.split(",");
  return parts
    .slice(0, -1)
    .map((part) => `${part.trim()}, `)
    .join("");
}
