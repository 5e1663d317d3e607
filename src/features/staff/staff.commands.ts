import type { Command } from "../../discord/command.ts";
import { escapeText } from "../../discord/replies.ts";
import type { AccessView } from "./staff.schema.ts";
import type { StaffService } from "./staff.service.ts";

const subcommand = 1;
const userOption = 6;

export function staffCommands(staff: Pick<StaffService, "access">): Command[] {
  return [
    {
      payload: {
        name: "staff",
        description: "Who is staff here, and what they may do",
        options: [
          {
            type: subcommand,
            name: "access",
            description: "What somebody may do here, and why",
            options: [{ type: userOption, name: "user", description: "Whose access", required: true }],
          },
        ],
      },
      subcommands: {
        async access(options, call) {
          const { view } = await staff.access(call, options.getUser("user", true).id);
          return { content: wording(view) };
        },
      },
    },
  ];
}

const words: Readonly<Record<AccessView["reasons"][number]["code"], (source: string) => string>> = {
  owner: () => "is an owner",
  role_mapping: (source) => `holds a Discord role that stands for the staff role **${escapeText(source)}**`,
  user_allow: (source) => `was given ${escapeText(source)} personally`,
  user_deny: (source) => `was denied ${escapeText(source)} personally`,
  suspension: () => "is suspended",
  blacklist: () => "is blacklisted",
  not_member: (source) => (source === "guild" ? "is not a member of a guild of this community" : "is a member without a staff role"),
  loa_policy: () => "is on leave",
};

function wording(view: AccessView): string {
  const lines = [
    `<@${view.user_id}> ${view.allowed ? "**has access**" : "**has no access**"}`,
    `Level: ${view.level} · status: ${view.status ?? "never was staff"} · ${view.permissions.length.toString()} permissions`,
    ...new Set(view.reasons.map(({ code, source }) => `• ${words[code](source)}`)),
  ];
  if (view.expires_at !== null) lines.push(`A temporary entry ends <t:${Math.floor(Date.parse(view.expires_at) / 1000).toString()}:R>.`);
  if (view.stale === true) lines.push("-# Discord cannot be reached; this is the last known state.");
  return lines.join("\n");
}
