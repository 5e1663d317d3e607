// @module-tag postgres
// @module-tag slow
import { setTimeout as delay } from "node:timers/promises";
import { beforeAll, describe, expect, test, vi } from "vitest";
import type { Answer } from "../support/world.ts";
import { fixtures, type Change, type Ground } from "./conditional-fixtures.ts";
import { documentedCodes, documentedRoutes, freshExample, freshId, type DocumentedRoute } from "./document.ts";
import { everyRow, shareWorld } from "./world.ts";

const shared = shareWorld({ env: { SECOND_PERSON_FOR_DANGER: "true" }, furtherGuilds: ["Quay"] });
const stale = '"v987"';
/** Of another revision, compared strongly, and of another service. */
const others = [`W/${stale}`, '"another-tag"', '""'];
const malformed = ["v1", '"v1', '"v1", "v2"', "W/v1", '""v1"', ""];
const atOnce = 6;

const hasCondition = ({ operation }: DocumentedRoute) => operation.parameters?.some(({ $ref }) => $ref?.endsWith("/IfMatch")) === true;
const conditional = documentedRoutes.filter(hasCondition);
const unconditional = documentedRoutes.filter((route) => route.method !== "GET" && !hasCondition(route));
const idOf = ({ operation }: DocumentedRoute) => operation.operationId;
const readable = new Set(documentedRoutes.filter(({ method }) => method === "GET").map(({ path }) => path));

let ground: Ground;
const changes = new Map<DocumentedRoute, Change>();

beforeAll(async () => {
  const { world } = shared;
  const used = new Map<string, number>();
  let last = 0;
  ground = {
    world,
    owner: await world.staff("owner"),
    count: () => (last += 1),
    nextGuild(operation) {
      const at = used.get(operation) ?? 0;
      used.set(operation, at + 1);
      return [world.guild, ...world.furtherGuilds][at] ?? world.guild;
    },
  };
  // The key of those who prove themselves is made by the first who does.
  await world.get("/health", { actor: ground.owner, signed: true });
  for (const route of conditional) changes.set(route, await changeOf(route));
});

async function changeOf(route: DocumentedRoute): Promise<Change> {
  const fixture = fixtures[idOf(route)];
  if (fixture === undefined) throw new Error(`${idOf(route)} has no change it is tried with`);
  return await fixture(ground);
}

function send({ method }: DocumentedRoute, { path, body }: Change, condition: Record<string, string> = {}): Promise<Answer> {
  // The word of a second person is their own.
  const signed = path.endsWith("/confirm") && { signed: true as const };
  return ground.world.request(method, path, body, { actor: ground.owner, headers: condition, ...signed });
}
const sendAtOnce = (...asked: Parameters<typeof send>) => Promise.all(Array.from({ length: atOnce }, () => send(...asked)));
const said = (answers: readonly Answer[]) => answers.map(({ status, body }) => `${status.toString()} ${JSON.stringify(body)}`).join("\n");

/** The condition under which a change happens: the tag that is read where it is, or else the one that a refusal names. */
async function rightFor(route: DocumentedRoute, change: Change): Promise<Record<string, string>> {
  const { body } = await send(route, change, { "if-match": stale });
  const named = body.current_etag as string | null;
  if (named === null) return { "if-none-match": "*" };
  if (!readable.has(route.path)) return { "if-match": named };
  const read = (await ground.world.get(change.path, { actor: ground.owner })).headers.get("etag");
  expect(read?.replace(/-[\w-]+"$/, '"')).toBe(named);
  return { "if-match": read ?? "" };
}

/** Every row, once what followed from earlier changes is done: the service compares people with lists, posts cards and notes positions later. */
async function rowsAtRest(): Promise<Awaited<ReturnType<typeof everyRow>>> {
  let rows = await everyRow(ground.world);
  await vi.waitFor(
    async () => {
      await ground.world.app.webhookRunner.flush();
      await delay(300);
      const before = rows;
      rows = await everyRow(ground.world);
      expect(rows).toEqual(before);
    },
    { timeout: 60_000 },
  );
  return rows;
}

test("every operation that can be refused for another revision takes a condition, and is tried here", () => {
  const refusing = documentedRoutes.filter((route) => documentedCodes(route).includes("precondition_failed")).map(idOf);
  // The plan of a repair is compared by its hash, which is a field.
  expect(conditional.map(idOf).toSorted()).toEqual(refusing.filter((id) => id !== "repairCallsigns").toSorted());
  expect(Object.keys(fixtures).toSorted()).toEqual(conditional.map(idOf).toSorted());
});

test("in another revision nothing happens, nor with a condition that is none of our tags", async () => {
  const before = await rowsAtRest();
  const wrong: string[] = [];
  for (const [index, [route, change]] of [...changes].entries()) {
    const ask = async (tag: string, expected: string): Promise<void> => {
      const { status, body } = await send(route, change, { "if-match": tag });
      const pointers = (body.errors ?? []).map(({ pointer }: { pointer: string }) => ` ${pointer}`).join("");
      const found = `${status.toString()} ${String(body.code)}${pointers}`;
      if (found !== expected) wrong.push(`${idOf(route)} with ${tag}: ${found}`);
    };
    for (const tag of new Set([stale, others[index % others.length] ?? stale])) await ask(tag, "412 precondition_failed");
    await ask(malformed[index % malformed.length] ?? "", "412 precondition_failed");
  }
  expect(wrong).toEqual([]);
  expect(await everyRow(ground.world)).toEqual(before);
});

test("an operation that compares no revision refuses a condition, and does nothing", async () => {
  const before = await rowsAtRest();
  const wrong: string[] = [];
  for (const route of unconditional) {
    const path = route.path.replaceAll(/\{(\w+)\}/g, (_whole, name: string) => (name.endsWith("_id") ? freshId() : "none"));
    const { status, body } = await send(route, { path, body: freshExample(route) }, { "if-match": '"v1"' });
    const isNamed = body.errors?.some(({ pointer, code }: Record<string, string>) => pointer === "/If-Match" && code === "not_supported");
    if (status !== 422 || isNamed !== true) wrong.push(`${idOf(route)}: ${said([{ status, body } as Answer])}`);
  }
  expect(wrong).toEqual([]);
  expect(await everyRow(ground.world)).toEqual(before);
});

describe.each(conditional)("$method $path", (route) => {
  /** What is gone or has ended is not changed in any revision. */
  const refusals = ["PUT", "PATCH"].includes(route.method) ? [412] : [404, 409, 412, 422];

  test("is done once of what is asked at once in one revision", async () => {
    const change = changes.get(route) ?? expect.unreachable();
    const answers = await sendAtOnce(route, change, await rightFor(route, change));
    const refused = answers.flatMap(({ status }) => (status < 300 ? [] : [status]));
    for (const status of refused) expect(refusals, said(answers)).toContain(status);
    // The same decision by the same person again is answered as the first one was.
    const done = answers.filter(({ status, body }) => status < 300 && body.replayed !== true);
    if (change.isHeld !== true) expect(done, said(answers)).toHaveLength(1);
  });

  test("breaks for nobody when it is asked at once in whichever revision", async () => {
    const change = await changeOf(route);
    if (change.isNew === true)
      expect((await send(route, change, { "if-match": "*" })).body).toMatchObject({ status: 412, current_etag: null });
    const answers = await sendAtOnce(route, change, change.isNew === true ? {} : { "if-match": "*" });
    const statuses = answers.map(({ status }) => status);
    expect(Math.max(...statuses), said(answers)).toBeLessThan(500);
    expect(Math.min(...statuses), said(answers)).toBeLessThan(300);
  });
});
