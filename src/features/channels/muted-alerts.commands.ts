import { alertKinds } from "../../kernel/vocabulary.ts";
import type { CommandInput, Entry, OptionSpec } from "../../commands/entry.ts";
import { textIn } from "../../commands/input.ts";
import { enumLabel } from "../../commands/show.ts";
import type { Translate } from "../../kit/say.ts";
import type { Call } from "../../kernel/call.ts";
import type { ChannelsView } from "./channels.schema.ts";
import { channelsHere, channelsInput } from "./channels.commands.ts";

const command = "setup";
const kind: OptionSpec = { name: "kind", kind: "text", required: true, choices: alertKinds };

/** Every kind of alert, with what is muted. */
function alertsText(view: ChannelsView | null, t: Translate): string {
  const where = view === null || view.alerts === null ? t("setup alerts nowhere") : t("setup alerts where", { channel: view.alerts });
  const muted = new Set<string>(view?.muted_alerts ?? []);
  const lines = alertKinds.map((one) => `• ${enumLabel(one, t)}${muted.has(one) ? ` – **${t("setup alerts muted")}**` : ""}`);
  return [where, ...lines].join("\n");
}

/** The mutes of the server as they are wanted; its channels stay. */
function mutedInput(given: CommandInput, call: Call, isMuted: boolean) {
  const known = JSON.parse(textIn(given, "known") ?? "null") as ChannelsView | null;
  const others = (known?.muted_alerts ?? []).filter((one) => one !== given.values["kind"]);
  const muted = [...others, ...alertKinds.filter((one) => isMuted && one === given.values["kind"])];
  return channelsInput(call, known ?? undefined, { muted_alerts: muted });
}

const mute = (path: string, isMuted: boolean): Entry => ({
  command,
  path,
  operation: "putChannels",
  options: [kind],
  async locate(_given, call, verbs) {
    verbs.require("putChannels", call, channelsInput(call, undefined, {}).params);
    return { known: JSON.stringify((await channelsHere(verbs, call)) ?? null) };
  },
  input: (given, call) => mutedInput(given, call, isMuted),
  show: (view: ChannelsView, { t }) => ({ content: alertsText(view, t) }),
});

/** What the alerts channel of a server is told. */
export const alertEntries: readonly Entry[] = [
  {
    command,
    path: "alerts show",
    operation: "listChannels",
    input: () => ({}),
    answers: async ({ t, call }, verbs) => ({ content: alertsText((await channelsHere(verbs, call)) ?? null, t) }),
  },
  mute("alerts mute", true),
  mute("alerts unmute", false),
];
