import type { Command } from "../../discord/command.ts";
import type { BlacklistCheck } from "./blacklist.schema.ts";
import type { BlacklistService } from "./blacklist.service.ts";

const subcommand = 1;
const stringOption = 3;
const maxIds = 25;

export function blacklistCommands(blacklist: BlacklistService): Command[] {
  return [
    {
      payload: {
        name: "blacklist",
        description: "The blacklist of users and servers",
        options: [
          {
            type: subcommand,
            name: "check",
            description: "Look users or servers up by id",
            options: [
              {
                type: stringOption,
                name: "ids",
                description: "1 to 25 ids, separated by spaces or commas",
                required: true,
                max_length: 600,
              },
            ],
          },
        ],
      },
      subcommands: {
        async check(options, call) {
          const ids = idsOf(options.getString("ids", true));
          return { content: wording(await blacklist.check(call, { user_ids: ids, server_ids: ids })) };
        },
      },
    },
  ];
}

/** Ids in a text, mentions included; more than the command takes are cut. */
function idsOf(text: string): string[] {
  const words = text.split(/[\s,;<@!>]+/).filter((word) => word !== "");
  return [...new Set(words)].slice(0, maxIds);
}

/** An id alone does not tell whether it is a user's or a server's, so both answers become one line. */
function wording(check: BlacklistCheck): string {
  const lines = check.users.map((user, index) => {
    const records = [...user.records, ...(check.servers[index]?.records ?? [])];
    if (records.length === 0) return `\`${user.id}\` is not listed`;
    const facts = records.map((record) =>
      [record.number, record.kind, record.severity, record.category].filter((fact) => fact !== undefined).join(" · "),
    );
    return `\`${user.id}\` **is listed**: ${facts.join("; ")}`;
  });
  return lines.join("\n");
}
