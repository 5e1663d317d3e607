import type { DataExportView } from "../features/privacy/privacy.schema.ts";
import type { Entry } from "./entry.ts";

/** Kinds of what is stored about people, each with its text's key. */
const kinds: readonly (readonly [key: string, count: (data: DataExportView) => number])[] = [
  ["access", (data) => (data.authorization === null ? 0 : 1)],
  ["sessions", (data) => data.sessions.entries.length],
  ["servers", (data) => data.servers.entries.length + data.servers.listed],
  ["matches", (data) => data.matches.entries.length],
  ["links", (data) => data.linked_accounts.entries.length],
  ["requests", (data) => data.requests.entries.length],
  ["blacklist", (data) => data.blacklist.entries.length],
  ["cases", (data) => data.cases.entries.length],
  ["staff", (data) => (data.staff === null ? 0 : 1)],
  ["messages", (data) => data.messages.entries.length],
  ["memberships", (data) => data.memberships.entries.length],
  ["reads", (data) => data.reads.entries.length],
  ["audit", (data) => data.audit.entries.length],
];

/** `/mydata`: what is stored about whoever asks. Everybody may ask about themself. */
export const mydataEntries: readonly Entry[] = [
  {
    command: "mydata",
    path: "",
    operation: "exportUserData",
    input: (_given, call) => ({ params: { discord_user_id: call.actor?.id ?? "" } }),
    show(view: DataExportView, { say, publicUrl }) {
      const found = kinds.flatMap(([key, count]) => (count(view) === 0 ? [] : [`• ${say(`mydata ${key}`)}: ${count(view).toString()}`]));
      const where = say("mydata where", { url: `${publicUrl}/privacy` });
      if (found.length === 0) return { content: `${say("mydata nothing")}\n${where}` };
      const file = { name: "mydata.json", content: JSON.stringify(view, null, 2) };
      return { content: [say("mydata stored"), ...found, where].join("\n"), files: [file] };
    },
  },
];
