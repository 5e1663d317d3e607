import { randomUUID } from "node:crypto";
import { setTimeout as delay } from "node:timers/promises";
import { expect } from "vitest";
import type { Answer } from "../support/client.ts";
import type { Node } from "./cluster.ts";
import { type Ground, stranger } from "./ground.ts";

/** A write that was answered: what was sent under which key, and the first good answer. */
interface Acknowledged {
  path: string;
  key: string;
  body: object;
  actor: { id: string };
  answer: Answer;
  tries: number;
}

/** How long a client goes on trying, as one behind a proxy that asks the next server. */
const patienceMs = 60_000;

export type Load = ReturnType<typeof startLoad>;

/**
 * Clients that write, each again as soon as it is answered: cases, requests that get review cards, and commands of Discord. A client whose
 * request is not answered, or with 502 to 504, sends it again to the next node, under the same `Idempotency-Key`.
 * @param nodes whom they ask: all unless told
 */
export function startLoad({ world, prepared, ...ground }: Ground, nodes: readonly Pick<Node, "ask">[] = ground.nodes) {
  const writers = 3;
  const acknowledged: Acknowledged[] = [];
  /** What no retry on another node has mended. */
  const failures: string[] = [];
  /** Cases that people opened by command, by title; whether they were told that it is open. */
  const commanded = new Map<string, boolean>();
  const state = { isOver: false };

  async function write(first: number, path: string, body: object, actor: { id: string }): Promise<Answer | undefined> {
    const key = randomUUID();
    const end = performance.now() + patienceMs;
    let said = "";
    for (let tries = 1; performance.now() < end; tries += 1) {
      const node = nodes[(first + tries - 1) % nodes.length];
      if (node === undefined) break;
      const answer = await askAs(node, path, body, actor, key);
      if (typeof answer === "string" || answer.status >= 502) {
        said = typeof answer === "string" ? answer : JSON.stringify(answer.body);
        await delay(20);
        continue;
      }
      said = `${answer.status.toString()} ${JSON.stringify(answer.body)}`;
      if (answer.status >= 300) break;
      acknowledged.push({ path, key, body, actor, answer, tries });
      return answer;
    }
    failures.push(`${path}: ${said}`);
    return undefined;
  }

  async function openCases(index: number): Promise<void> {
    for (let count = index; !state.isOver; count += 1) {
      const body = { title: `Quarrel ${randomUUID()}`, subjects: [{ kind: "user", id: prepared.subject.id }] };
      await write(count, "/cases", body, prepared.author);
    }
  }

  async function fileRequests(): Promise<void> {
    for (let count = 0; !state.isOver; count += 1) {
      const body = { user_id: stranger(), action: "note", reason: "Shouted in the lobby." };
      const filed = await write(count, "/workflows/punishment", body, prepared.nextAuthor());
      const admin = prepared.admins[count % prepared.admins.length];
      if (filed === undefined || admin === undefined) continue;
      await write(count + 1, `/workflows/punishment/${filed.body.reference as string}/decision`, { decision: "claim" }, admin);
      await delay(300);
    }
  }

  async function command(): Promise<void> {
    while (!state.isOver) {
      const title = `Command ${randomUUID().replaceAll("-", "")}`;
      commanded.set(title, false);
      const run = await world.sandbox.as(prepared.author).in(world.guild).runSlashCommand("case open", { user: prepared.subject, title });
      const isOpen = await run.reply(3000).then(
        ({ embeds }) => JSON.stringify(embeds).includes(title),
        () => false,
      );
      commanded.set(title, isOpen);
      await delay(50);
    }
  }

  const running = [...Array.from({ length: writers }, (_, index) => openCases(index)), fileRequests(), command()];

  return {
    acknowledged,
    failures,
    commanded,
    async stop(): Promise<void> {
      state.isOver = true;
      await Promise.all(running);
    },
  };
}

async function askAs(node: Pick<Node, "ask">, path: string, body: object, actor: { id: string }, key: string): Promise<Answer | string> {
  return await node.ask("POST", path, body, { actor, headers: { "idempotency-key": key } }).catch(String);
}

