import { isDeepStrictEqual } from "node:util";
import fc from "fast-check";
import { expect, test } from "vitest";
import { linksIn } from "../../src/features/follows/entries.ts";
import { readSubject } from "../../src/features/follows/subjects.ts";
import { createFollower, follow } from "./follows-ground.ts";
import { freshId } from "./workflows-ground.ts";

test("a link that staff submit as evidence is compared with the invites and domains of followed lists, and a message is not", async () => {
  const follower = await createFollower();
  const { world, admin } = follower;
  world.guild.allowCommands([world.guild.everyoneRole]);
  const [viewer, id] = [await world.staff("viewer"), await follow(follower, { name: "Phish Watch", kind: "file" })];
  const records = [
    { kind: "domain", subject_id: "Free-Nitro.example.", number: "PW-1", category: "scam", severity: "critical" },
    { kind: "invite", subject_id: "RaidHub", number: "PW-2", category: "raiding", severity: "high" },
  ];
  expect((await world.put(`/lists/${id}/file`, { records }, { actor: admin })).status).toBe(200);
  const entries = (await world.get(`/lists/${id}/entries`, { actor: admin })).body.data;
  expect(entries.map(({ kind, subject_id: subject }: any) => [kind, subject])).toEqual([
    ["domain", "free-nitro.example"],
    ["invite", "RaidHub"],
  ]);
  const listed = await world.post("/blacklist", { kind: "user", subject_id: freshId(), category: "scam" }, { actor: admin });
  const path = `/blacklist/${listed.body.data.number as string}/evidence`;
  const add = async (body: object) => (await world.post(path, body, { actor: admin })).body.data;
  const found = async (piece: { id: string }, actor = admin) =>
    (await world.get(`/evidence/${piece.id}`, { actor })).body.data.listed_links;

  const link = await add({ kind: "link", url: "https://login.FREE-nitro.example/claim?x=1" });
  expect(await found(link)).toMatchObject([
    {
      kind: "domain",
      subject: "free-nitro.example",
      listed_by: [{ list: "Phish Watch", number: "PW-1", category: "scam", severity: "critical" }],
    },
  ]);
  const note = await add({ kind: "text", note: "They all came from discord.gg/RaidHub last night." });
  expect(await found(note)).toMatchObject([{ kind: "invite", subject: "RaidHub" }]);
  // Another invite, a domain that only ends alike, and one below which the listed one is not.
  const others = await add({ kind: "text", note: "discord.gg/raidhub https://notfree-nitro.example https://free-nitro.example.org" });
  expect(await found(others)).toEqual([]);
  expect((await world.get(path, { actor: admin })).body.data.map((piece: any) => piece.listed_links.length)).toEqual([0, 1, 1]);
  const files = await world.slash(admin, "blacklist files", { record: listed.body.data.number });
  expect(files.replaceAll("\\", "")).toContain("free-nitro.example is listed by Phish Watch (PW-1)");
  // Who may not read the lists learns nothing of them.
  if ((await world.get(`/evidence/${link.id as string}`, { actor: viewer })).status === 200)
    expect(await found(link, viewer)).toBeUndefined();

  const adopting = await world.post(`/lists/${id}/entries/PW-1/adopt`, {}, { actor: admin });
  expect([adopting.status, adopting.body.code]).toEqual([409, "invalid_transition"]);
  const wrong = await world.put(`/lists/${id}/file`, { records: [{ kind: "domain", subject_id: "no domain" }] }, { actor: admin });
  expect(wrong.status).toBeGreaterThanOrEqual(400);
  expect((await world.get(`/lists/${id}/entries`, { actor: admin })).body.data).toHaveLength(2);
});

test("a domain is found in an address exactly where it, or one above it, stands in the host", () => {
  const label = fc.stringMatching(/^[a-z]([a-z0-9]{0,6}[a-z0-9])?$/);
  fc.assert(
    fc.property(fc.array(label, { minLength: 2, maxLength: 5 }), fc.webPath(), (labels, path) => {
      const host = labels.join(".");
      const { domain } = linksIn([`see https://${host.toUpperCase()}${path}`]);
      const above = labels.map((_, index) => labels.slice(index).join("."));
      expect(new Set(domain)).toEqual(new Set(above.filter((one) => isDeepStrictEqual(readSubject("domain", one), { subject: one }))));
    }),
  );
});
