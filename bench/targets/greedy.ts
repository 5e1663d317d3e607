import { systemCall } from "../../src/kernel/call.ts";
import { createSandbox } from "../../sandbox/index.ts";
import type { Target } from "../target.ts";
import { openApp, unlimited } from "./app.ts";

/** Who can call the service. */
export interface Callers {
  /** A key for either client, both trusted to name acting users. */
  keys: { innocent: string; hostile: string };
  /** Ids of the staff, all senior: they may read each other's access, list people and add evidence. */
  staff: readonly string[];
  owner: string;
}

let callers: Callers = { keys: { innocent: "", hostile: "" }, staff: [], owner: "" };
let stopService = async (): Promise<void> => undefined;

/**
 * The whole service with the limits that ship. The address next to it counts as a proxy, so that a hostile client can say where it comes
 * from: with a new address for every measurement each of them begins with all that a client of that address is allowed.
 */
export const greedy: Target = {
  request: { paths: [], headers: {} },
  start: () => start(),
  stop: async () => stopService(),
  tasks: {
    callers: () => callers,
    /** Resident, in megabytes. */
    resident: () => process.memoryUsage.rss() / 1024 / 1024,
  },
};

/** The same without limits, and with web-hooks to receivers beside it. */
export const working: Target = { ...greedy, start: () => start({ ...unlimited, WEBHOOK_ALLOW_PRIVATE: "127.0.0.1" }) };

/** The same without limits, with cases to list. */
export const busy: Target = {
  ...greedy,
  async start() {
    const port = await start(unlimited);
    const { keys, staff } = callers;
    for (let made = 0; made < 300; made += 1) {
      const actor = staff[made % staff.length] ?? "";
      const headers = { Authorization: `Bearer ${keys.innocent}`, "X-Acting-User": actor, "Content-Type": "application/json" };
      const body = JSON.stringify({ title: `Quarrel ${made.toString()}`, subjects: [{ kind: "user", id: "123456789012345678" }] });
      const { status } = await fetch(`http://127.0.0.1:${port.toString()}/cases`, { method: "POST", headers, body });
      if (status !== 201) throw new Error(`a case was not opened: ${status.toString()}`);
    }
    return port;
  },
};

async function start(settings: Readonly<Record<string, string>> = {}): Promise<number> {
  const sandbox = await createSandbox({ seed: "small", record: false });
  const { residents, users, guilds, roles } = sandbox.seeded;
  for (const resident of residents) guilds.harbour.setRoles(resident, [roles.seniorModerator]);
  const { app, stop } = await openApp(sandbox, users.olivia.id, { ...settings, TRUSTED_PROXIES: "127.0.0.1" });
  stopService = stop;
  await app.start();
  await (await fetch(`${app.address()}/openapi.json`)).arrayBuffer();
  await sandbox.waitFor(() => !app.guildState.freshness().stale);
  const keyNamed = async (name: string): Promise<string> => (await app.keys.bootstrap(systemCall("cli", "bench"), { name })).key;
  const keys = { innocent: await keyNamed("innocent"), hostile: await keyNamed("hostile") };
  await fetch(`${app.address()}/staffroles/senior`, {
    method: "PUT",
    headers: { Authorization: `Bearer ${keys.innocent}`, "X-Acting-User": users.olivia.id, "Content-Type": "application/json" },
    body: JSON.stringify({
      name: "Senior",
      rank: 40,
      level: "senior",
      discord: [{ guild_id: guilds.harbour.id, role_id: roles.seniorModerator.id }],
    }),
  });
  await sandbox.waitFor(() => residents.every(({ id }) => app.access.of(id).isStaff));
  callers = { keys, staff: residents.map(({ id }) => id), owner: users.olivia.id };
  return Number(new URL(app.address()).port);
}
