import { describe, expect, test } from "vitest";
import type { User } from "../../sandbox/index.ts";
import { staffAtConsole } from "../contract/world.ts";
import { createWorld, type AskOptions, type World } from "../support/world.ts";

const limits = "read=100000/1,write=100000/1,authorize=100000/1,export=3/3600,failed_auth=100000/1";
const create = () => createWorld({ env: { RATE_LIMITS: limits } });

const exportOf = (world: World, person: User, asked: AskOptions) => world.get(`/users/${person.id}/data-export`, asked);

/** Signs in on the page of a person's own data. */
async function signedIn(world: World, person: User) {
  const { cookies } = await world.sandbox.as(person).authorize(`${world.url}/privacy`, { approve: true });
  const cookie = Object.entries(cookies)
    .map(([name, value]) => `${name}=${value}`)
    .join("; ");
  return {
    download: () => fetch(`${world.url}/privacy/data.json`, { headers: { cookie } }),
    show: async () => (await fetch(`${world.url}/privacy`, { headers: { cookie } })).status,
  };
}

describe("the export of one's own data", () => {
  test("is counted per person, over HTTP, in Discord and on the page together, and every refusal says when to try again", async () => {
    const world = await create();
    const [person, other] = [await world.staff("viewer"), await world.staff("viewer")];
    const page = await signedIn(world, person);
    const further = await world.makeKey(["*"]);
    const first = await exportOf(world, person, { actor: person });
    expect([first.status, first.headers.get("ratelimit-policy"), first.headers.get("ratelimit")]).toMatchObject([
      200,
      '"export";q=3;w=3600',
      expect.stringContaining('"export";r=2;'),
    ]);
    expect(await world.slash(person, "mydata")).toContain("This is stored about you:");
    expect((await page.download()).status).toBe(200);

    for (const key of [world.key, further]) {
      const refused = await exportOf(world, person, { actor: person, key });
      expect([refused.status, refused.body.code]).toEqual([429, "rate_limited"]);
      expect(Number(refused.headers.get("retry-after"))).toBeGreaterThan(1000);
    }
    const reply = await world.slash(person, "mydata");
    expect(reply).toContain("rate_limited");
    expect(reply).toMatch(/<t:\d+:R>/);
    expect(reply).not.toContain("stored about you");
    const download = await page.download();
    expect([download.status, download.headers.get("content-disposition")]).toEqual([429, null]);
    expect(Number(download.headers.get("retry-after"))).toBeGreaterThan(1000);
    expect(await download.text()).toMatch(/Try again in \d+ minutes\./);

    // Looking at the page is no export, and other people have budgets of their own.
    expect(await page.show()).toBe(200);
    expect((await exportOf(world, other, { actor: other })).status).toBe(200);
    expect(await world.slash(other, "mydata")).toContain("This is stored about you:");
  });

  test("takes from the one budget also when Discord alone is asked", async () => {
    const world = await create();
    const person = await world.staff("viewer");
    for (let count = 0; count < 3; count += 1) expect(await world.slash(person, "mydata")).toContain("This is stored about you:");
    expect(await world.slash(person, "mydata")).toContain("rate_limited");
    const { read } = world.app.database;
    expect(await read.auditEntry.count({ where: { outcome: "denied" } })).toBe(0);
  });

  test("is another budget than that of staff who export somebody, which counts per key and acting user", async () => {
    const world = await create();
    const [owner, colleague, person] = [await world.staff("owner"), await world.staff("owner"), await world.staff("viewer")];
    const statuses = async (asked: AskOptions, count: number) => {
      const answers = [];
      for (let index = 0; index < count; index += 1) answers.push((await exportOf(world, person, asked)).status);
      return answers;
    };
    expect(await statuses({ actor: owner }, 4)).toEqual([200, 200, 200, 429]);
    expect(await statuses({ actor: owner, key: await world.makeKey(["*"]) }, 1)).toEqual([200]);
    expect(await statuses({ actor: colleague }, 1)).toEqual([200]);
    expect(await statuses({ actor: person }, 4)).toEqual([200, 200, 200, 429]);
    expect((await exportOf(world, owner, { actor: owner })).status).toBe(200);
  });
});

test("what is limited over HTTP by its cost is limited in Discord likewise: whole exports, and requests for access to one person", async () => {
  const world = await createWorld({ env: { RATE_LIMITS: limits.replace("authorize=100000/1", "authorize=2/3600") } });
  const [owner, colleague, person] = [await staffAtConsole(world, "owner"), await staffAtConsole(world, "owner"), world.member()];
  for (let count = 0; count < 3; count += 1) expect(await world.slash(owner, "audit export")).not.toContain("rate_limited");
  expect(await world.slash(owner, "audit export")).toContain("rate_limited");
  expect(await world.slash(colleague, "audit export")).not.toContain("rate_limited");
  for (const actor of [owner, colleague])
    expect(await world.slash(actor, "intel authorize", { user: person })).not.toContain("rate_limited");
  const third = await staffAtConsole(world, "owner");
  expect(await world.slash(third, "intel authorize", { user: person })).toContain("rate_limited");
  expect((await world.post("/authorize/sessions", { discord_user_id: person.id }, { actor: third })).status).toBe(429);
  expect(await world.slash(third, "intel authorize", { user: world.member() })).not.toContain("rate_limited");
});
