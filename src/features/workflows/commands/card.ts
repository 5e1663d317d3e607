import { textFor, type KeyAfter, type TextKey, type Translate } from "../../../kit/say.ts";
import type { APIEmbed, APIEmbedField } from "discord.js";
import type { CardMessage } from "../../../discord/rest/cards.ts";
import type { Row } from "../../../discord/command.ts";
import { idText } from "../../../commands/records.ts";
import { isBlank } from "../../../discord/cut-text.ts";
import { escapeText } from "../../../discord/replies.ts";
import type { ShownRequest, ShownQueue } from "../cards/shown.ts";
import { effectLines } from "./replies.ts";
import type { CheckView, WorkflowView } from "../requests/workflows.schema.ts";
import { parseDuration } from "../../../kernel/fields.ts";
import { cut, labelOf, mentionOf, momentOf, valueOf } from "../../../commands/show.ts";
import { sentenceText } from "../../../discord/sentence.ts";
import { kinds } from "../kinds/kinds.ts";
import { requestTitle, saidInTitle } from "./titles.ts";
import { lengthText } from "../../../commands/length-text.ts";

type Status = WorkflowView["status"];
type Named = readonly (readonly [name: string, value: string | undefined])[];
type Fields = readonly (readonly [name: KeyAfter<"card">, value: string | undefined])[];

/** The colour of a card says how its request stands. */
const colours: Readonly<Record<Status, number>> = {
  pending: 0x5865f2,
  in_review: 0xf0b232,
  needs_info: 0xeb459e,
  escalated: 0xe67e22,
  approved: 0x248046,
  denied: 0xda373c,
  withdrawn: 0x80848e,
  expired: 0x80848e,
  void: 0x80848e,
  reversed: 0x9b59b6,
};
const limits = { text: 1500, value: 700, payload: 10, all: 5500, fields: 25 } as const;
const openStates: ReadonlySet<Status> = new Set(["pending", "in_review", "needs_info", "escalated"]);

/** The buttons of a card: the sub-command of `/review` each stands for, what it needs, and its colour. */
const buttons = [
  { verb: "claim", action: "claim", style: 1 },
  { verb: "approve", action: "approve", style: 3 },
  { verb: "deny", action: "deny", style: 4 },
  { verb: "ask", action: "request_info", style: 2 },
] as const;
const further = [
  { verb: "escalate", action: "escalate" },
  { verb: "hold", action: "hold" },
  { verb: "release", action: "release" },
  { verb: "reverse", action: "reverse" },
  { verb: "reopen", action: "reopen" },
  { verb: "void", action: "void" },
] as const;
/** Offered to everybody: what they may not read is refused when they ask. */
const lookUps = ["evidence", "history"] as const;

/** Whom a card is for: everybody in a channel, or one person who sees what they may do. */
interface CardFor {
  t: Translate;
  /** Left out for everybody. */
  allowed?: ReadonlySet<string>;
  /** What is known of its subjects, as the person may see it. */
  history?: string;
  /** What an approval by this person comes to. */
  outcome?: string;
  /** What is in its way. */
  blocked?: string;
  /** The custom id of their button to approve, where it opens a form that was filled in already. */
  approveId?: string;
}

/** A reference of ours is shown as it is: an escaped one would not be found by a search in the channel. */
const plain = (reference: string): string => (/^[A-Z\d-]{1,64}$/.test(reference) ? reference : escapeText(reference));

/** The card of a request in a channel. */
export function sharedCard({ view, isOpen }: ShownRequest, t: Translate): CardMessage {
  return { embeds: [embedOf(view, { t })], components: isOpen ? rowsOf(view, { t }) : [] };
}

/** The card of a request for one person: what they may not do is not there. */
export function personalCard(view: WorkflowView, card: CardFor): CardMessage {
  return { embeds: [embedOf(view, card)], components: rowsOf(view, card) };
}

function embedOf(view: WorkflowView, card: CardFor): APIEmbed {
  const { t } = card;
  const { requester, title, summary } = view;
  const lines = [
    `**${requestTitle(view, t)}**`,
    ...(requester === null ? [] : [t("line filed", { user: `<@${requester.id}>` })]),
    ...(isBlank(summary) || summary === title ? [] : [escapeText(summary)]),
  ];
  const embed: APIEmbed = {
    title: plain(view.reference),
    description: cut(lines.join("\n"), limits.text),
    color: colours[view.status],
    fields: [],
    footer: { text: t("card footer", { revision: view.revision }) },
  };
  let size = (embed.title?.length ?? 0) + (embed.description?.length ?? 0) + (embed.footer?.text.length ?? 0);
  for (const field of fieldsOf(view, card)) {
    size += field.name.length + field.value.length;
    if (size > limits.all || (embed.fields?.length ?? 0) === limits.fields) break;
    embed.fields?.push(field);
  }
  return embed;
}

