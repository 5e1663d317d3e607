import { randomBytes } from "node:crypto";
import { fileURLToPath } from "node:url";
import { digitsOf, recordBody, recordOf, records } from "../record.ts";
import { type Default, defaults, times } from "./fields.ts";
import { createDatabase, type Peer, query, send, type Setting, startServer } from "./peer.ts";

const atOnce = 100;
const username = "bench";

/** Parse Server: a user with a session and a role, which the class asks for; a trigger writes the audit. */
export async function startParse(setting: Setting): Promise<Peer> {
  const database = await createDatabase(setting, "parse");
  const [masterKey, password] = [randomBytes(24).toString("hex"), randomBytes(24).toString("hex")];
  const host = await startServer(setting, {
    name: "parse",
    file: fileURLToPath(new URL("./parse-server.js", import.meta.url)),
    args: [setting.installed.parse, masterKey],
    cwd: setting.folder,
    env: (port) => ({ PORT: port.toString(), DATABASE_URL: database }),
    readyPath: "/parse/health",
  });
  const address = `http://127.0.0.1:${host.port.toString()}/parse`;
  const app = { "X-Parse-Application-Id": "peers" };
  const master = { ...app, "X-Parse-Master-Key": masterKey };
  await createClasses(address, master);
  const { objectId } = await send<{ objectId: string }>("POST", `${address}/users`, master, { username, password });
  const user = { __type: "Pointer", className: "_User", objectId };
  await send("POST", `${address}/roles`, master, { name: "staff", ACL: {}, users: { __op: "AddRelation", objects: [user] } });
  const login = { ...app, "X-Parse-Revocable-Session": "1" };
  const { sessionToken } = await send<{ sessionToken: string }>("POST", `${address}/login`, login, { username, password });
  const headers = { ...app, "X-Parse-Session-Token": sessionToken };
  for (let from = 0; from < records; from += atOnce) {
    const path = "/parse/classes/Blacklist";
    const requests = Array.from({ length: atOnce }, (_, at) => ({ method: "POST", path, body: recordOf(digitsOf(from + at)) }));
    await send("POST", `${address}/batch`, headers, { requests });
  }
  await query(database, `CREATE INDEX newest ON "Blacklist" ("createdAt")`);
  const newest = "/parse/classes/Blacklist?order=-createdAt";
  const { results } = await send<{ results: { objectId: string }[] }>("GET", `${address.replace("/parse", newest)}&limit=200`, headers);
  return {
    name: "Parse Server",
    host,
    requests: {
      "read one": { headers, paths: results.map(({ objectId }) => `/parse/classes/Blacklist/${objectId}`) },
      "list of 50": { headers, paths: [`${newest}&limit=50`] },
      create: { headers, paths: ["/parse/classes/Blacklist"], body: recordBody, status: 201 },
    },
    database,
    counts: { records: `SELECT count(*) FROM "Blacklist"`, "audit rows": `SELECT count(*) FROM "Audit" WHERE action = 'create'` },
  };
}

async function createClasses(address: string, master: Readonly<Record<string, string>>): Promise<void> {
  const given = Object.keys(recordOf("")).map((name) => [name, { type: "String", required: true }] as const);
  const others = Object.entries(defaults).map(([name, value]) => [name, fieldOf(value)] as const);
  const now = { __type: "Date", iso: new Date().toISOString() };
  const dates = times.map((name) => [name, { type: "Date", defaultValue: now }] as const);
  await send("POST", `${address}/schemas/Blacklist`, master, {
    className: "Blacklist",
    fields: Object.fromEntries([...given, ...others, ...dates]),
    classLevelPermissions: permissionsFor({ "role:staff": true }),
  });
  const text = { type: "String" };
  await send("POST", `${address}/schemas/Audit`, master, {
    className: "Audit",
    fields: { action: text, actor: text, target: text, record: { type: "Object" } },
    classLevelPermissions: permissionsFor({}),
  });
}

function fieldOf(value: Default): object {
  if (value === null) return { type: "String" };
  if (typeof value === "number") return { type: "Number", defaultValue: value };
  return { type: typeof value === "string" ? "String" : "Array", defaultValue: value };
}

const permissionsFor = (who: object): object => ({ get: who, find: who, count: who, create: who, update: who, delete: who });
