import { Command } from "commander";
import { loadConfigOrExit } from "../config/config.ts";
import { databaseRefusal } from "../database/refusals.ts";
import { fail, printFindings, type Finding, type NamedFinding, pass, warn, skip } from "./findings.ts";
import { printError } from "./output.ts";
import { createGround, textOf, type Ground, answerMs, unanswered } from "./doctor/ground.ts";
import { actions, checkpoints, database, installation, integrity, secretKey, ofStored } from "./doctor/database.ts";
import { clientSecret, clock, discord, intents, redirect, token, ofBot, type Bot } from "./doctor/discord.ts";
import { existsSync, constants } from "node:fs";
import { heldPlaceOf, textSetting, type Source } from "../backup/source.ts";
import { evidencePlaceName } from "../config/values.ts";
import { otherPlace } from "../features/evidence/place.ts";
import { createOutsideStore } from "../features/evidence/stores/create-store.ts";
import { Health } from "./status-checks.ts";
import { access, stat } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { refuseHalfRestored } from "../backup/marker.ts";
import { isOverdue, shelved } from "../backup/shelf.ts";
import { processEnvironment, secretFiles } from "../config/env.ts";
import { configWarnings } from "../config/warnings.ts";
import { findLooseFiles } from "../database/folder.ts";
import { networkWarning } from "../database/network-file-system.ts";
import { openToOthers } from "../installation.ts";
import { lostKeys } from "../key-marks.ts";
import { accountName, fileError } from "../kernel/operator-errors.ts";
import { oldestNode } from "../version.ts";
import { freeBytes, spaceFinding } from "./disk-space.ts";
import { PermissionFlagsBits, Routes } from "discord-api-types/v10";
import { z } from "zod";
import { notInGuild } from "../discord/guild/settings-check.ts";
import { Channel as ChannelFields, Guild as GuildFields, Member, permissionsOf } from "../discord/rest/messages.ts";
import { refusalStatus } from "../discord/rest/errors.ts";
import type { Setting } from "../kit/setting.ts";
import { channelsSetting, chosenOf } from "../features/channels/channels.policy.ts";
import { stanceSetting } from "../features/lists/lists.policy.ts";

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
const guilds = ofBot(async (bot, ground) => {
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

function settings({ config, unknown }: Ground): Finding[] {
  const warnings = [...unknown, ...configWarnings(config)];
  return warnings.length === 0 ? [pass("every variable is valid")] : warnings.map(warn);
}

function node(): Finding[] {
  return [nodeFinding(process.versions.node, oldestNode)];
}

export function nodeFinding(running: string, oldest: string): Finding {
  const [[major = 0, minor = 0], [leastMajor = 0, leastMinor = 0]] = [numbersOf(running), numbersOf(oldest)];
  const isOld = major < leastMajor || (major === leastMajor && minor < leastMinor);
  if (!isOld) return pass(running);
  return fail(
    `Node.js ${running} runs this, and Provost needs ${oldest} or newer: it can fail anywhere. Install a newer one, such as with \`nvm install --lts\`.`,
  );
}

const numbersOf = (text: string): number[] => text.split(".").map(Number);

/** Whether the folders can be written, and have room. */
async function disk({ config: { dataDir, backup } }: Ground): Promise<Finding[]> {
  const folders = { DATA_DIR: dataDir, ...(backup.folder !== null && { BACKUP_DIR: backup.folder }) };
  return Promise.all(Object.entries(folders).map(([variable, folder]) => folderFinding(variable, folder)));
}

async function folderFinding(variable: string, folder: string): Promise<Finding> {
  let there = resolve(folder);
  while (!existsSync(there) && dirname(there) !== there) there = dirname(there);
  try {
    if (!(await stat(there)).isDirectory()) throw Object.assign(new Error("not a folder"), { code: "ENOTDIR" });
    await access(there, constants.W_OK | constants.X_OK);
  } catch (error) {
    return fail(textOf(fileError(error, { path: folder, variable, kind: "folder" })));
  }
  return spaceFinding(variable, folder, await freeBytes(there));
}

export async function fileSystem({ config }: Pick<Ground, "config">, typeOf?: Parameters<typeof networkWarning>[1]): Promise<Finding[]> {
  const text = await networkWarning(config.database.url, typeOf);
  return [text === undefined ? pass("not one of another machine") : warn(text)];
}

async function modes({ config }: Ground): Promise<Finding[]> {
  const [stored, secrets] = await Promise.all([openToOthers(config), findLooseFiles(secretFiles(processEnvironment()))]);
  const findings: Finding[] = [];
  if (stored.length > 0)
    findings.push(
      warn(
        `Other accounts of this machine can open ${stored.join(", ")}, where records and keys are: run \`chmod go= ${stored.join(" ")}\`.`,
      ),
    );
  // A secret may belong to another account: without the new owner the service could not read it any more.
  if (secrets.length > 0) {
    const files = secrets.join(" ");
    findings.push(
      warn(
        `Other accounts of this machine can open ${secrets.join(", ")}, where secrets are: run \`chown ${accountName()} ${files} && chmod go= ${files}\`.`,
      ),
    );
  }
  return findings.length > 0 ? findings : [pass("only this account can open what is stored")];
}

/** Whether the data folder is one that a restore has left half done. */
async function restore({ config }: Ground): Promise<Finding[]> {
  return await refuseHalfRestored(config.dataDir).then(
    () => [pass("none is half done")],
    (error: unknown) => [fail(textOf(error))],
  );
}

function encryptionKeys({ config, secrets }: Ground): Finding[] {
  const lost = lostKeys({ dataDir: config.dataDir, secrets });
  return lost.length === 0 ? [pass("none is missing")] : lost.map(fail);
}

async function backups({ config: { backup }, database }: Ground): Promise<Finding[]> {
  if (backup.folder === null)
    return [
      warn("BACKUP_DIR is not set, so no backup is made at night and a failing disk takes everything: set it to a folder on another disk."),
    ];
  if ((await database()).state === "absent") return [pass("nothing is stored yet")];
  try {
    const [newest] = await shelved(backup.folder);
    if (newest === undefined)
      return [
        warn(`BACKUP_DIR: ${backup.folder} has no backup yet, so a failing disk takes everything: make one with \`npx provost backup\`.`),
      ];
    if (!isOverdue(newest)) return [pass(newest.path)];
    return [
      warn(
        `BACKUP_DIR: the newest backup, ${newest.path}, is of ${newest.at.toISOString()}, one is due each day, and what came after it is in none: make one with \`npx provost backup\`, which says what keeps the nightly one from being made.`,
      ),
    ];
  } catch (error) {
    return [fail(textOf(fileError(error, { path: backup.folder, variable: "BACKUP_DIR", kind: "folder" })))];
  }
}

/** Whether browsers that open `PUBLIC_URL` reach this installation, through whatever stands in front of it. */
async function address({ config: { http }, server }: Ground): Promise<Finding[]> {
  if (!http.isPublic) return [skip("PUBLIC_URL is not set")];
  const running = await server();
  if (running === undefined) return [skip("no server runs here: start it and run this again")];
  const { publicUrl } = http;
  let response: Response;
  try {
    response = await fetch(`${publicUrl}/health`, { signal: AbortSignal.timeout(answerMs) });
  } catch (error) {
    return [
      fail(
        `PUBLIC_URL: ${publicUrl} does not answer (${unanswered(error)}), though the server runs, so nobody can open its pages: check the DNS entry of the name, the certificate, and the reverse proxy.`,
      ),
    ];
  }
  const health = Health.safeParse(await response.json().catch(() => undefined)).data;
  if (health?.service.instance_id === running.service.instance_id) return [pass(publicUrl)];
  const what =
    health === undefined ? `answers with something else (status ${response.status.toString()})` : "leads to another installation";
  return [
    fail(`PUBLIC_URL: ${publicUrl} ${what}, so nobody can open the pages of this one: let the reverse proxy pass it to this server.`),
  ];
}

/** Whether the files of evidence are where they are looked for; outside of the database one is written, read and deleted there. */
const evidence = ofStored(async (source, { config, secrets }) => {
  const place = config.evidenceStore;
  const name = evidencePlaceName(place);
  const refusal = otherPlace(await heldPlaceOf(source), name);
  const [kept] = await source.query("SELECT 1 AS one FROM evidence_files WHERE status = 'stored' LIMIT 1");
  if (refusal !== undefined && kept !== undefined) return [fail(refusal)];
  if (place.kind === "database") return [pass(name)];
  if (place.kind === "folder" && !existsSync(config.dataDir)) return [pass("The next start makes the folder.")];
  const instanceId = (await textSetting(source, "instance_id")) ?? "";
  const away = await createOutsideStore(place, { config, evidenceKeys: secrets.evidenceS3, instanceId }).tryOut();
  return [away === undefined ? pass(`${name}: files can be written, read and deleted`) : warn(away)];
});

interface Check {
  /** No finding: there is nothing to check here. */
  run: (ground: Ground) => Finding[] | Promise<Finding[]>;
  /** Whether others than this machine are asked. */
  isOnline?: true;
}

/** What `provost doctor` looks at, in this order. */
export const doctorChecks: Readonly<Record<string, Check>> = {
  settings: { run: settings },
  node: { run: node },
  disk: { run: disk },
  "file system": { run: (ground) => fileSystem(ground) },
  "file modes": { run: modes },
  restore: { run: restore },
  database: { run: database },
  integrity: { run: integrity },
  installation: { run: installation },
  "secret key": { run: secretKey },
  "encryption keys": { run: encryptionKeys },
  audit: { run: checkpoints },
  actions: { run: actions },
  evidence: { run: evidence },
  backups: { run: backups },
  discord: { run: discord, isOnline: true },
  clock: { run: clock, isOnline: true },
  token: { run: token, isOnline: true },
  "client secret": { run: clientSecret, isOnline: true },
  intents: { run: intents, isOnline: true },
  redirect: { run: redirect, isOnline: true },
  servers: { run: guilds, isOnline: true },
  address: { run: address, isOnline: true },
};

interface Options {
  offline?: true;
  json?: true;
}

/** A check that takes longer is named, so that nobody thinks that the command hangs. */
const quickMs = 1500;

/** `provost doctor`: what is wrong with an installation, with or without a running server. It changes nothing. */
export function doctorCommand(setExitCode: (code: number) => void): Command {
  return new Command("doctor")
    .description("Find out what is wrong with this installation, and what mends it; exits with 1 where something has to be mended")
    .option("--offline", "leave out what asks Discord and PUBLIC_URL")
    .option("--json", "print it for a program")
    .action(async ({ offline, json }: Options) => {
      const ground = createGround(loadConfigOrExit());
      const findings: NamedFinding[] = [];
      try {
        for (const [name, { run, isOnline }] of Object.entries(doctorChecks)) {
          if (isOnline === true && offline === true) continue;
          const timer = setTimeout(() => printError(`Checking: ${name} …`), quickMs);
          const found = await make(run, ground).finally(() => clearTimeout(timer));
          findings.push(...found.map((finding) => ({ name, ...finding })));
        }
      } finally {
        await ground.close();
      }
      if (!printFindings(findings, { json })) setExitCode(1);
    });
}

/** What keeps a check from being made is a finding as well. */
async function make(run: Check["run"], ground: Ground): Promise<Finding[]> {
  try {
    return await run(ground);
  } catch (error) {
    return [fail(textOf(databaseRefusal(ground.config.database.url, error)))];
  }
}
