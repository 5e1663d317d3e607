import { expect } from "vitest";
import { defaultFilingLimits } from "../../src/features/workflows/requests/filing.ts";
import { staffAtConsole } from "../contract/world.ts";
import type { User } from "../../sandbox/index.ts";
import { sizeOf } from "../support/size.ts";
import type { World } from "../support/world.ts";
import { type Cluster, createCluster, eventually, type Node } from "./cluster.ts";

const authorCount = sizeOf({ quick: 12, all: 80, long: 400 });

/** People, and a channel for review cards. */
async function prepare(world: World) {
  const owner = await staffAtConsole(world, "owner");
  const admins: User[] = [];
  for (let count = 0; count < 3; count += 1) admins.push(await staffAtConsole(world, "admin"));
  const author = await staffAtConsole(world, "moderator");
  const moderators: User[] = [];
  for (let count = 0; count < 4; count += 1) moderators.push(await world.staff("moderator"));
  const authors = Array.from({ length: authorCount }, (_, index) => world.sandbox.createUser(`author${index.toString()}`));
  for (const one of authors) world.guild.addMember(one, { roles: [world.roles.moderator] });
  await world.sandbox.waitFor(() => authors.every(({ id }) => world.app.access.of(id).isStaff));
  const reviews = world.guild.createChannel("reviews");
  const chosen = await world.put(`/channels/${world.guild.id}`, { review: reviews.id }, { actor: owner });
  expect(chosen.status, JSON.stringify(chosen.body)).toBe(200);
  let filed = 0;
  /** Somebody who has not filed so many requests in this hour that they may not file another. */
  const nextAuthor = (): User => authors[Math.floor(filed++ / defaultFilingLimits.perHour)] ?? expect.fail("everybody has filed enough");
  return { owner, admins, author, nextAuthor, moderators, reviews, subject: world.member() };
}
type Prepared = Awaited<ReturnType<typeof prepare>>;
export type Ground = Cluster<Prepared>;

type Options = Omit<Parameters<typeof createCluster<Prepared>>[0], "prepare">;

/** Three nodes with people, and with the link to Discord. */
export async function createGround(options: Options): Promise<Ground> {
  const ground = await createCluster<Prepared>({ ...options, prepare });
  await isServing(ground);
  return ground;
}

/** Somebody leads, and commands of Discord are answered. */
export async function isServing({ leader, world, prepared }: Ground): Promise<void> {
  await leader();
  await eventually(async () => {
    const run = await world.sandbox.as(prepared.author).in(world.guild).runSlashCommand("help");
    return run.reply(1000).then(
      () => true,
      () => false,
    );
  }, 60_000);
}

/** Every node says that the chain of the audit is whole, and its numbers have no gap. */
export async function expectWholeChain({ nodes, prepared, query }: Ground): Promise<void> {
  for (const node of nodes) {
    const { body } = await node.ask("GET", "/audit/verify", undefined, { actor: prepared.owner });
    expect(body.data, node.name).toMatchObject({ ok: true });
  }
  const [chain] = await query<{ gaps: number }>("SELECT (max(seq) - min(seq) + 1 - count(*))::int AS gaps FROM audit_entries");
  expect(chain?.gaps).toBe(0);
}

/** References of requests and cases count without a gap. */
export async function expectNoGaps({ query }: Ground): Promise<void> {
  const gaps = await query(
    `SELECT type, count(*)::int AS there, max(substring(reference from '\\d+$')::int) AS last FROM workflow_requests
     GROUP BY type HAVING count(*) <> max(substring(reference from '\\d+$')::int)
     UNION ALL SELECT 'case', count(*)::int, max(number) FROM cases HAVING count(*) <> coalesce(max(number), 0)`,
  );
  expect(gaps).toEqual([]);
}

let people = 0n;
/** The id of somebody who is in no server here. */
export const stranger = (): string => (900_000_000_000_000_000n + (people += 1n)).toString();

/** File a request that one approval decides. @returns its reference */
export async function file(node: Node, { nextAuthor }: Prepared): Promise<string> {
  const body = { user_id: stranger(), action: "note", reason: "Shouted at everybody in the lobby." };
  const { status, body: said } = await node.ask("POST", "/workflows/punishment", body, { actor: nextAuthor() });
  expect(status, JSON.stringify(said)).toBe(201);
  return said.reference as string;
}
