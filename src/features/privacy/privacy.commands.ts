import type { Command } from "../../discord/command.ts";
import type { PrivacyService } from "./privacy.service.ts";

export interface PrivacyCommandsDeps {
  privacy: Pick<PrivacyService, "export">;
  publicUrl: () => string;
}

type Counted = Awaited<ReturnType<PrivacyService["export"]>>;

const kinds: readonly (readonly [words: string, count: (data: Counted) => number])[] = [
  ["access you granted", (data) => (data.authorization === null ? 0 : 1)],
  ["times you were asked for access", (data) => data.sessions.entries.length],
  ["servers of your list", (data) => data.servers.entries.length + data.servers.listed],
  ["matches", (data) => data.matches.entries.length],
  ["linked accounts", (data) => data.linked_accounts.entries.length],
  ["requests by you or about you", (data) => data.requests.entries.length],
  ["blacklist records about you", (data) => data.blacklist.entries.length],
  ["messages of yours kept as evidence", (data) => data.messages.entries.length],
  ["memberships in the servers of this community", (data) => data.memberships.entries.length],
  ["looks at your information", (data) => data.reads.entries.length],
  ["audit entries about you", (data) => data.audit.entries.length],
];

/** What people can ask in Discord about their own data. */
export function privacyCommands({ privacy, publicUrl }: PrivacyCommandsDeps): Command[] {
  return [
    {
      // Everybody may ask about themself: no right in Discord is needed to see the command.
      payload: { name: "mydata", description: "What this service stores about you", default_member_permissions: null },
      async run(_options, call) {
        const data = await privacy.export(call, call.actor?.id ?? "");
        const found = kinds.flatMap(([words, count]) => (count(data) === 0 ? [] : [`• ${words}: ${count(data).toString()}`]));
        const stored = found.length === 0 ? ["Nothing is stored about you."] : ["This is stored about you:", ...found];
        const where = `See it, take it with you, take back access or delete it: ${publicUrl()}/privacy`;
        return { content: [...stored, where].join("\n") };
      },
    },
  ];
}
