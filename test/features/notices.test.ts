import { describe, expect, test } from "vitest";
import { createNoticeTexts } from "../../src/features/workflows/commands/notices.ts";
import type { User } from "../../sandbox/index.ts";
import { freshId } from "../contract/document.ts";
import { shareWorld, staffAtConsole } from "../contract/world.ts";

const shared = shareWorld({ furtherGuilds: ["Annex"] });
const day = 86_400_000;
const internal = "The third report was by a friend.";
const filed = "A secret of the staff, for nobody else.";
const publicReason = "Spam in #trade, *again*. <@80351110224678912>";
/** As Discord shows it: without formatting, and alerting nobody. */
const shownReason = String.raw`Spam in \#trade, \*again\*. \<\@80351110224678912\>`;

/** People of a world whose server states a language. */
async function scene(locale: string) {
  const { world } = shared;
  world.guild.setPreferredLocale(locale);
  await world.sandbox.waitFor(() => world.app.guildState.preferredLocale(world.guild.id) === locale);
  const [filer, ...deciders] = [await world.staff("senior"), await world.staff("owner"), await world.staff("owner")];
  const [channel] = [world.guild.createChannel("reports")];
  const origin = { guild_id: world.guild.id, channel_id: channel.id };

  async function decide(kind: string, reference: string, body: object, wanted: string, by: readonly User[] = deciders): Promise<void> {
    for (const actor of by) {
      const answer = await world.post(`/workflows/${kind}/${reference}/decision`, body, { actor });
      expect(answer.status, JSON.stringify(answer.body)).toBe(200);
      if (answer.body.status === wanted) return;
    }
    throw new Error(`${reference} is not ${wanted}`);
  }

  return {
    world,
    filer,
    deciders,
    async file(kind: string, body: object): Promise<string> {
      const answer = await world.post(`/workflows/${kind}`, { ...body, origin }, { actor: filer });
      expect(answer.status, JSON.stringify(answer.body)).toBe(201);
      return answer.body.reference;
    },
    approve: (kind: string, reference: string, reason: string = publicReason) =>
      decide(kind, reference, { decision: "approve", reason, reason_internal: internal }, "approved"),
    decide,
    /** The message with a number, from 0, without what differs from day to day. */
    async message(user: Pick<User, "id">, index = 0): Promise<string> {
      const messages = () => world.sandbox.directMessages(user);
      await world.sandbox.waitFor(() => messages().length > index, 60_000);
      const { content } = messages()[index] ?? { content: "" };
      for (const secret of [internal, filed, filer.id, filer.username, ...deciders.flatMap(({ id, username }) => [id, username])])
        expect(content).not.toContain(secret);
      return content.replaceAll(/<t:\d+:(\w)>/g, "<$1>");
    },
  };
}

