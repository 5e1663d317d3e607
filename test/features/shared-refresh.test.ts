// @module-tag postgres
// @module-tag slow
import { expect, test } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import { createPair, isPostgres, raced, type Pair } from "./shared-ground.ts";

const call = () => systemCall("job", uuid7());
const tokenCalls = ({ world }: Pair): number => world.sandbox.exchanges.filter(({ path }) => path.endsWith("/oauth2/token")).length;

async function createGranted() {
  const pair = await createPair();
  const { sandbox, post } = pair.world;
  const ann = sandbox.createUser("ann");
  const session = await post("/authorize/sessions", { discord_user_id: ann.id }, { actor: await pair.world.staff("admin") });
  await sandbox.as(ann).authorize(session.body.url, { approve: true });
  return { pair, ann };
}

test.runIf(isPostgres())("two processes that refresh one person at once spend the token once, and answer the same", async () => {
  const { pair, ann } = await createGranted();
  const [one, other] = pair.apps.map((app) => () => app.authorization.refresh(call(), ann.id, { force: true }));
  for (let turn = 0; turn < 50; turn += 1) {
    pair.world.sandbox.expireAccessTokens(ann);
    const before = tokenCalls(pair);
    const views = await raced(turn, one!, other!);
    expect(views[1]).toEqual(views[0]);
    expect(tokenCalls(pair) - before).toBe(1);
  }
  const { status } = await pair.world.app.database.read.authorization.findUniqueOrThrow({ where: { userId: ann.id } });
  expect(status).toBe("active");
});

test.runIf(isPostgres())("a refresh that failed leaves the next one to whoever waited, and one of a dead process ends", async () => {
  const { pair, ann } = await createGranted();
  const { sandbox } = pair.world;
  const [first, second] = pair.apps;
  sandbox.expireAccessTokens(ann);
  sandbox.faults.oauth({ route: "token", status: 502, times: 1 });
  const outcomes = await Promise.allSettled([first, second].map((app) => app.authorization.refresh(call(), ann.id, { force: true })));
  expect(outcomes.map(({ status }) => status).toSorted()).toEqual(["fulfilled", "rejected"]);
  expect(await second.claims?.take(`refresh ${ann.id}`, new Date(Date.now() + 1500))).toBe(true);
  const began = performance.now();
  await first.authorization.refresh(call(), ann.id, { force: true });
  expect(performance.now() - began).toBeGreaterThan(1200);
  expect(await first.database.read.claim.count()).toBe(1);
});
