import type { ChannelsView, PutChannelsInput } from "./channels.schema.ts";
import type { Entry, OptionSpec } from "../../commands/entry.ts";
import { picked, textIn } from "../../commands/input.ts";
import type { Call } from "../../kernel/call.ts";
import type { Page } from "../../kernel/page.ts";
import { listSeen, readView } from "../../commands/records.ts";
import type { GuideContext, GuidePage, GuideStep } from "../../commands/guide.ts";
import { rowOf } from "../../commands/press.ts";
import type { Translate } from "../../kit/say.ts";
import type { Verbs } from "../../commands/verbs.ts";

export const purposes = ["review", "alerts", "board"] as const;
/** Where messages can be posted: text and announcements. */
export const postable = [0, 5];

/** The channels as they are, in words. */
export function channelsText(view: ChannelsView, t: Translate): string {
  return purposes
    .map((purpose) => {
      const id = view[purpose];
      return `• **${t(`setup channel ${purpose}`)}**: ${id === null ? t("setup nothing-yet") : `<#${id}>`}`;
    })
    .join("\n");
}

/** The channels of the server somebody is in. @throws ProblemError as the list refuses; undefined where the server is not served */
export async function channelsHere(verbs: Verbs, call: Call): Promise<ChannelsView | undefined> {
  const { data } = await readView<Page<ChannelsView>>(verbs, "listChannels", call, { query: { limit: 200 } });
  return data.find(({ guild_id: id }) => id === call.guildId);
}

/** The input that changes some of the channels and keeps the others. */
export function channelsInput(call: Call, known: ChannelsView | undefined, changes: PutChannelsInput) {
  const { review = null, alerts = null, board = null, muted_alerts = [] } = known ?? {};
  return {
    params: { guild_id: call.guildId ?? "" },
    body: { review, alerts, board, muted_alerts, ...changes },
    revision: known?.revision,
  };
}

async function page(ground: GuideContext): Promise<GuidePage> {
  const { t, call } = ground;
  const known = (await listSeen<ChannelsView>(ground, "listChannels"))?.find(({ guild_id: id }) => id === call.guildId);
  if (known === undefined) return { text: t("setup not-seen"), rows: [] };
  const rows = purposes.map((purpose) => {
    const id = known[purpose];
    return rowOf({
      type: 8,
      custom_id: ground.customIdOf(purpose),
      placeholder: t(`setup channel ${purpose}`),
      channel_types: postable,
      min_values: 0,
      max_values: 1,
      default_values: id === null ? [] : [{ id, type: "channel" as const }],
    } as never);
  });
  return { text: `${t("setup channels-step")}\n${channelsText(known, t)}`, rows };
}

/** Where the service posts. */
export const channelsStep: GuideStep = {
  name: "channels",
  page,
  async act({ verbs, call }, what, values) {
    const purpose = purposes.find((one) => one === what);
    if (purpose === undefined) return undefined;
    const known = await channelsHere(verbs, call);
    await verbs.run("putChannels", call, channelsInput(call, known, { [purpose]: values[0] ?? null }));
    return undefined;
  },
};

export const channelsEntry: Entry = {
  command: "setup",
  path: "channels",
  operation: "putChannels",
  options: [
    ...purposes.map((name): OptionSpec => ({ name, kind: "channel", channelTypes: postable })),
    { name: "without", kind: "text", choices: [...purposes] },
  ],
  async locate(_given, call, verbs) {
    verbs.require("putChannels", call, channelsInput(call, undefined, {}).params);
    return { known: JSON.stringify((await channelsHere(verbs, call)) ?? null) };
  },
  input(given, call) {
    const known = JSON.parse(textIn(given, "known") ?? "null") as ChannelsView | null;
    const without = textIn(given, "without");
    const changes = { ...picked(given, ...purposes), ...(without !== undefined && { [without]: null }) };
    return channelsInput(call, known ?? undefined, changes);
  },
  show: (view, { t }) => ({ content: channelsText(view, t) }),
};