/** What stands first is what is left when not all of it fits. */
function fieldsOf(view: WorkflowView, { t, history, outcome, blocked }: CardFor): APIEmbedField[] {
  const known: Fields = [
    ["subject", idsIn(view, requestTitle(view, t))],
    ["servers", placeText(view.place, t)],
    ["history", history],
    ["outcome", outcome],
    ["blocked", blocked],
  ];
  const named = [...stateFields(view, t), ...known, ...workFields(view, t)];
  const own: Named = named.map(([name, value]) => [t(`card ${name}`), value]);
  const said = saidInTitle(view);
  const payload: Named = Object.entries(withoutPlace(view))
    .filter(([name, value]) => !said.has(name) && value !== view.summary && (isPermanent(name, value) || !isEmpty(value)))
    .slice(0, limits.payload)
    .flatMap(([name, value]) => answersIn(name, value) ?? [[labelOf(name, t), payloadText(name, value, t)]]);
  const ends: Named = endFields(view, t).map(([name, value]) => [t(`card ${name}`), value]);
  return [...own, ...payload, ...ends].flatMap(([name, value]) => {
    // Discord takes no message with a field in which nothing can be seen.
    if (value === undefined || isBlank(value) || isBlank(name)) return [];
    const shown = cut(value, limits.value);
    return [{ name: cut(name, 100), value: shown, inline: shown.length < 40 }];
  });
}

const maxServers = 10;

/** The servers that a request applies in, by name. */
function placeText(place: WorkflowView["place"], t: Translate): string | undefined {
  if (place === null) return undefined;
  const { everywhere, servers } = place;
  const names = servers.slice(0, maxServers).map(({ id, name }) => (name === null ? idText(id) : escapeText(name)));
  const more = servers.length > maxServers ? [t("say more", { count: servers.length - maxServers })] : [];
  const listed = [...names, ...more].join(", ");
  if (!everywhere) return listed;
  return listed === "" ? t("card everywhere") : `${t("card everywhere")} (${listed})`;
}

/** The payload without the ids of the servers that are shown by name. */
function withoutPlace({ type, payload, place }: WorkflowView): Readonly<Record<string, unknown>> {
  const { servers = "", everywhere = "" } = place === null ? {} : (kinds[type].place ?? {});
  const left = (path: readonly string[], value: unknown): unknown => {
    if (typeof value !== "object" || value === null || Array.isArray(value)) return value;
    return Object.fromEntries(
      Object.entries(value).flatMap(([name, inner]) => {
        const at = [...path, name];
        return [servers, everywhere].includes(at.join(".")) ? [] : [[name, left(at, inner)]];
      }),
    );
  };
  return left([], payload) as Readonly<Record<string, unknown>>;
}

/** What somebody answered who appeals: each question is a field of its own. */
function answersIn(name: string, value: unknown): Named | undefined {
  if (name !== "answers" || !Array.isArray(value)) return undefined;
  return (value as { question: string; answer: string }[]).map(({ question, answer }) => [escapeText(question), escapeText(answer)]);
}

/** A field of the payload; an end that is given as a length counts from the decision. */
function payloadText(name: string, value: unknown, t: Translate): string {
  if (isPermanent(name, value)) return t("card permanent");
  const own = typeof value === "string" ? textFor(`request = ${value}`, t) : undefined;
  if (own !== undefined) return own;
  const seconds = name === "appeal_until" && typeof value === "string" ? parseDuration(value) : undefined;
  return seconds === undefined ? valueOf(value, t, name) : t("card from-decision", { length: lengthText(seconds, t) });
}

/** A length that was left out is as usual; one that is null never ends. */
function isPermanent(name: string, value: unknown): boolean {
  return name === "duration" && value === null;
}

/** Whether a value says nothing: nothing is chosen, or nothing in it is. */
function isEmpty(value: unknown): boolean {
  if (typeof value !== "object" || value === null) return value === null || value === false || value === 0 || value === "none";
  return Object.values(value).every(isEmpty);
}

function stateFields({ status, priority, urgent, approvals, timers, payload_revision: payload }: WorkflowView, t: Translate): Fields {
  const { have, required, votes } = approvals;
  const lapsed = votes.filter((vote) => vote.lapsed_at !== null && vote.payload_revision === payload);
  const { due_decision_at: due, paused_at: paused } = timers;
  const isOpen = openStates.has(status);
  return [
    ["state", t(`= ${status}`)],
    ["votes", have === undefined ? t("card votes-hidden", { required }) : `${have.toString()}/${required.toString()}`],
    ["lapsed", lapsed.map(({ actor }) => mentionOf(actor.id)).join(", ")],
    ["due", !isOpen || due === null ? undefined : paused === null ? momentOf(due, "R") : t("card paused")],
    ["priority", urgent ? `${t(`= ${priority}`)} · ${t("card urgent")}` : t(`= ${priority}`)],
  ];
}

