import type { CommandInput, Entry, OptionSpec, SourceSpec, Wording } from "../../commands/entry.ts";
import { picked, textIn } from "../../commands/input.ts";
import { numberIn, readView } from "../../commands/records.ts";
import { cut, enumLabel, mentionOf, momentOf } from "../../commands/show.ts";
import { holds } from "../../commands/sources.ts";
import type { Translate } from "../../kit/say.ts";
import type { Verbs } from "../../commands/verbs.ts";
import { escapeText } from "../../discord/replies.ts";
import { sentenceText } from "../../discord/sentence.ts";
import type { DeliveryView, WebhookView, WebhookWithSecretView } from "./webhooks.schema.ts";

const command = "setup";
const webhook: OptionSpec = { name: "webhook", kind: "text", required: true, completes: "webhook", max: 36 };
const revision: OptionSpec = { name: "revision", kind: "integer", min: 1 };
const at = (given: CommandInput) => ({ id: textIn(given, "webhook") ?? "" });

function settingsIn(given: CommandInput): Record<string, unknown> {
  const named = textIn(given, "types");
  return { ...picked(given, "name", "url"), ...(named !== undefined && { types: named.split(/[\s,;]+/).filter((one) => one !== "") }) };
}

function webhookLine(view: WebhookView, { t }: Pick<Wording, "t">): string {
  const facts = [
    enumLabel(view.state, t),
    escapeText(view.url),
    view.types.length === 0 ? t("setup webhooks everything") : view.types.map(escapeText).join(", "),
    view.user_id === null ? undefined : mentionOf(view.user_id),
    view.problem === null ? undefined : sentenceText(view.problem, t),
    view.next_attempt_at === null ? undefined : t("setup webhooks next", { at: momentOf(view.next_attempt_at, "R") }),
  ];
  return [`**${escapeText(view.name)}**`, ...facts.filter((fact) => fact !== undefined)].join(" · ");
}

/** A web-hook right after its secret was made: it is in this one answer, which only its maker sees. */
function secretText(view: WebhookWithSecretView, t: Translate): string {
  return `${webhookLine(view, { t })}\n\`\`\`\n${view.secret}\n\`\`\`\n${t("setup webhooks once")}`;
}

function deliveryLine({ kind, type, at: moment, attempt, delivered, ms, problem }: DeliveryView, { t }: Pick<Wording, "t">): string {
  const how = delivered ? t("setup webhooks took", { ms }) : sentenceText(problem ?? "", t);
  const which = kind === "event" ? t("setup webhooks attempt", { count: attempt }) : t(`setup webhooks kind ${kind}`);
  return [`${delivered ? "✅" : "❌"} \`${type}\``, momentOf(moment, "R"), which, how].join(" · ");
}

const shown = (view: WebhookView, { t }: Wording) => ({ content: webhookLine(view, { t }) });

/** What is lost with a web-hook. */
async function asksToRemove({ t, call, given }: Wording, verbs: Verbs) {
  const view = await readView<WebhookView>(verbs, "getWebhook", call, { params: at(given) });
  const about = { revision: numberIn(given, "revision") ?? view.revision };
  return { content: t("setup webhooks ask-remove", { name: escapeText(view.name) }), about };
}

/** `/setup webhooks`: addresses that are told of events. */
export const webhookEntries: readonly Entry[] = [
  { command, path: "webhooks list", operation: "listWebhooks", input: () => ({}), line: webhookLine },
  {
    command,
    path: "webhooks add",
    operation: "createWebhook",
    options: [
      { name: "name", kind: "text", required: true, max: 80 },
      { name: "url", kind: "text", required: true, max: 2000 },
      { name: "types", kind: "text", max: 1000 },
    ],
    input: (given) => ({ body: settingsIn(given) }),
    show: (view: WebhookWithSecretView, { t }) => ({ content: secretText(view, t) }),
  },
  ...(["pause", "resume"] as const).map((verb): Entry => ({
    command,
    path: `webhooks ${verb}`,
    operation: "updateWebhook",
    options: [webhook],
    input: (given) => ({ params: at(given), body: { state: verb === "pause" ? "paused" : "active" } }),
    show: shown,
  })),
  {
    command,
    path: "webhooks rotate",
    operation: "rotateWebhookSecret",
    options: [webhook],
    input: (given) => ({ params: at(given) }),
    asks: ({ t }) => t("setup webhooks ask-rotate"),
    show: (view: WebhookWithSecretView, { t }) => ({ content: secretText(view, t) }),
  },
  {
    command,
    path: "webhooks remove",
    operation: "deleteWebhook",
    options: [webhook, revision],
    input: (given) => ({ params: at(given), revision: numberIn(given, "revision") }),
    asks: asksToRemove,
    show: ({ name }: WebhookView, { t }) => ({ content: t("setup webhooks removed", { name: escapeText(name) }) }),
  },
  {
    command,
    path: "webhooks test",
    operation: "testWebhook",
    options: [webhook],
    input: (given) => ({ params: at(given) }),
    show: (view: DeliveryView, wording) => ({ content: deliveryLine(view, wording) }),
  },
  {
    command,
    path: "webhooks deliveries",
    operation: "listWebhookDeliveries",
    options: [webhook],
    input: (given) => ({ params: at(given) }),
    line: deliveryLine,
    press: { name: "wh", carries: [{ name: "webhook", kind: "text" }] },
  },
];

/** What is offered while a web-hook or a delivery is typed. */
export const webhookSources: Readonly<Record<string, SourceSpec>> = {
  webhook: {
    operation: "listWebhooks",
    input: () => ({ query: { limit: 200 } }),
    choice: ({ id, name }: WebhookView) => ({ name: cut(name, 100), value: id }),
    keeps: ({ id, name }: WebhookView, typed) => holds(typed, id, name),
  },
};
