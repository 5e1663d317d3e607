import { PermissionFlagsBits, Routes } from "discord-api-types/v10";
import { z } from "zod";
import type { Source } from "../../backup/source.ts";
import { notInGuild } from "../../discord/guild/settings-check.ts";
import { Channel as ChannelFields, Guild as GuildFields, Member, permissionsOf } from "../../discord/rest/messages.ts";
import { refusalStatus } from "../../discord/rest/errors.ts";
import type { Setting } from "../../kit/setting.ts";
import { channelsSetting, chosenOf } from "../../features/channels/channels.policy.ts";
import { stanceSetting } from "../../features/lists/lists.policy.ts";
import { fail, pass, skip, warn, type Finding } from "../findings.ts";
import { ofBot, type Bot } from "./discord.ts";
import type { Ground } from "./ground.ts";

const Role = GuildFields.shape.roles.element.extend({ name: z.string(), position: z.int(), managed: z.boolean().default(false) });
type Role = z.output<typeof Role>;
const Guild = GuildFields.extend({ name: z.string(), roles: z.array(Role) });
type Guild = z.output<typeof Guild>;
const Channels = z.array(ChannelFields.extend({ name: z.string().nullish() }));

type Bits = keyof typeof PermissionFlagsBits;

/** What the bot needs in a server, and what cannot be done without it. */
const needed: ReadonlyArray<[Bits, string, string]> = [
  ["ViewAuditLog", "View Audit Log", "what moderators do by hand is not recorded"],
  ["ManageRoles", "Manage Roles", "no role can be given or taken"],
  ["ManageNicknames", "Manage Nicknames", "no callsign can be set"],
  ["ModerateMembers", "Time out members", "nobody can be timed out"],
  ["KickMembers", "Kick Members", "nobody can be kicked"],
  ["BanMembers", "Ban Members", "nobody can be banned"],
];

/** What the bot needs in a channel that it posts in; the list of open requests is pinned. */
const neededInChannel: ReadonlyArray<[Bits, string]> = [
  ["ViewChannel", "View Channel"],
  ["SendMessages", "Send Messages"],
  ["EmbedLinks", "Embed Links"],
  ["ReadMessageHistory", "Read Message History"],
];
const pinning: [Bits, string] = ["PinMessages", "Pin Messages"];

const lacks = (bits: bigint, name: Bits): boolean => (bits & PermissionFlagsBits[name]) === 0n;

/** Every server of `GUILD_IDS`: whether the bot is there, may do what it has to, stands high enough, and may post where it is to. */
export const guilds = ofBot(async (bot, ground) => {
  const findings: Finding[] = [];
  for (const id of ground.config.discord.guildIds) findings.push(...(await guildFindings(id, bot, ground)));
  return findings;
});

async function guildFindings(id: string, bot: Bot, ground: Ground): Promise<Finding[]> {
  const get = (route: `/${string}`): Promise<unknown> => bot.rest.call({ method: "GET", route, purpose: "action" });
  try {
    const guild = Guild.parse(await get(Routes.guild(id)));
    const self = Member.parse(await get(Routes.guildMember(id, bot.selfId)));
    const seen = await ground.database();
    const stored = seen.state === "open" ? await readStored(seen.source, id).catch(() => nothing) : nothing;
    const channels = stored.channels.length === 0 ? [] : Channels.parse(await get(Routes.guildChannels(id)));
    const findings = [
      ...permissionFindings(guild, self, bot.selfId),
      ...roleFindings(guild, self, bot.selfId, stored.roles),
      ...stored.channels.flatMap((one) => channelFindings(one, channels, guild, self, bot.selfId)),
    ];
    return findings.length === 0 ? [pass(`${guild.name} (${id})`)] : findings;
  } catch (error) {
    const status = refusalStatus(error);
    if (status === 403 || status === 404) return [fail(notInGuild(id, bot.application.id))];
    return [skip(`what Discord says of the server ${id} could not be read`)];
  }
}

