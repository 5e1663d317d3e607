// @module-tag sqlite
import { gunzipSync } from "node:zlib";
import { get } from "node:http";
import { expect, test } from "vitest";
import { createWorld } from "../support/world.ts";

/** What the server sends, byte for byte: `fetch` would unpack it. */
function bytesOf(address: string, headers: Record<string, string>) {
  return new Promise<{ status: number | undefined; headers: Record<string, unknown>; body: Buffer }>((resolve, reject) => {
    get(address, { headers }, (answer) => {
      const parts: Buffer[] = [];
      answer.on("data", (part: Buffer) => parts.push(part));
      answer.on("end", () => resolve({ status: answer.statusCode, headers: answer.headers, body: Buffer.concat(parts) }));
    }).on("error", reject);
  });
}

/** The address of the script that the page names. */
async function scriptOf(url: string): Promise<string> {
  const text = await (await fetch(`${url}/docs`)).text();
  return /src="([^"]+)"/.exec(text)?.[1]?.replaceAll("&amp;", "&") ?? "none";
}

test("the documentation may run its own script and ask this service, and nothing else", async () => {
  const world = await createWorld();
  const answer = await fetch(`${world.url}/docs`);
  expect([answer.status, answer.headers.get("content-type")]).toEqual([200, "text/html; charset=UTF-8"]);
  const policy = Object.fromEntries(
    (answer.headers.get("content-security-policy") ?? "").split("; ").map((part) => part.split(/ (.*)/).slice(0, 2)),
  );
  expect(policy).toEqual({
    "default-src": "'none'",
    "script-src": "'self'",
    "style-src": "'self' 'unsafe-inline'",
    "img-src": "'self' data:",
    "connect-src": "'self'",
    "form-action": "'none'",
    "frame-ancestors": "'none'",
    "base-uri": "'none'",
  });
  expect((await answer.text()).match(/<script\b[^>]*>[^<]*/g)).toEqual([
    expect.stringMatching(/ src="\/docs\/api-reference\.js\?v=[\w-]{22}">$/),
  ]);
});

test("the script of the documentation is asked for once: compressed for those who take it, the same for others, and not at all for those who have it", async () => {
  const world = await createWorld();
  const address = `${world.url}${await scriptOf(world.url)}`;
  const zipped = await bytesOf(address, { "accept-encoding": "gzip, br" });
  expect([zipped.status, zipped.headers]).toMatchObject([
    200,
    {
      "content-type": "text/javascript; charset=utf-8",
      "content-encoding": "gzip",
      "cache-control": "public, max-age=31536000, immutable",
      vary: "Accept-Encoding",
      etag: expect.stringMatching(/^W\/"[\w-]{22}"$/),
      "content-length": zipped.body.length.toString(),
    },
  ]);
  expect(zipped.body.length).toBeLessThan(1_700_000);
  const plain = await bytesOf(address, {});
  expect(plain.headers["content-encoding"]).toBeUndefined();
  expect(gunzipSync(zipped.body).equals(plain.body)).toBe(true);
  expect(plain.body.length).toBeGreaterThan(4_000_000);
  const known = await bytesOf(address, { "if-none-match": String(zipped.headers["etag"]) });
  expect([known.status, known.body.length, known.headers["etag"]]).toEqual([304, 0, zipped.headers["etag"]]);
});

test("the documentation under a path of its host names addresses under that path, and so does the bare address", async () => {
  const world = await createWorld({ env: { PUBLIC_URL: "https://harbour.example/provost" } });
  expect(await scriptOf(world.url)).toMatch(/^\/provost\/docs\/api-reference\.js\?v=/);
  const text = await (await fetch(`${world.url}/docs`)).text();
  expect(text.replaceAll("&quot;", '"')).toContain('"url":"/provost/openapi.json"');
  expect(text).toContain('<a href="/provost/openapi.json">');
  expect(await (await fetch(world.url)).text()).toContain('<a href="/provost/docs">');
  expect((await world.get("/openapi.json", { key: null })).body.servers).toEqual([{ url: "https://harbour.example/provost" }]);
});