describe.each(["en-US", "de"])("a message in a server that states %s", (locale) => {
  const german = locale === "de";

  test("says who warned somebody, why, how much it counts until when, how to appeal, and the reference last", async () => {
    const { world, file, approve, message } = await scene(locale);
    const member = world.member();
    const about = { user_id: member.id, action: "warning", points: 1, duration: "P7D", reason: filed };
    const reference = await file("punishment", about);
    const before = Date.now();
    await approve("punishment", reference);
    expect(await message(member)).toBe(
      german
        ? [
            `Du wurdest von **Harbour** verwarnt: *${shownReason}*. Das zählt 1 Punkt bis zum <D>.`,
            "Du kannst bis zum <D> Einspruch einlegen: Schreib an jemanden aus dem Team von **Harbour** und nenne die Kennung unten.",
            `Kennung \`${reference}\``,
          ].join("\n")
        : [
            `**Harbour** warned you: *${shownReason}*. This counts 1 point until <D>.`,
            "You can appeal until <D>: write to somebody on the staff of **Harbour** and name the reference below.",
            `Reference \`${reference}\``,
          ].join("\n"),
    );
    const [counts = 0, appeal = 0] = [...(world.sandbox.directMessages(member)[0]?.content ?? "").matchAll(/<t:(\d+):D>/g)].map(
      ([, at]) => Number(at) * 1000,
    );
    expect(Math.abs(counts - before - 7 * day)).toBeLessThan(60_000);
    expect(Math.abs(appeal - before - 30 * day)).toBeLessThan(60_000);
  });

  test("says how long somebody is suspended from the staff, and whom to write to, as no command is left to them", async () => {
    const { world, file, approve, message } = await scene(locale);
    const member = await world.staff("moderator");
    const reference = await file("punishment", { user_id: member.id, action: "suspension", duration: "P7D", reason: filed });
    await approve("punishment", reference);
    expect(await message(member)).toBe(
      german
        ? [
            `Du bist vom Team von **Harbour** suspendiert: *${shownReason}*. Das gilt 7 Tage, bis zum <D>.`,
            "Du kannst bis zum <D> Einspruch einlegen: Schreib an jemanden aus dem Team von **Harbour** und nenne die Kennung unten.",
            `Kennung \`${reference}\``,
          ].join("\n")
        : [
            `You are suspended from the staff of **Harbour**: *${shownReason}*. It lasts 7 days, until <D>.`,
            "You can appeal until <D>: write to somebody on the staff of **Harbour** and name the reference below.",
            `Reference \`${reference}\``,
          ].join("\n"),
    );
  });

  test("names to somebody on the staff the command that appeals, which works for them", async () => {
    const { world, file, approve, message } = await scene(locale);
    const member = await staffAtConsole(world, "moderator");
    const reference = await file("punishment", { user_id: member.id, action: "strike", points: 1, reason: filed });
    await approve("punishment", reference);
    expect((await message(member)).split("\n")[1]).toBe(
      german
        ? "Du kannst bis zum <D> Einspruch einlegen: mit `/request appeal` in **Harbour** und der Kennung unten."
        : "You can appeal until <D>: use `/request appeal` in **Harbour** with the reference below.",
    );
    const run = await world.sandbox.as(member).in(world.guild).runSlashCommand("request appeal", { target: reference });
    const sent = await run.submitModal({ grounds: "I was on holiday when it happened." });
    expect((await sent.reply()).content).toMatch(/\bAPL.+REQ.+\d{6}\b/);
  });

  test("names the servers somebody is banned from, unless the decision leaves the ban out", async () => {
    const { world, file, approve, decide, message } = await scene(locale);
    const [banned, spared] = [world.member(), world.member()];
    const about = { action: "strike", points: 2, reason: filed, discord: { action: "ban", everywhere: true } };
    await approve("punishment", await file("punishment", { user_id: banned.id, ...about }));
    const first = german
      ? `Du hast von **Harbour** einen Verwarnungspunkt bekommen: *${shownReason}*. Das zählt 2 Punkte und verfällt nicht.`
      : `**Harbour** gave you a strike: *${shownReason}*. This counts 2 points and does not expire.`;
    const bans = german ? "Du wirst aus **Harbour** und **Annex** gebannt." : "You are banned from **Harbour** and **Annex**.";
    expect((await message(banned)).split("\n").slice(0, 2)).toEqual([first, bans]);
    const reference = await file("punishment", { user_id: spared.id, ...about });
    await decide("punishment", reference, { decision: "approve", effects: { "discord.punish": false } }, "approved");
    const said = await message(spared);
    expect(said).not.toContain("Annex");
    expect(said.split("\n")[0]).toBe(
      german
        ? "Du hast von **Harbour** einen Verwarnungspunkt bekommen. Das zählt 2 Punkte und verfällt nicht."
        : "**Harbour** gave you a strike. This counts 2 points and does not expire.",
    );
  });

  test("tells somebody that a decision about them was taken back, and why", async () => {
    const { world, file, approve, decide, message } = await scene(locale);
    const member = world.member();
    const reference = await file("punishment", { user_id: member.id, action: "warning", reason: filed });
    await approve("punishment", reference);
    await message(member);
    const others = [await world.staff("owner"), await world.staff("owner")];
    const reversal = { decision: "reverse", reason: "It was *somebody* else.", reason_internal: internal };
    await decide("punishment", reference, reversal, "reversed", others);
    expect(await message(member, 1)).toBe(
      german
        ? [
            "Diese Entscheidung von **Harbour** über dich wurde zurückgenommen: Warnung. Sie gilt nicht mehr.",
            String.raw`> It was \*somebody\* else.`,
            `Kennung \`${reference}\``,
          ].join("\n")
        : [
            "**Harbour** took back this decision about you: warning. It no longer counts.",
            String.raw`> It was \*somebody\* else.`,
            `Reference \`${reference}\``,
          ].join("\n"),
    );
  });

  test("warns the owner of a server by its name, with what is asked of them", async () => {
    const { world, file, approve, message } = await scene(locale);
    const [serverId, owner] = [freshId(), world.member()];
    const server = { id: serverId, name: "Foes *&* Sons", owner_user_id: owner.id };
    expect((await world.post("/servers", server, { actor: await world.staff("admin") })).status).toBe(201);
    const reference = await file("poach", {
      kind: "report",
      offending_server_id: serverId,
      victim_server_id: world.guild.id,
      offender_user_ids: [freshId()],
      occurred_at: "2026-11-20T10:00:00.000Z",
      reason: filed,
    });
    await approve("poach", reference);
    const named = `**Foes \\*&\\* Sons** (\`${serverId}\`)`;
    expect(await message(owner)).toBe(
      german
        ? [
            `Das Team von **Harbour** schreibt dir, weil dir der Server ${named} gehört. Leute von deinem Server haben Mitglieder von **Harbour** abgeworben: *${shownReason}*.`,
            "Bitte sorge dafür, dass das nicht wieder vorkommt.",
            "Bei Fragen schreib an jemanden aus dem Team von **Harbour** und nenne die Kennung unten.",
            `Kennung \`${reference}\``,
          ].join("\n")
        : [
            `**Harbour** writes to you as the owner of the server ${named}. People from your server recruited members of **Harbour**: *${shownReason}*.`,
            "Please make sure that this does not happen again.",
            "If you have questions, write to somebody on the staff of **Harbour** and name the reference below.",
            `Reference \`${reference}\``,
          ].join("\n"),
    );
  });

  test("welcomes somebody to the staff with their role and their trial", async () => {
    const { world, file, approve, message } = await scene(locale);
    const member = world.member();
    const reference = await file("recruitment", { user_id: member.id, position: "moderator", trial_days: 14, reason: filed });
    await approve("recruitment", reference, "Welcome aboard.");
    expect(await message(member)).toBe(
      german
        ? [
            "Willkommen im Team von **Harbour**: Du wurdest als moderator aufgenommen: *Welcome aboard*.",
            "Deine Probezeit dauert 14 Tage, bis zum <D>.",
            "Mit `/help` siehst du in **Harbour**, was du dort tun kannst.",
            `Kennung \`${reference}\``,
          ].join("\n")
        : [
            "Welcome to the staff of **Harbour**: you were accepted as moderator: *Welcome aboard*.",
            "Your trial lasts 14 days, until <D>.",
            "Type `/help` in **Harbour** to see what you can do there.",
            `Reference \`${reference}\``,
          ].join("\n"),
    );
  });

  test("asks a requester the questions, and tells them what was decided", async () => {
    const { world, filer, deciders, file, decide } = await scene(locale);
    const listing = { category: "raid", severity: "medium", reason: filed, server_ids: [world.guild.id] };
    const reference = await file("blacklist-user", { user_id: freshId(), ...listing });
    await decide("blacklist-user", reference, { decision: "request_info", questions: ["Which *server*?"] }, "needs_info");
    await world.post(
      `/workflows/blacklist-user/${reference}/decision`,
      { decision: "provide_info", answer: "This one." },
      { actor: filer },
    );
    await decide("blacklist-user", reference, { decision: "deny", reason: "That is not enough.", reason_internal: internal }, "denied");
    const messages = () => world.sandbox.directMessages(filer).map(({ content }) => content);
    await world.sandbox.waitFor(() => messages().length === 2, 60_000);
    expect(messages()).toEqual(
      german
        ? [
            [
              "Zu deinem Antrag (Sperrung einer Person) gibt es Rückfragen von **Harbour**.",
              String.raw`- Which \*server\*?`,
              "Antworte mit `/request answer` in **Harbour**.",
              `Kennung \`${reference}\``,
            ].join("\n"),
            `Dein Antrag (Sperrung einer Person) wurde von **Harbour** abgelehnt: *That is not enough*.\nKennung \`${reference}\``,
          ]
        : [
            [
              "**Harbour** has questions about your request (user blacklisting).",
              String.raw`- Which \*server\*?`,
              "Answer with `/request answer` in **Harbour**.",
              `Reference \`${reference}\``,
            ].join("\n"),
            `**Harbour** denied your request (user blacklisting): *That is not enough*.\nReference \`${reference}\``,
          ],
    );
    for (const { id, username } of deciders)
      for (const secret of [id, username, internal]) expect(messages().join("\n")).not.toContain(secret);
  });

  test("hands on what staff write to a requester, without who wrote it", async () => {
    const { world, filer, deciders, file } = await scene(locale);
    const listing = { category: "raid", severity: "medium", reason: filed, server_ids: [world.guild.id] };
    const reference = await file("blacklist-user", { user_id: freshId(), ...listing });
    const comment = { body: "Have you seen **this**?", visibility: "requester" };
    const path = `/workflows/blacklist-user/${reference}/comments`;
    expect((await world.post(path, comment, { actor: deciders[0] })).status).toBe(201);
    await world.sandbox.waitFor(() => world.sandbox.directMessages(filer).length > 0, 60_000);
    const [said] = world.sandbox.directMessages(filer).map(({ content }) => content);
    const [head, answer, name] = german
      ? [
          "Zu deinem Antrag (Sperrung einer Person) gibt es eine Nachricht von **Harbour**:",
          "Antworte mit `/request comment` in **Harbour**.",
          "Kennung",
        ]
      : ["**Harbour** wrote to you about your request (user blacklisting):", "Answer with `/request comment` in **Harbour**.", "Reference"];
    expect(said).toBe([head, String.raw`Have you seen \*\*this\*\*?`, answer, `${name} \`${reference}\``].join("\n"));
  });
});

