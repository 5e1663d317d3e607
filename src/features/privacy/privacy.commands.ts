import { inJson, type KeyAfter } from "../../kit/say.ts";
import type { CommandSet, Entry } from "../../commands/entry.ts";
import type { DataExportView } from "./privacy.schema.ts";

/** Kinds of what is stored about people, each with its text's key. */
const kinds: readonly (readonly [key: KeyAfter<"mydata">, count: (data: DataExportView) => number | string])[] = [
  ["access", (data) => (data.authorization === null ? 0 : 1)],
  ["sessions", (data) => countOf(data.sessions)],
  ["servers", (data) => data.servers.entries.length + data.servers.listed],
  ["matches", (data) => countOf(data.matches)],
  ["links", (data) => countOf(data.linked_accounts)],
  ["requests", (data) => countOf(data.requests)],
  ["blacklist", (data) => countOf(data.blacklist)],
  ["cases", (data) => countOf(data.cases)],
  ["staff", (data) => (data.staff === null ? 0 : 1)],
  ["messages", (data) => countOf(data.messages)],
  ["memberships", (data) => countOf(data.memberships)],
  ["native-actions", (data) => countOf(data.native_actions)],
  ["reads", (data) => countOf(data.reads)],
  ["audit", (data) => countOf(data.audit)],
];

/** How many there are; of a list that holds only the newest, that there are more. */
const countOf = ({ entries, truncated }: { entries: readonly unknown[]; truncated?: true | undefined }): number | string =>
  truncated === true ? `> ${entries.length.toString()}` : entries.length;

/** `/mydata`: what is stored about the caller. Everybody may ask about themself. */
const mydataEntries: readonly Entry[] = [
  {
    command: "mydata",
    isPublic: true,
    path: "",
    operation: "exportUserData",
    input: (_given, call) => ({ params: { discord_user_id: call.actor?.id ?? "" } }),
    show(view: DataExportView, { t, publicUrl }) {
      const found = kinds.flatMap(([key, count]) => (count(view) === 0 ? [] : [`• ${t(`mydata ${key}`)}: ${count(view).toString()}`]));
      const where = t("mydata where", { url: `${publicUrl}/privacy` });
      if (found.length === 0) return { content: `${t("mydata nothing")}\n${where}` };
      const file = { name: "mydata.json", content: inJson(view, 2) };
      return { content: [t("mydata stored"), ...found, where].join("\n"), files: [file] };
    },
  },
];

/** What Discord offers everybody about their own data. */
export const privacyCommands: CommandSet = { entries: mydataEntries };
