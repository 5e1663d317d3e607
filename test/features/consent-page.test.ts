// @module-tag sqlite
import { describe, expect, test } from "vitest";
import type { User } from "../../sandbox/index.ts";
import { createWorld, type World } from "../support/world.ts";

async function read(address: string): Promise<string> {
  const answer = await fetch(address);
  return (await answer.text())
    .replaceAll(/<(?:head|style)>[\s\S]*?<\/(?:head|style)>/g, "")
    .replaceAll(/<[^>]*>/g, "")
    .replaceAll("&#39;", "'")
    .replaceAll(/\s+/g, " ");
}

async function session(world: World, actor: User, person: Pick<User, "id">, input: object = {}): Promise<string> {
  const answer = await world.post("/authorize/sessions", { discord_user_id: person.id, ...input }, { actor });
  expect(answer.status, JSON.stringify(answer.body)).toBe(201);
  return answer.body.url;
}

/** Where the foot of a page leads. */
const hrefs = async (address: string): Promise<string[]> =>
  [...(await (await fetch(address)).text()).matchAll(/<footer>[\s\S]*<\/footer>/g)].flatMap(([footer]) =>
    [...footer.matchAll(/href="([^"]*)"/g)].map(([, href = ""]) => href),
  );

describe("the consent page", () => {
  test("says for which account the link is, who asks, how long it works, and what follows each answer", async () => {
    const world = await createWorld({ furtherGuilds: ["Lighthouse"] });
    const mona = await world.staff("senior", "Mona");
    const rogue = world.member("rogue");
    const address = await session(world, mona, rogue, { ttl_minutes: 15 });
    const text = await read(address);
    expect(text).toContain("Mona asks you for it on behalf of Harbour and Lighthouse, through world.");
    expect(text).toMatch(
      new RegExp(`This link is for @rogue \\(${rogue.id}\\)\\. It works for 15 minutes, until \\d+ \\w+ \\d{4} at \\d\\d:\\d\\d UTC\\.`),
    );
    expect(text).toContain("Nothing is read. The staff sees that you declined.");
    expect(text).toContain("Discord asks you to confirm. Nothing is read before that.");
    const german = await read(`${address}?locale=de`);
    expect(german).toContain("Mona bittet dich darum, im Namen von Harbour und Lighthouse und über world.");
    expect(german).toMatch(
      new RegExp(
        `gilt für @rogue \\(${rogue.id}\\)\\. Er funktioniert noch 15 Minuten, bis zum \\d+\\. \\S+ \\d{4} um \\d\\d:\\d\\d UTC\\.`,
      ),
    );
  });

  test("names an account that no server of the community knows by its id alone", async () => {
    const world = await createWorld();
    const mona = await world.staff("senior", "Mona");
    const stranger = world.sandbox.createUser("wanderer");
    const text = await read(await session(world, mona, stranger));
    expect(text).toContain(`This link is for the account ${stranger.id}.`);
    expect(text).not.toContain("wanderer");
  });

  test("counts down the minutes, and never says none", async () => {
    let offset = 0;
    const world = await createWorld({ clock: { now: () => new Date(Date.now() + offset) } });
    const mona = await world.staff("senior", "Mona");
    const address = await session(world, mona, world.member("ann"), { ttl_minutes: 5 });
    for (const [seconds, words] of [
      [0, "for 5 minutes"],
      [130, "for 3 minutes"],
      [290, "for 1 minute,"],
    ] as const) {
      offset = seconds * 1000;
      expect(await read(address)).toContain(words);
    }
  });

  test("names no server that is only on the blacklist or only has the bot", async () => {
    const world = await createWorld();
    const [mona, admin] = [await world.staff("senior", "Mona"), await world.staff("admin")];
    const quarry = world.sandbox.createGuild({ name: "Quarry" });
    world.sandbox.createGuild({ name: "Den" });
    const listing = { kind: "server", subject_id: quarry.id, subject_name: "Quarry", category: "raiding", severity: "high" };
    expect((await world.post("/blacklist", listing, { actor: admin })).status).toBe(201);
    const rogue = world.member("rogue");
    quarry.addMember(rogue);
    const text = await read(await session(world, mona, rogue));
    expect(text).toContain("on behalf of Harbour, through");
    expect(text).not.toMatch(/Quarry|Den\b/);
  });

  test("shows a stranger with the link nothing that is stored about the person", async () => {
    const world = await createWorld();
    const [mona, admin] = [await world.staff("senior", "Mona"), await world.staff("admin")];
    const rogue = world.member("rogue");
    const cove = world.sandbox.createGuild({ name: "Smugglers Cove", withBot: false });
    cove.addMember(rogue);
    await world.sandbox.as(rogue).authorize(await session(world, mona, rogue), { approve: true });
    const listing = { kind: "user", subject_id: rogue.id, category: "scam", severity: "high", reason_public: "Sold fake tickets." };
    const listed = await world.post("/blacklist", listing, { actor: admin });
    expect(listed.status).toBe(201);
    const address = await session(world, mona, rogue);
    const text = await read(address);
    for (const secret of ["Smugglers Cove", "Sold fake tickets", listed.body.data?.number ?? listed.body.number, "scam"])
      expect(text).not.toContain(secret);
    await world.sandbox.as(rogue).authorize(address, { approve: false, at: "backend" });
    expect(await read(address)).not.toMatch(/rogue|Mona|Harbour/);
  });
});

