import { z } from "zod";

/** How much room the data folder needs: below the first there is a warning, below the second writes are about to fail. */
const [lowBytes, leastBytes] = [1_073_741_824, 104_857_600];

/** A day, and the hours in which a backup is made and tried again. */
const lateMs = 28 * 3_600_000;

const Check = z.object({ status: z.enum(["pass", "warn", "fail"]), reason: z.string().optional() });

/** What is read of `/health`; the server may be of another version than this program. */
export const Health = z.object({
  service: z.object({ version: z.string(), instance_id: z.string() }),
  checks: z.record(z.string(), Check),
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
  backups: { folder: string | null; newest: Date | undefined; now: Date };
}

export interface Finding {
  status: "pass" | "warn" | "fail";
  text: string;
}

/** What `provost status` tells of a running server, in this order. */
export const statusChecks: Readonly<Record<string, (seen: Seen) => Finding>> = {
  version: ({ health: { service }, installed }) =>
    service.version === installed
      ? { status: "pass", text: installed }
      : { status: "warn", text: `${service.version} runs, and ${installed} is installed: restart the server.` },
  database: ofServer("storage", "The database takes no writes."),
  discord: ofServer("discord_gateway", "The bot is not connected to Discord."),
  guilds: ofServer("guild_state", "The state of the servers in Discord is not complete."),
  audit: ofServer("audit_checkpoints", "The head of the audit is not signed."),
  cards: ofServer("review_cards", "Review cards are not posted."),
  disk({ dataDir, freeBytes }) {
    if (freeBytes === undefined) return { status: "pass", text: `${dataDir} is not on this machine` };
    const free = `${Math.round(freeBytes / 1_048_576).toString()} MB free at ${dataDir}`;
    if (freeBytes >= lowBytes) return { status: "pass", text: free };
    return {
      status: freeBytes < leastBytes ? "fail" : "warn",
      text: `${free}: free some space on its disk, or move DATA_DIR to a larger one.`,
    };
  },
  backup({ backups: { folder, newest, now } }) {
    if (folder === null) return { status: "pass", text: "none is made by itself, as BACKUP_DIR is not set" };
    const why = "The log has the reason at the job `backup`; make one now with `npx provost backup --verify`.";
    if (newest === undefined) return { status: "warn", text: `There is no backup in ${folder}. ${why}` };
    const found = `the newest in ${folder} is of ${newest.toISOString()}`;
    if (now.getTime() - newest.getTime() <= lateMs) return { status: "pass", text: found };
    return { status: "warn", text: `${found}, and one is due each day. ${why}` };
  },
};

/** A check of the server itself. Without a key the server tells its result and not the reason. */
function ofServer(name: string, what: string): (seen: Seen) => Finding {
  return ({ health }) => {
    const check = health.checks[name];
    if (check === undefined) return { status: "warn", text: "The server does not tell: it is of another version. Restart it." };
    if (check.status === "pass") return { status: "pass", text: check.reason ?? "" };
    return {
      status: check.status,
      text: check.reason ?? `${what} The log says why, or name a key that holds \`system.health.read\` with \`--key-file\`.`,
    };
  };
}