/** Each acknowledged write stands once, under the number that was answered, and each command did what it said, once at most. */
export async function expectEachOnce({ query }: Ground, { acknowledged, commanded, failures }: Load): Promise<void> {
  expect(failures).toEqual([]);
  const cases = await query<{ title: string; count: number; id: string }>(
    "SELECT title, count(*)::int AS count, min(id) AS id FROM cases WHERE title ~ '^(Quarrel|Command) ' GROUP BY title",
  );
  const byTitle = new Map(cases.map((row) => [row.title, row]));
  expect(cases.filter(({ count }) => count !== 1)).toEqual([]);
  const opened = acknowledged.filter(({ path }) => path === "/cases");
  expect(opened.length).toBeGreaterThan(0);
  const lost = opened.filter(({ body, answer }) => byTitle.get((body as { title: string }).title)?.id !== answer.body.data.id);
  expect(lost).toEqual([]);
  const filed = acknowledged.filter(({ path }) => path === "/workflows/punishment").map(({ answer }) => answer.body.reference as string);
  const there = await query<{ reference: string }>("SELECT reference FROM workflow_requests WHERE reference = ANY($1)", [filed]);
  expect(there).toHaveLength(new Set(filed).size);
  expect([...commanded].filter(([title, isOpen]) => isOpen && !byTitle.has(title))).toEqual([]);
  const audited = await query<{ count: number }>(
    `SELECT count(*)::int AS count FROM audit_entries WHERE action = 'case.open' GROUP BY target_id HAVING count(*) <> 1`,
  );
  expect(audited).toEqual([]);
}

/**
 * Each request has one card, which shows how it stands.
 * @param most how many edits may have been sent twice: those whose leader was lost in the middle of them
 */
export async function expectCardsOnce({ world, prepared, query }: Ground, { acknowledged }: Load, most: number): Promise<void> {
  const { world: inside } = world.sandbox.inside;
  const messages = () => [...(inside.channels.get(prepared.reviews.id)?.messages.values() ?? [])];
  const filed = acknowledged.filter(({ path }) => path === "/workflows/punishment").map(({ answer }) => answer.body.reference as string);
  const claimed = new Set(acknowledged.filter(({ path }) => path.endsWith("/decision")).map(({ path }) => path.split("/")[3] ?? ""));
  const cardsOf = (reference: string) => messages().filter(({ embeds }) => embeds[0]?.title?.includes(reference));
  const isShown = (reference: string): boolean => {
    const text = JSON.stringify(cardsOf(reference)[0]?.embeds ?? "");
    return claimed.has(reference) ? text.includes("in review") : text.includes(reference);
  };
  const isAllShown = () => filed.every(isShown);
  await world.sandbox.waitFor(isAllShown, 60_000).catch(() => undefined);
  const late = filed.filter((reference) => !isShown(reference));
  const kept = await query(
    "SELECT r.reference, r.status, c.message_id, c.updated_at FROM workflow_requests r LEFT JOIN review_cards c ON c.request_id = r.id WHERE r.reference = ANY($1)",
    [late],
  );
  expect(
    kept.map((row) => ({ ...row, cards: cardsOf(row["reference"] as string).map(({ id, embeds }) => `${id} ${JSON.stringify(embeds)}`) })),
  ).toEqual([]);
  expect(filed.filter((reference) => cardsOf(reference).length !== 1)).toEqual([]);
  const cards = new Set(filed.flatMap((reference) => cardsOf(reference).map(({ id }) => id)));
  const edits = world.sandbox.exchanges
    .filter(({ method, path, status }) => method === "PATCH" && status === 200 && cards.has(path.split("/").at(-1) ?? ""))
    .map(({ path, requestBody }) => `${path} ${JSON.stringify(requestBody)}`);
  expect(edits.length - new Set(edits).size).toBeLessThanOrEqual(most);
}

/** What was answered is answered again by every other node, for the same key. */
export async function expectFirstAnswers({ nodes }: Ground, { acknowledged }: Load, most: number): Promise<void> {
  for (const [index, { path, key, body, actor, answer }] of acknowledged.slice(-most).entries()) {
    const node = nodes[index % nodes.length];
    const again = await node?.ask("POST", path, body, { actor, headers: { "idempotency-key": key } });
    expect([again?.status, again?.body, again?.headers.get("idempotency-replayed")]).toEqual([answer.status, answer.body, "true"]);
  }
}