describe("whom to ask", () => {
  const paths = ["/privacy", "/authorize/result/expired", "/nowhere", "/problems/rate_limited", "/"];
  const documentInfo = async ({ url }: World): Promise<Record<string, unknown>> => {
    const document = (await (await fetch(`${url}/openapi.json`)).json()) as { info: Record<string, unknown> };
    return document.info;
  };
  const asPage = async (address: string): Promise<string> => {
    const answer = await fetch(address, { headers: { accept: "text/html" } });
    return answer.text();
  };

  test("is on every page what the operator says, and in the OpenAPI document", async () => {
    const world = await createWorld({
      env: { OPERATOR_NAME: 'Harbour & "Sons"', CONTACT_URL: "https://harbour.example/contact?from=a&to=b" },
    });
    const mona = await world.staff("senior", "Mona");
    const consent = await session(world, mona, world.member("ann"));
    for (const address of [consent, ...paths.map((path) => `${world.url}${path}`)]) {
      const text = await asPage(address);
      expect([address, text.includes("<strong>Harbour &amp; &quot;Sons&quot;</strong> runs this service.")]).toEqual([address, true]);
      expect([address, text.includes('<a href="https://harbour.example/contact?from=a&amp;to=b" rel="noreferrer">')]).toEqual([
        address,
        true,
      ]);
      expect(text).not.toContain("Ask the staff");
    }
    expect((await documentInfo(world))["contact"]).toEqual({
      name: 'Harbour & "Sons"',
      url: "https://harbour.example/contact?from=a&to=b",
    });
  });

  test("can be an address of e-mail, which the page shows", async () => {
    const world = await createWorld({ env: { CONTACT_URL: "mailto:staff@harbour.example" } });
    expect(await hrefs(`${world.url}/privacy`)).toContain("mailto:staff@harbour.example");
    expect(await read(`${world.url}/privacy?locale=de`)).toContain("Fragen? Schreib an staff@harbour.example.");
    expect((await documentInfo(world))["contact"]).toEqual({ email: "staff@harbour.example" });
  });

  test("is the staff where the operator says nothing", async () => {
    const world = await createWorld();
    for (const path of paths) expect(await asPage(`${world.url}${path}`)).toContain("Ask the staff of the community that sent you here.");
    expect(await documentInfo(world)).not.toHaveProperty("contact");
  });
});

describe("the privacy page", () => {
  test("says what is stored without words of ours, and names servers and people", async () => {
    const world = await createWorld();
    const mona = await world.staff("senior", "Mona");
    const ann = world.sandbox.createUser("ann");
    world.sandbox.createGuild({ name: "Sunday Sailors", owner: ann, withBot: false });
    await world.sandbox.as(ann).authorize(await session(world, mona, ann), { approve: true });
    await world.get(`/users/${ann.id}/servers`, { actor: mona });
    await expect.poll(() => world.app.database.read.dataRead.count()).toBeGreaterThan(0);
    const page = await world.sandbox.as(ann).authorize(`${world.url}/privacy`, { approve: true });
    expect(page.body).toContain(`You are signed in as <code>${ann.id}</code>.`);
    expect(page.body).toContain("Sunday Sailors (it is yours)");
    expect(page.body).toContain("Mona: your servers");
    const text = page.body.replaceAll(/<(code|head)>[\s\S]*?<\/\1>/g, " ").replaceAll(/<[^>]*>/g, " ");
    const ours = /\b(grants?|sessions?|sealed|hits?|purged?|payload|audit|matches|snowflake|token)\b|\b[a-z]+[_.][a-z]+\b/gi;
    expect(text.replaceAll("&#39;", "'").match(ours) ?? []).toEqual([]);
    for (const button of ["Download", "Take my consent back", "Delete", "Sign out"]) expect(page.body).toContain(button);
    expect(text).toContain("Afterwards nothing more is read from Discord, and what was read is deleted at once.");
  });
});
