import { z } from "zod";
import { isOverdue, type Shelved } from "../backup/shelf.ts";
import type { Config } from "../config/config.ts";
import { httpAddress } from "../kernel/addresses.ts";
import { spaceFinding } from "./disk-space.ts";
import { pass, warn, type Finding } from "./findings.ts";

const Check = z.object({ status: z.enum(["pass", "warn", "fail"]), reason: z.string().optional() });

/** What is read of `/health`; the server may be of another version than this program. */
export const Health = z.object({
  service: z.object({ version: z.string(), instance_id: z.string() }),
  checks: z.record(z.string(), Check),
  nodes: z.array(z.object({ host: z.string(), pid: z.number(), version: z.string(), is_leader: z.boolean() })).optional(),
});
export type Health = z.infer<typeof Health>;

/** What the checks look at. */
export interface Seen {
  health: Health;
  /** The version of this program. */
  installed: string;
  dataDir: string;
  /** What is free on its disk; undefined where the folder is not on this machine. */
  freeBytes: number | undefined;
  /** Where backups are made at night, and when the newest of them was made. */
  backups: { folder: string | null; newest: Shelved | undefined; now: Date };
}

/** What `provost status` tells of a running server, in this order; undefined: it does not apply. */
export const statusChecks: Readonly<Record<string, (seen: Seen) => Finding | undefined>> = {
  version: ({ health: { service }, installed }) =>
    service.version === installed ? pass(installed) : warn(`${service.version} runs, and ${installed} is installed: restart the server.`),
  database: ofServer("storage", "The database takes no writes."),
  discord: ofServer("discord_gateway", "The bot is not connected to Discord."),
  guilds: ofServer("guild_state", "The state of the servers in Discord is not complete."),
  permissions: ofServer("discord_permissions", "The bot may not do in Discord what servers are set up for."),
  audit: ofServer("audit_checkpoints", "The head of the audit is not signed."),
  cards: ofServer("review_cards", "Review cards are not posted."),
  jobs: ofServer("jobs", "A job that runs every minute does not end well."),
  queue: ofServer("deliveries", "What was approved is not carried out in time."),
  actions: ofServer("discord_actions", "The bot could not do something to people in Discord, or does it late."),
  processes({ health: { nodes } }) {
    if (nodes === undefined) return undefined;
    const named = nodes.map(
      ({ host, pid, version, is_leader: leads }) => `${pid.toString()} on ${host} (${version}${leads ? ", leads" : ""})`,
    );
    if (nodes.some(({ is_leader: leads }) => leads)) return pass(named.join(", "));
    return warn(`None of ${named.join(", ")} leads: nobody has the link to Discord. The logs say why.`);
  },
  evidence: ofServer("evidence_store", "The files of evidence cannot be reached."),
  disk: ({ dataDir, freeBytes }) => spaceFinding("DATA_DIR", dataDir, freeBytes),
  backup({ backups: { folder, newest, now } }) {
    if (folder === null) return pass("none is made by itself, as BACKUP_DIR is not set");
    const why = "The log has the reason at the job `backup`; make one now with `npx provost backup --verify`.";
    if (newest === undefined) return warn(`There is no backup in ${folder}. ${why}`);
    const found = `the newest in ${folder} is of ${newest.at.toISOString()}`;
    return isOverdue(newest, now) ? warn(`${found}, and one is due each day. ${why}`) : pass(found);
  },
};

/** A check of the server itself. Without a key the server tells its result and not the reason. */
function ofServer(name: string, what: string): (seen: Seen) => Finding {
  return ({ health }) => {
    const check = health.checks[name];
    if (check === undefined) return warn("The server does not tell: it is of another version. Restart it.");
    if (check.status === "pass") return pass(check.reason ?? "");
    return {
      status: check.status,
      text: check.reason ?? `${what} The log says why, or name a key that holds \`system.health.read\` with \`--key-file\`.`,
    };
  };
}

/** Where a server of this machine can be asked. It may listen at every address of the machine, which is none that can be asked. */
export function addressOf({ host, port }: Config["http"]): string {
  return httpAddress(host === "0.0.0.0" || host === "::" ? "127.0.0.1" : host, port);
}
