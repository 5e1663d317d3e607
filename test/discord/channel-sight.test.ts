import { expect, test } from "vitest";
import { canRead, Channel, Guild, Member } from "../../src/discord/rest/messages.ts";

const [guildId, staff, muted, user, owner] = ["1", "2", "3", "9", "8"] as const;
const view = 1n << 10n;
const history = 1n << 16n;
const administrator = 1n << 3n;
const manageThreads = 1n << 34n;
const role = 0;
const person = 1;

type Rule = [id: string, type: number, allow: bigint, deny: bigint];

function sees(
  rules: Rule[],
  more: { everyone?: bigint; staff?: bigint; roles?: string[]; as?: string; isPrivate?: boolean } = {},
): boolean {
  const permission_overwrites = rules.map(([id, type, allow, deny]) => ({ id, type, allow: allow.toString(), deny: deny.toString() }));
  const roles = [
    { id: guildId, permissions: (more.everyone ?? view | history).toString() },
    { id: staff, permissions: (more.staff ?? 0n).toString() },
    { id: muted, permissions: "0" },
  ];
  const guild = Guild.parse({ id: guildId, owner_id: owner, roles });
  const channel = Channel.parse({ id: "5", type: 0, guild_id: guildId, permission_overwrites });
  const member = Member.parse({ roles: more.roles ?? [staff] });
  return canRead(more.as ?? user, member, { guild, channel, isPrivate: more.isPrivate ?? false });
}

test.each([
  ["nothing is said", true, sees([])],
  ["everybody may not view in the first place", false, sees([], { everyone: history })],
  ["a role gives what everybody lacks", true, sees([], { everyone: history, staff: view })],
  ["everybody is denied", false, sees([[guildId, role, 0n, view]])],
  ["everybody is denied the history", false, sees([[guildId, role, 0n, history]])],
  [
    "everybody is denied, the role allowed",
    true,
    sees([
      [guildId, role, 0n, view],
      [staff, role, view, 0n],
    ]),
  ],
  [
    "a role of others is allowed",
    false,
    sees([
      [guildId, role, 0n, view],
      [muted, role, view, 0n],
    ]),
  ],
  [
    "one role is denied, another allowed",
    true,
    sees(
      [
        [staff, role, view, 0n],
        [muted, role, 0n, view],
      ],
      { roles: [staff, muted] },
    ),
  ],
  [
    "the role is allowed, the person denied",
    false,
    sees([
      [staff, role, view, 0n],
      [user, person, 0n, view],
    ]),
  ],
  [
    "the role is denied, the person allowed",
    true,
    sees([
      [staff, role, 0n, view],
      [user, person, view, 0n],
    ]),
  ],
  [
    "another person is allowed",
    false,
    sees([
      [guildId, role, 0n, view],
      [owner, person, view, 0n],
    ]),
  ],
  ["everybody is denied, and the person is an administrator", true, sees([[guildId, role, 0n, view]], { staff: administrator })],
  ["everybody is denied, and the person owns the server", true, sees([[guildId, role, 0n, view]], { as: owner, roles: [] })],
  ["the thread is private", false, sees([], { isPrivate: true })],
  ["the thread is private, and the person manages threads", true, sees([], { isPrivate: true, staff: manageThreads })],
])("when %s, reading is %s", (_name, expected, found) => {
  expect(found).toBe(expected);
});