describe("the words of messages", () => {
  const guilds = (...names: string[]) =>
    names.map((name, index) => ({ id: index.toString(), name, icon: null, ownerId: null, present: true, syncedAt: null }));
  const guildState = (locale: string | undefined, ...names: string[]) => ({
    guilds: () => guilds(...names),
    preferredLocale: () => locale,
  });
  const warning = {
    reference: "PUN-REQ-000002",
    guildId: undefined,
    reason: null,
    action: "warning",
    role: undefined,
    points: 0,
    length: null,
    until: null,
    discord: null,
    appealUntil: new Date(0),
    hasCommands: false,
  } as const;

  test("lead to the contact that the operator names, by its link where there is one", () => {
    const linked = createNoticeTexts({
      guildState: guildState(undefined, "Harbour"),
      operator: { name: null, contact: "https://harbour.example/appeal" },
    });
    expect(linked.punishment(warning).content).toContain("You can [appeal](https://harbour.example/appeal) until <t:0:D>");
    const mail = { name: null, contact: "mailto:appeals@harbour.example" };
    const named = createNoticeTexts({ guildState: guildState("de", "Harbour"), operator: mail });
    expect(named.punishment(warning).content).toContain(String.raw`Schreib an appeals\@harbour.example`);
  });

  test("are English for a language without texts, and name at most three servers", () => {
    const { content } = createNoticeTexts({ guildState: guildState("fr", "A", "B", "C", "D") }).punishment(warning);
    expect(content.split("\n")[0]).toBe("**A**, **B**, **C**, and others warned you.");
    const mixed = { ...guildState(undefined, "A", "B"), preferredLocale: (id: string) => (id === "0" ? "en-US" : "de") };
    expect(createNoticeTexts({ guildState: mixed }).punishment(warning).content).toContain("**A** and **B** warned you.");
    expect(createNoticeTexts({ guildState: guildState(undefined) }).punishment(warning).content).toContain("The community warned you.");
  });

  test("keep the reference and the way to appeal, however long the reason and the questions are", () => {
    const notices = createNoticeTexts({ guildState: guildState(undefined, "*".repeat(100), "_".repeat(100), "~".repeat(100)) });
    const { content, amends } = notices.punishment({ ...warning, reason: "*".repeat(1000), points: 3 });
    const asked = notices.requester({
      reference: "BLU-REQ-000001",
      guildId: undefined,
      reason: "_".repeat(1000),
      kind: "blacklist-user",
      status: "needs_info",
      questions: Array.from({ length: 5 }, () => "#".repeat(500)),
      message: "@".repeat(1000),
    });
    const comment = notices.comment({ reference: "BLU-REQ-000001", guildId: undefined, kind: "blacklist-user", body: "`".repeat(4000) });
    for (const text of [content, asked, comment, notices.withReason(amends, { guildId: undefined, reason: "*".repeat(1000) })]) {
      expect(text.length).toBeLessThanOrEqual(2000);
      expect(text).toMatch(/Reference `[A-Z]+-REQ-\d{6}`$/);
    }
    expect(content).toContain("You can appeal until");
    expect(asked).toContain("`/request answer`");
  });
});
