// @module-tag slow
import { describe, expect, test } from "vitest";
import { staffAtConsole } from "../contract/world.ts";
import { acted, openCase, reason } from "./cases-actions.setup.ts";
import { createAppealsGround as createGround, file, grounds, sendTo } from "./appeals-ground.ts";

describe("the page of appeals", () => {
  test("an appeal is filed with answers and files, which staff see, and a form that lacks something comes back as it was typed", async () => {
    const ground = await createGround();
    const { world, punish, signIn, send, open, appeals } = ground;
    const admin = await staffAtConsole(world, "owner");
    const questions = [{ question: "What happened?", required: true }, { question: "Anything else?" }];
    expect((await world.put("/appeals/questions", { questions }, { actor: admin, headers: { "if-match": '"v1"' } })).status).toBe(200);
    const ann = world.member("Ann");
    const reference = await punish(ann);
    const browser = await signIn(ann);
    const form = await open(`/appeal/decision/${reference}`, browser);
    expect(form.text).toContain("What happened?");
    expect(form.text).toMatch(/By the staff of<\/dt>\s*<dd>Harbour<\/dd>/);
    const outdated = await send(sendTo(reference), browser);
    expect([outdated.status, outdated.text.includes("The questions have changed meanwhile.")]).toEqual([422, true]);

    const missing = await send(sendTo(reference), browser, {
      texts: { revision: "2", grounds: "Too short.", "answer-1": "<b>Nothing</b>" },
    });
    expect(missing.status).toBe(422);
    for (const said of ["This is needed.", "Write at least 20 characters.", "Too short.", "&lt;b&gt;Nothing&lt;/b&gt;"])
      expect(missing.text).toContain(said);
    expect(await appeals()).toEqual([]);

    const texts = { revision: "2", "answer-0": "Somebody else wrote it." };
    const files = [file("proof.png"), file("log.txt", "It was not me.")];
    expect((await send(sendTo(reference), browser, { texts, files })).status).toBe(303);
    const [row] = await appeals();
    const name = row?.reference ?? "";
    const view = (await world.get(`/workflows/appeal/${name}`, { actor: admin })).body.data;
    expect(view.payload).toMatchObject({
      target: reference,
      grounds,
      answers: [{ question: "What happened?", answer: "Somebody else wrote it." }],
    });
    expect([view.requester.id, view.requested_via, view.revision]).toEqual([ann.id, "web", 1]);
    const pieces = (await world.get(`/workflows/appeal/${name}/evidence`, { actor: admin })).body.data;
    const kept = pieces.map((one: { id: string; file: { name: string; mime: string } }) => [one.id, one.file.name, one.file.mime]);
    expect(kept.map(([, ...rest]: string[]) => rest)).toEqual(
      expect.arrayContaining([
        ["log.txt", "text/plain"],
        ["proof.png", "image/png"],
      ]),
    );
    expect(view.evidence.map((one: { record_ref: string }) => one.record_ref).toSorted()).toEqual(
      kept.map(([id]: string[]) => id).toSorted(),
    );
  });

  test("a decision about somebody else answers as none at all, and so does what the person is not told of", async () => {
    const { world, punish, signIn, open, send, appeals } = await createGround();
    const [ann, ben] = [world.member("Ann"), world.member("Ben")];
    const [foreign, note] = [await punish(ben), await punish(ann, { action: "note" })];
    const browser = await signIn(ann);
    const without = (text: string, name: string) => text.replaceAll(name, "…");
    const nothing = await open("/appeal/decision/PUN-REQ-999999", browser);
    expect(nothing.status).toBe(404);
    for (const name of [foreign, note]) {
      const shown = await open(`/appeal/decision/${name}`, browser);
      expect([shown.status, without(shown.text, name)]).toEqual([404, without(nothing.text, "PUN-REQ-999999")]);
      expect((await send(sendTo(name), browser)).status).toBe(404);
    }
    expect(browser.body).toContain("Nothing was decided about you");
    expect(await appeals()).toEqual([]);
    const stranger = await signIn(ben);
    expect((await send(sendTo(foreign), stranger)).status).toBe(303);
    const [own] = await appeals();
    expect((await open(`/appeal/status/${own?.reference ?? ""}`, browser)).status).toBe(404);
    expect((await open(`/appeal/status/${own?.reference ?? ""}`, stranger)).status).toBe(200);
  });

  test("the message about /ban leads to it, and a ban that was lifted again is nothing to appeal", async () => {
    const { world, signIn, open, send, appeals } = await createGround();
    const [admin, other] = [await staffAtConsole(world, "admin"), await staffAtConsole(world, "admin")];
    const ann = world.member("Ann");
    await world.put(`/guilds/${world.guild.id}/direct`, { ban: { level: "admin" } }, { actor: await world.staff("owner") });
    const name = (said: string): string => /PUN-REQ-\d+/.exec(said.replaceAll("\\", ""))?.[0] ?? said;
    const ban = name(await world.slash(admin, "ban", { user: ann, reason: "Raided #general with three accounts.", duration: "2 weeks" }));
    await world.sandbox.waitFor(() => world.sandbox.directMessages(ann).length > 0, 60_000);
    expect(world.sandbox.directMessages(ann)[0]?.content).toContain(`[appeal](${world.url}/appeal?reference=${ban})`);
    const unban = name(await world.slash(other, "unban", { user: ann, reason: "It was somebody else's account." }));
    const browser = await signIn(ann);
    expect([browser.body.includes(ban), browser.body.includes(unban)]).toEqual([true, false]);
    expect((await open(`/appeal/decision/${unban}`, browser)).status).toBe(404);
    expect([(await send(sendTo(unban), browser)).status, (await send(sendTo(ban), browser)).status]).toEqual([404, 303]);
    expect((await appeals()).map(({ payload }) => payload)).toEqual([expect.objectContaining({ target: ban })]);
  });

  test("what is recorded in a case without a request can be appealed too, but for notes and what is confidential", async () => {
    const { world, judge, decide, signIn, send, appeals } = await createGround();
    const [ann, senior] = [world.member("Ann"), await world.staff("admin")];
    const { id, number } = await openCase(world, senior, { about: [ann.id] });
    const hidden = await openCase(world, await world.staff("owner"), { about: [ann.id], confidential: true });
    const warning = await acted(world, senior, id, { kind: "warning", points: 1 });
    const others = [
      await acted(world, senior, id, { kind: "note", points: 0 }),
      await acted(world, await world.staff("owner"), hidden.id, { kind: "warning" }),
    ];
    const browser = await signIn(ann);
    expect([browser.body.includes(number), browser.body.match(/\/appeal\/decision\//g)?.length, browser.body.includes(reason)]).toEqual([
      true,
      1,
      false,
    ]);
    for (const one of others) expect((await send(sendTo(one.id), browser)).status).toBe(404);
    expect((await send(sendTo(warning.id), browser)).status).toBe(303);
    const [row] = await appeals();
    await decide("appeal", row?.reference ?? "", { decision: "overturn", reason: "It was somebody else." }, judge);
    const voided = await world.app.database.read.caseAction.findUniqueOrThrow({ where: { id: warning.id } });
    expect(voided.voidedAt).not.toBeNull();
  });

  test("without the sign-in of this very browser, or from another site, nothing is filed and nothing is told", async () => {
    const { world, punish, signIn, open, send, appeals, forward } = await createGround();
    const ann = world.member("Ann");
    const reference = await punish(ann);
    const browser = await signIn(ann);
    const forged = { cookie: `provost-appeal=${"x".repeat(43)}`, token: browser.token };
    const page = await open(`/appeal/decision/${reference}`, forged);
    expect([page.status, page.text.includes("Sign in with Discord"), page.text.includes("Spam")]).toEqual([200, true, false]);
    expect([
      (await send(sendTo(reference), forged)).status,
      (await send(sendTo(reference), { ...browser, token: "x".repeat(43) })).status,
    ]).toEqual([401, 403]);
    for (const headers of [{ "sec-fetch-site": "cross-site", origin: "https://evil.example" }, { "sec-fetch-site": "same-site" }] as Record<
      string,
      string
    >[])
      expect((await send(sendTo(reference), browser, { headers })).status).toBe(403);
    // Signed in at the page of their own data, they are nobody here.
    const privacy = await world.sandbox.as(ann).authorize(`${world.url}/privacy`, { approve: true });
    const other = `provost-appeal=${privacy.cookies["provost-privacy"] ?? ""}`;
    expect((await send(sendTo(reference), { ...browser, cookie: other })).status).toBe(401);
    forward(3601);
    const expired = await send(sendTo(reference), browser);
    expect([expired.status, expired.text.includes(grounds)]).toEqual([401, true]);
    expect(await appeals()).toEqual([]);
  });

  test("without PUBLIC_URL it says whom to write to, and messages do not lead to it", async () => {
    const ground = await createGround({ PUBLIC_URL: "", CONTACT_URL: "https://harbour.example/contact" });
    const { world, punish, open } = ground;
    const page = await open("/appeal?reference=PUN-REQ-000001");
    expect(page.status).toBe(200);
    expect(page.text).toContain("Appeals on this page are not set up");
    expect(page.text).toContain('href="https://harbour.example/contact"');
    expect((await open("/")).text).not.toContain("/appeal");
    const ann = world.member("Ann");
    await punish(ann);
    await world.sandbox.waitFor(() => world.sandbox.directMessages(ann).length > 0, 60_000);
    expect(world.sandbox.directMessages(ann)[0]?.content).not.toContain("/appeal");
  });
});

describe("an appeal in Discord", () => {
  test("needs neither a role on the staff nor a consent, and holds for one's own decisions alone", async () => {
    const { world, punish, appeals } = await createGround();
    const [ann, ben] = [world.member("Ann"), world.member("Ben")];
    const [own, foreign] = [await punish(ann), await punish(ben)];
    const members = world.guild.createRole("appellants");
    world.guild.allowCommands([members], "request");
    world.guild.setRoles(ann, [members]);
    const ask = world.sandbox.as(ann).in(world.guild);
    const refused = await (await ask.runSlashCommand("request appeal", { target: foreign })).submitModal({ grounds });
    expect((await refused.reply()).content).toContain("There is nothing about you under this name.");
    const sent = await (await ask.runSlashCommand("request appeal", { target: own })).submitModal({ grounds });
    expect((await sent.reply()).content).toMatch(/APL.+REQ.+\d{6}/);
    expect((await appeals()).map(({ requesterId }) => requesterId)).toEqual([ann.id]);
    const again = await (await ask.runSlashCommand("request appeal", { target: own.toLowerCase() })).submitModal({ grounds });
    expect((await again.reply()).content).toContain("duplicate_open");
  });
});
