// @module-tag sqlite
// @module-tag slow
import { beforeAll, describe, expect, onTestFinished, test } from "vitest";
import { createWorld, type World } from "../support/world.ts";
import { lacksChromium, useChromium, type Visitor } from "./chromium.ts";
import { createSite } from "./site.ts";

const chromium = useChromium();

describe.skipIf(lacksChromium)("a page of another origin in a browser", () => {
  let world: World;
  let listed: string;
  let staff: string;

  beforeAll(async () => {
    const ends: (() => unknown)[] = [];
    const onEnd = (end: () => unknown): void => void ends.push(end);
    listed = await createSite(onEnd);
    world = await createWorld({ env: { CORS_ORIGINS: listed }, onEnd });
    staff = (await world.staff("owner", "Mona")).id;
    return async () => {
      for (const end of ends.toReversed()) await end();
    };
  });

  /** Run a script in the page; `ask(path, options)` asks the service for the staff member and tells status, body and headers. */
  function run({ page }: Visitor, script: string, key = world.key): Promise<unknown> {
    const known = JSON.stringify({ url: world.url, key, staff });
    return page.evaluate(`(async ({ url, key, staff }) => {
      const identity = { Authorization: "Bearer " + key, "X-Acting-User": staff };
      const send = (path, { method = "GET", headers = {}, body } = {}) => fetch(url + path, { method, headers: { ...identity, ...headers }, body });
      const ask = async (path, options) => {
        const answer = await send(path, options);
        const text = await answer.text();
        return { status: answer.status, body: text === "" ? null : JSON.parse(text), headers: Object.fromEntries(answer.headers) };
      };
      const json = { "Content-Type": "application/json" };
      ${script}
    })(${known})`);
  }

  async function visit(origin: string): Promise<Visitor> {
    const visitor = await chromium.visitor();
    await visitor.page.goto(origin);
    // The service has heard of everybody.
    await world.get("/health/live");
    return visitor;
  }

  const record = (subject: string): string => JSON.stringify({ kind: "user", subject_id: subject, category: "raid" });
  const recordsOf = async (subject: string): Promise<number> =>
    (await world.get(`/blacklist?subject=${subject}`, { actor: staff })).body.data.length as number;

  test("reads, writes once with an idempotency key, changes with If-Match, sends a file and reads the headers, where CORS_ORIGINS lists it", async () => {
    const subject = world.member("Quinn").id;
    const visitor = await visit(listed);
    const seen = await run(
      visitor,
      `const write = { method: "POST", headers: { ...json, "Idempotency-Key": "from-the-panel-1" }, body: ${JSON.stringify(record(subject))} };
      const made = await ask("/blacklist", write);
      const repeated = await ask("/blacklist", write);
      const path = "/blacklist/" + made.body.data.id;
      const read = await ask(path);
      const changed = await ask(path, { method: "PATCH", headers: { ...json, "If-Match": read.headers.etag }, body: JSON.stringify({ severity: "high" }) });
      const known = await ask(path, { headers: { "If-None-Match": changed.headers.etag } });
      const form = new FormData();
      form.append("file", new File(["what they wrote"], "notes.txt", { type: "text/plain" }));
      const sent = await ask(path + "/evidence", { method: "POST", body: form });
      const listing = await ask("/blacklist/changes?limit=1");
      return { made, repeated, read, changed, known, sent, listing };`,
    );
    expect(seen).toMatchObject({
      made: {
        status: 201,
        headers: { etag: expect.any(String), "x-request-id": expect.any(String), ratelimit: expect.stringMatching(/^"write"/) },
      },
      repeated: { status: 201, headers: { "idempotency-replayed": "true" } },
      read: { status: 200, headers: { etag: '"v1"', "ratelimit-policy": expect.any(String) } },
      changed: { status: 200, headers: { etag: '"v2"' }, body: { data: { severity: "high" } } },
      known: { status: 304, body: null },
      sent: { status: 201 },
      listing: { status: 200 },
    });
    expect([await recordsOf(subject), visitor.problems]).toEqual([1, []]);
  });

  test("reads why it was refused", async () => {
    const visitor = await visit(listed);
    const seen = await run(
      visitor,
      `const [own, wrong] = [await ask("/blacklist", { method: "POST", headers: json, body: "{}" }), await fetch(url + "/blacklist", { headers: { "X-API-Key": "wrong" } })];
      return [own.status, own.body.errors.length > 0, wrong.status, (await wrong.json()).code, wrong.headers.get("x-request-id") !== null];`,
    );
    expect(seen).toEqual([422, true, 401, "invalid_credentials", true]);
  });

  test("follows the events, and goes on from where it was", async () => {
    const subject = world.member("River").id;
    const visitor = await visit(listed);
    const seen = await run(
      visitor,
      `const follow = async (lastId, isEnough) => {
        const stop = new AbortController();
        const answer = await fetch(url + "/events", { signal: stop.signal, headers: { ...identity, Accept: "text/event-stream", "Last-Event-ID": lastId } });
        const reader = answer.body.pipeThrough(new TextDecoderStream()).getReader();
        let text = "";
        while (!isEnough(text)) text += (await reader.read()).value;
        stop.abort();
        return text;
      };
      const made = await ask("/blacklist", { method: "POST", headers: json, body: ${JSON.stringify(record(subject))} });
      const isTold = (text) => text.includes("event: blacklist.created") && text.includes(made.body.data.id);
      const first = await follow("0", isTold);
      // Other events may have come after it: the position is its own.
      const before = Number(first.split("\\n\\n").find(isTold).match(/^id: ([0-9]+)$/m)[1]) - 1;
      return [made.status, await follow(String(before), isTold) !== ""];`,
    );
    expect(seen).toEqual([201, true]);
    expect(visitor.problems).toEqual([]);
  });

  test("can neither read nor write from an origin that is not listed, and nothing it asked was done", async () => {
    const subject = world.member("Sasha").id;
    const other = await createSite((end) => onTestFinished(end));
    const visitor = await visit(other);
    const seen = await run(
      visitor,
      `const attempts = [
        () => send("/blacklist"),
        () => fetch(url + "/health"),
        () => send("/blacklist", { method: "POST", headers: json, body: ${JSON.stringify(record(subject))} }),
        () => fetch(url + "/events", { headers: identity }),
      ];
      return Promise.all(attempts.map((attempt) => attempt().then(({ status }) => status, (error) => error.name)));`,
    );
    expect(seen).toEqual(["TypeError", "TypeError", "TypeError", "TypeError"]);
    expect(await recordsOf(subject)).toBe(0);
    expect(visitor.problems.filter((text) => text.includes("CORS policy"))).toHaveLength(4);
  });
});
