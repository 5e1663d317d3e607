import { createServer, type IncomingMessage } from "node:http";
import type { AddressInfo } from "node:net";
import { onTestFinished } from "vitest";
import { freePort } from "../support/free-port.ts";
import { createWorld, type WorldOptions } from "../support/world.ts";

/** The follower of these tests may ask what runs on this machine. */
const local = { LISTS_FROM: "127.0.0.1" };

/** A community that follows, with somebody who manages its lists. */
export async function createFollower(options: WorldOptions = {}) {
  const world = await createWorld({ ...options, env: { ...local, ...options.env } });
  return { world, admin: await world.staff("admin") };
}
export type Follower = Awaited<ReturnType<typeof createFollower>>;

/** A community that is followed, with somebody who lists people there, and the key that it has given out. */
export async function createOrigin() {
  // It answers at the same address after a restart.
  const world = await createWorld({ env: { PORT: (await freePort()).toString() } });
  return { world, owner: await world.staff("owner"), key: await world.makeKey(["blacklist.read"], "none") };
}
export type Origin = Awaited<ReturnType<typeof createOrigin>>;

/** Follow a list; answers its id. */
export async function follow({ world, admin }: Follower, body: object): Promise<string> {
  const answer = await world.post("/lists", body, { actor: admin });
  if (answer.status !== 201) throw new Error(JSON.stringify(answer.body));
  return answer.body.data.id as string;
}

export async function refresh({ world, admin }: Follower, id: string) {
  const answer = await world.post(`/lists/${id}/refresh`, undefined, { actor: admin });
  if (answer.status !== 200) throw new Error(JSON.stringify(answer.body));
  return answer.body.data;
}

/** What a list says, by account: category and severity. */
export async function saidBy({ world, admin }: Pick<Follower, "world" | "admin">, id: string): Promise<Record<string, string>> {
  const rows = (await world.get(`/lists/${id}/entries?limit=200`, { actor: admin })).body.data;
  return Object.fromEntries(rows.map((row: any) => [row.subject_id, `${row.category} ${row.severity}`]));
}

interface Told {
  status?: number;
  body: string;
  headers?: Record<string, string>;
}

/** A server whose answers the test decides; it ends with the test. */
export async function createTeller(answer: (asked: IncomingMessage) => Told | Promise<Told>) {
  const asked: { path: string; authorization: string | undefined }[] = [];
  const server = createServer((request, response) => {
    asked.push({ path: request.url ?? "", authorization: request.headers.authorization });
    void Promise.resolve(answer(request)).then(({ status = 200, body, headers = {} }) => response.writeHead(status, headers).end(body));
  });
  await new Promise<void>((resolve) => server.listen(0, "127.0.0.1", resolve));
  onTestFinished(() => new Promise<void>((resolve) => void server.close(() => resolve())));
  return { asked, url: `http://127.0.0.1:${(server.address() as AddressInfo).port.toString()}` };
}

/** Records at the origin. */
export const list = async ({ world, owner }: Origin, subjectId: string, more: object = {}) =>
  (await world.post("/blacklist", { kind: "user", subject_id: subjectId, category: "raid", severity: "high", ...more }, { actor: owner }))
    .body.data as { id: string; number: string };
export const revoke = ({ world, owner }: Origin, id: string) => world.delete(`/blacklist/${id}`, { reason: "a mistake" }, { actor: owner });
export const purge = ({ world, owner }: Origin, id: string) =>
  world.post(`/blacklist/${id}/purge`, { reason: "no ground" }, { actor: owner });
