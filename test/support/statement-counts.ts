import { statementsOf, type Statements } from "./statements.ts";
import type { Answer, World } from "./world.ts";

/** What is asked about once a second, or once for a key, whatever else is done. */
const isAside = (statement: string): boolean => /\b(api_keys|review_cards)\b|\bsettings\b.*\bkey\W+=/.test(statement);

/** A write is its transaction, which no job makes as long; a read is what is outside of all. */
function counted({ transactions, single }: Statements): string[] {
  const [longest = single] = transactions.toSorted((a, b) => b.length - a.length);
  return longest.filter((statement) => !isAside(statement));
}

/** A read is made again: a job that reads at the same time is not met three times. */
const triesOf = (name: string): number => (name.startsWith("GET ") ? 3 : 1);

export interface Counted {
  /** By operation. */
  counts: Record<string, number>;
  /** Statements that can find nothing. */
  empty: string[];
}

/** Do everything that is counted once in a world of its own. @throws Error when something is refused, or answers what it should not */
export async function countStatements(world: World): Promise<Counted> {
  const measured: Counted = { counts: {}, empty: [] };
  const [owner, admin, senior, moderator] = [
    await world.staff("owner"),
    await world.staff("admin"),
    await world.staff("senior"),
    await world.staff("moderator"),
  ];
  const run = async (name: string, work: () => Promise<Answer>): Promise<Answer> => {
    let answer: Answer | undefined;
    let statements: string[] = [];
    for (let tries = 0; tries < triesOf(name); tries += 1) {
      const found = counted(await statementsOf(async () => void (answer = await work())));
      if (tries === 0 || found.length < statements.length) statements = found;
    }
    if (answer === undefined || answer.status >= 400) throw new Error(`${name} was refused: ${JSON.stringify(answer?.body)}`);
    measured.counts[name] = statements.length;
    measured.empty.push(...statements.filter((one) => /\b1=0\b|IN \(NULL\)/.test(one)).map((one) => `${name}: ${one}`));
    return answer;
  };
  const record = () => ({ kind: "user", subject_id: world.member().id, category: "raid", reason_public: "Led the raid of last night." });
  const request = () => ({ user_id: world.member().id, category: "raid", reason: "Led the raid of last night.", severity: "critical" });
  const decision = { decision: "approve", reason: "The raid is known." };

  await world.post("/blacklist", record(), { actor: owner });
  const made = await run("POST /blacklist", () => world.post("/blacklist", record(), { actor: owner }));
  const again = { actor: owner, headers: { "idempotency-key": "statements-1" } };
  await run("POST /blacklist with an Idempotency-Key", () => world.post("/blacklist", record(), again));
  await run("GET /blacklist/{id}", () => world.get(`/blacklist/${String(made.body.data.id)}`, { actor: owner }));
  await run("GET /blacklist", () => world.get("/blacklist", { actor: owner }));
  await run("GET /staff/{id}/access", () => world.get(`/staff/${moderator.id}/access`, { actor: owner }));
  // Where a counter stands is read once.
  await world.post("/workflows/blacklist-user", request(), { actor: owner });
  const filed = await run("POST /workflows/blacklist-user", () => world.post("/workflows/blacklist-user", request(), { actor: moderator }));
  const decide = `/workflows/blacklist-user/${String(filed.body.id)}/decision`;
  await run("the first of two approvals", () => world.post(decide, decision, { actor: senior }));
  const final = await run("the last approval, with a record, a case and messages", () => world.post(decide, decision, { actor: admin }));
  if (final.body.final !== true || final.body.status !== "approved") throw new Error(`not approved: ${JSON.stringify(final.body)}`);
  // More than one person may file in an hour.
  for (const actor of [owner, admin, moderator])
    for (let count = 0; count < 17; count += 1) await world.post("/workflows/investigation", investigation(world), { actor });
  const page = await run("GET /workflows of 50", () => world.get("/workflows?limit=50", { actor: senior }));
  if (page.body.data.length !== 50) throw new Error(`a page of ${String(page.body.data.length)} requests`);
  return measured;
}

const investigation = (world: World) => ({ user_id: world.member().id, allegation: "Seen with the raiders of last night." });
