import type { Choice, Command, Complete, Run } from "../../discord/command.ts";
import { escapeText } from "../../discord/replies.ts";
import type { ConfirmationView } from "./confirmations.schema.ts";
import { declineLimits } from "./confirmations.schema.ts";
import type { ConfirmationsService } from "./confirmations.service.ts";

const subcommand = 1;
const stringOption = 3;
const shown = 25;
const choiceLength = 100;

const code = {
  type: stringOption,
  name: "code",
  description: "Which change: pick one, or type its code",
  required: true,
  autocomplete: true,
  max_length: 36,
} as const;

const payload = {
  name: "confirm",
  description: "Changes that wait for your word",
  options: [
    { type: subcommand, name: "list", description: "What waits for you, and what you have asked for" },
    { type: subcommand, name: "accept", description: "Let a change happen", options: [code] },
    {
      type: subcommand,
      name: "decline",
      description: "Keep a change from happening",
      options: [
        code,
        {
          type: stringOption,
          name: "reason",
          description: "Shown to the person who asked",
          required: false,
          min_length: 3,
          max_length: declineLimits.reason,
        },
      ],
    },
  ],
} satisfies Command["payload"];

export function confirmationsCommands(confirmations: ConfirmationsService): Command[] {
  return [
    {
      payload,
      subcommands: { list: list(confirmations), accept: accept(confirmations), decline: decline(confirmations) },
      autocomplete: complete(confirmations),
    },
  ];
}

function list(confirmations: ConfirmationsService): Run {
  return async (_options, call) => {
    const { data, next_cursor: next } = await confirmations.list(call, { limit: shown });
    if (data.length === 0) return { content: "Nothing waits for you." };
    return { content: [...data.map(line), ...(next === null ? [] : ["-# Older ones are not shown."])].join("\n") };
  };
}

function accept(confirmations: ConfirmationsService): Run {
  return async (options, call) => {
    const view = await confirmations.confirm(call, options.getString("code", true));
    const summary = escapeText(view.summary);
    if (view.status === "applied") return { content: `Done: ${summary}` };
    return { content: `You have confirmed: ${summary}\nNothing is changed yet: a second person has to confirm it ${until(view)}.` };
  };
}

function decline(confirmations: ConfirmationsService): Run {
  return async (options, call) => {
    const reason = options.getString("reason");
    const view = await confirmations.decline(call, options.getString("code", true), reason === null ? {} : { reason });
    return { content: `Declined: ${escapeText(view.summary)}\nNothing was changed.` };
  };
}

/** Changes the person can say something about; for `accept` only those that can be confirmed. */
function complete(confirmations: ConfirmationsService): Complete {
  return async ({ value }, call, interaction) => {
    const { data } = await confirmations.list(call, { limit: 200 });
    const isForAccept = interaction.options.getSubcommand() === "accept";
    return data
      .filter((view) => !isForAccept || view.code !== undefined)
      .map(choice)
      .filter(({ name }) => name.toLowerCase().includes(value.toLowerCase()))
      .slice(0, shown);
  };
}

function choice({ id, code: typed, summary }: ConfirmationView): Choice {
  const name = [...(typed === undefined ? [] : [typed]), escapeText(summary)].join(" · ");
  return { name: name.slice(0, choiceLength).replace(/[\ud800-\udbff]$/, ""), value: typed ?? id };
}

const whose: Readonly<Record<ConfirmationView["needs"][number], string>> = {
  acting_user: "the person who asked",
  second_person: "a second person",
};

function line(view: ConfirmationView): string {
  const waitsFor = view.needs.map((need) => whose[need]).join(", then ");
  const head = view.code === undefined ? "•" : `\`${view.code}\``;
  return `${head} ${escapeText(view.summary)}\n-# Asked by <@${view.requested_by}>, waits for ${waitsFor}, ends ${until(view)}`;
}

function until(view: ConfirmationView): string {
  return `<t:${Math.floor(Date.parse(view.expires_at) / 1000).toString()}:R>`;
}