function permissionFindings(guild: Guild, self: z.output<typeof Member>, selfId: string): Finding[] {
  const bits = permissionsOf(selfId, self, guild);
  const missing = needed.filter(([name]) => lacks(bits, name));
  if (missing.length === 0) return [];
  const [names, why] = [missing.map(([, shown]) => shown).join(", "), missing.map(([, , reason]) => reason).join(", ")];
  return [warn(`In ${guild.name} (${guild.id}) the bot lacks ${names}: ${why}. Give its role that under Server Settings, Roles.`)];
}

/** The bot gives and takes only roles below its own highest one. Equal places go to the older role. */
function roleFindings(guild: Guild, self: z.output<typeof Member>, selfId: string, given: readonly string[]): Finding[] {
  if (guild.owner_id === selfId) return [];
  const own = guild.roles
    .filter(({ id }) => self.roles.includes(id))
    .toSorted(byPlace)
    .at(-1);
  return given.flatMap((id) => {
    const role = guild.roles.find((one) => one.id === id);
    if (role === undefined)
      return [
        warn(
          `In ${guild.name} (${guild.id}) there is no role ${id}, which is mapped to a staff role or named by a rule: choose another one with \`/setup wizard\`.`,
        ),
      ];
    if (role.managed || (own !== undefined && byPlace(own, role) > 0)) return [];
    return [
      warn(
        `In ${guild.name} (${guild.id}) the role ${role.name} stands above the bot's, so the bot can neither give nor take it: drag the role of the bot above it under Server Settings, Roles.`,
      ),
    ];
  });
}

function byPlace(a: Role, b: Role): number {
  if (a.position !== b.position) return a.position - b.position;
  return BigInt(a.id) < BigInt(b.id) ? 1 : -1;
}

interface Chosen {
  purpose: string;
  channelId: string;
}

function channelFindings(
  { purpose, channelId }: Chosen,
  channels: z.output<typeof Channels>,
  guild: Guild,
  self: z.output<typeof Member>,
  selfId: string,
): Finding[] {
  const channel = channels.find(({ id }) => id === channelId);
  const place = `In ${guild.name} (${guild.id}) the channel`;
  if (channel === undefined)
    return [warn(`${place} ${channelId} for ${purpose} is not there, so nothing is posted: choose another one with \`/setup channels\`.`)];
  const bits = permissionsOf(selfId, self, guild, { ...channel, guild_id: guild.id });
  const missing = [...neededInChannel, ...(purpose === "board" ? [pinning] : [])].filter(([name]) => lacks(bits, name));
  if (missing.length === 0) return [];
  const names = missing.map(([, shown]) => shown).join(", ");
  return [
    warn(
      `${place} ${channel.name ?? channelId} for ${purpose} lets the bot not post: give its role ${names} there, under Edit Channel, Permissions.`,
    ),
  ];
}

interface Stored {
  /** The roles that the bot gives and takes. */
  roles: string[];
  channels: Chosen[];
}

const nothing: Stored = { roles: [], channels: [] };

async function readStored({ query }: Source, guildId: string): Promise<Stored> {
  const mapped = await query("SELECT role_id FROM staff_role_discord_roles WHERE guild_id = $1 ORDER BY role_id", [guildId]);
  const stored = async <Value>({ keyOf, parse }: Setting<Value>) => {
    const [row] = await query("SELECT CAST(value AS TEXT) AS value FROM settings WHERE key = $1", [keyOf(guildId)]);
    return parse(row === undefined ? undefined : JSON.parse(String(row["value"])));
  };
  const rules = (await stored(stanceSetting)).value.rules.flatMap(({ role_id: id }) => id ?? []);
  const chosen = chosenOf(await stored(channelsSetting));
  return {
    roles: [...new Set([...mapped.map(({ role_id: id }) => String(id)), ...rules])],
    channels: Object.entries(chosen).map(([purpose, channelId]) => ({ purpose, channelId })),
  };
}