/** Ids to copy that are not in the title; one of several with its person. */
function idsIn({ subjects }: WorkflowView, title: string): string {
  const left = subjects.filter(({ id }) => !title.includes(idText(id)));
  const isNamed = (id: string) => left.length === 1 && title.includes(`<@${id}>`);
  return left.map(({ kind, id }) => (kind !== "user" || isNamed(id) ? idText(id) : `${mentionOf(id)} ${idText(id)}`)).join("\n");
}

function workFields({ assignment, hold, escalation, questions, checks = [] }: WorkflowView, t: Translate): Fields {
  const by = (text: string | null | undefined): string => (text === null || text === undefined ? "" : ` · ${escapeText(text)}`);
  return [
    ["assignee", assignment === null ? undefined : `<@${assignment.user.id}> ${momentOf(assignment.since, "R")}`],
    ["hold", hold === null ? undefined : `${momentOf(hold.at, "R")}${by(hold.reason)}`],
    ["escalation", escalation === null ? undefined : `${escalation.tier.toString()}${by(escalation.reason)}`],
    ["questions", questions.map((question) => `• ${escapeText(question)}`).join("\n")],
    ["checks", checks.map((check) => checkLine(check, t)).join("\n")],
  ];
}

/** What an automatic check found. */
export function checkLine({ key, result, detail }: Pick<CheckView, "key" | "result" | "detail">, t: Translate): string {
  const name = textFor(`check ${key}`, t) ?? escapeText(key.replaceAll("_", " "));
  return `${t(`card check-${result}`)} ${name}: ${sentenceText(detail, t)}`;
}

function endFields({ decision, effects, evidence }: WorkflowView, t: Translate): Fields {
  const by = decision === null ? "" : mentionOf(decision.by);
  const why = escapeText(decision?.reason_public ?? "");
  return [
    ["pieces", evidence.length === 0 ? undefined : t("card pieces-count", { count: evidence.length })],
    ["decision", [by, why].filter((part) => part !== "").join(" · ")],
    ["policy-refs", decision?.policy_refs.map(escapeText).join(", ")],
    ["effects", effectLines(effects, t).join("\n")],
  ];
}

/** What is known of the subject is a field of the card by the name of history. */
const labelKey = (verb: KeyAfter<"card"> | "history"): TextKey => (verb === "history" ? "card look-history" : `card ${verb}`);

function rowsOf(
  { reference, revision, status, hold }: Pick<WorkflowView, "reference" | "revision" | "status" | "hold">,
  { t, allowed, approveId }: CardFor,
): Row[] {
  const mode = allowed === undefined ? "" : ":me";
  const idOf = (verb: string): string => `wf:${verb}:${reference}:${revision.toString()}${mode}`;
  const isOffered = (action: string): boolean => {
    if (allowed !== undefined) return allowed.has(action);
    if (action === "release") return hold !== null;
    return action !== "reverse" && action !== "reopen" && !(action === "hold" && hold !== null);
  };
  const acting = buttons
    .filter(({ action }) => isOffered(action))
    .map(({ verb, action, style }) => {
      const id = action === "approve" ? (approveId ?? idOf(verb)) : idOf(verb);
      return { type: 2, style, label: cut(t(`card ${verb}`), 80), custom_id: id } as const;
    });
  const verbs = [...further.filter(({ action }) => isOffered(action)).map(({ verb }) => verb), ...lookUps];
  const options = verbs.map((verb) => ({ value: verb, label: cut(t(labelKey(verb)), 100) }));
  const more: Row = { type: 1, components: [{ type: 3, custom_id: idOf("more"), placeholder: cut(t("card more"), 150), options }] };
  return openStates.has(status) && acting.length > 0 ? [{ type: 1, components: acting }, more] : [more];
}

const boardColours = { empty: 0x248046, waiting: 0x5865f2, late: 0xda373c } as const;
const maxBoard = 4000;

/** The board of a queue: what waits, by kind and state. */
export function queueBoard({ counts, oldest, overdue }: ShownQueue, t: Translate): CardMessage {
  const total = counts.reduce((sum, { count }) => sum + count, 0);
  const types = [...new Set(counts.map(({ type }) => type))].toSorted();
  const lines = types.map((type) => {
    const states = counts.filter((one) => one.type === type).toSorted((a, b) => a.status.localeCompare(b.status));
    return `**${t(`= ${type}`)}** · ${states.map(({ status, count }) => `${t(`= ${status}`)}: ${count.toString()}`).join(" · ")}`;
  });
  const ends = [
    ...(oldest === null ? [] : [t("board oldest", { reference: escapeText(oldest.reference), since: momentOf(oldest.at, "R") })]),
    ...(overdue === 0 ? [] : [t("board overdue", { count: overdue })]),
  ];
  const description = cut(total === 0 ? t("board empty") : [...lines, "", ...ends].join("\n"), maxBoard);
  const color = total === 0 ? boardColours.empty : overdue > 0 ? boardColours.late : boardColours.waiting;
  return { embeds: [{ title: t("board title", { total }), description, color }], components: [] };
}
