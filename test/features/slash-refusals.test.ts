import { describe, expect, test } from "vitest";
import { ProblemError, type ProblemCode } from "../../src/kernel/errors.ts";
import { shareWorld, staffAtConsole } from "../contract/world.ts";
import { createWorld, type World } from "../support/world.ts";
import { filePunishment, reason } from "./review-ground.ts";
import { expectRefusal, flawsOf, give } from "./refusals-ground.ts";

const shared = shareWorld();

async function listed(world: World): Promise<{ id: string; number: string }> {
  const subject = world.member();
  const body = { kind: "user", subject_id: subject.id, category: "scam", severity: "low" };
  const made = await world.post("/blacklist", body, { actor: await world.staff("admin") });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  return { id: subject.id, number: made.body.data.number };
}

async function openCase(world: World): Promise<string> {
  const input = { title: "A case", type: "general", subjects: [{ kind: "user", id: world.member().id }] };
  const made = await world.post("/cases", input, { actor: await world.staff("admin") });
  expect(made.status, JSON.stringify(made.body)).toBe(201);
  return made.body.data.number;
}

describe("what was typed wrong", () => {
  test("is said once, by what was typed, with what to type instead", async () => {
    const { world } = shared;
    const person = await staffAtConsole(world, "admin");
    await expectRefusal(
      { world, person, words: "blacklist check", given: { ids: "rogue" } },
      "validation_failed",
      "`rogue` is not a Discord id. Use 17–20 digits, or pick the person with `user:`.",
      "`rogue` ist keine Discord-ID. Nimm 17–20 Ziffern, oder wähle die Person mit `user:` aus.",
    );
    await expectRefusal(
      { world, person, words: "blacklist check", given: { ids: `rogue ${world.member().id} pirate` } },
      "validation_failed",
      "`rogue`, `pirate` are not Discord ids. Use 17–20 digits, or pick people with `user:`.",
      "`rogue`, `pirate` sind keine Discord-IDs. Nimm 17–20 Ziffern, oder wähle Personen mit `user:` aus.",
    );
  });

  test("is named by its option, or by the label of its field in a form", async () => {
    const { world } = shared;
    const person = await staffAtConsole(world, "admin");
    await expectRefusal(
      { world, person, words: "case show", given: { case: "somewhere" } },
      "validation_failed",
      "There is no `somewhere` here. Pick one of the suggestions.",
      "`somewhere` gibt es hier nicht. Wähle einen der Vorschläge.",
    );
    await expectRefusal(
      { world, person, words: "audit search", given: { from: "soon", to: "later" } },
      "validation_failed",
      "`from` (`soon`), `to` (`later`): Write a time such as `2026-12-24 18:00` (in UTC).",
      "`from` (`soon`), `to` (`later`): Schreib einen Zeitpunkt wie `2026-12-24 18:00` (in UTC).",
    );
    await expectRefusal(
      {
        world,
        person,
        words: "permission grant",
        given: { user: world.member(), permission: "cases.read", until: "2026-99-99", reason: "Now" },
      },
      "validation_failed",
      "`until` (`2026-99-99`): Write a time such as `2026-12-24 18:00` (in UTC).",
      "`until` (`2026-99-99`): Schreib einen Zeitpunkt wie `2026-12-24 18:00` (in UTC).",
    );
    const added = { user: world.member(), category: "scam", severity: "low" };
    const form = { "reason-public": "   " };
    await expectRefusal(
      { world, person, words: "blacklist add", given: added, form },
      "validation_failed",
      /^`[A-Z][^`_-]+`: This must not be empty\.$/,
      /^`[A-ZÄÖÜ][^`_-]+`: Das darf nicht leer sein\.$/,
    );
  });

  test("is not shown back where it could read as something else, and names the option then", async () => {
    const { world } = shared;
    const person = await staffAtConsole(world, "admin");
    for (const typed of ["<@&1>", "@everyone", "https://evil.example", "`x`"])
      await expectRefusal(
        { world, person, words: "case show", given: { case: typed } },
        "validation_failed",
        "`case`: Pick one of the suggestions.",
        "`case`: Wähle einen der Vorschläge.",
      );
  });

  test("is said to be too much where only one of two things can be given", async () => {
    const { world } = shared;
    const person = await staffAtConsole(world, "admin");
    const given = { case: await openCase(world), link: "https://example.org", reference: "CASE-000001" };
    await expectRefusal(
      { world, person, words: "case evidence", given },
      "validation_failed",
      "Leave out `reference`: it does not go with the rest.",
      "Lass `reference` weg: Das passt nicht zum Rest.",
    );
  });

  test("is the option to fill in, where nothing was given", async () => {
    const { world } = shared;
    const person = await staffAtConsole(world, "admin");
    await expectRefusal(
      { world, person, words: "blacklist check" },
      "validation_failed",
      "`user`: Name at least one user or server.",
      /^`user`: ./,
    );
  });
});

describe("a missing right", () => {
  test("is named with its title and its key, and whom to ask", async () => {
    const { world } = shared;
    const person = await staffAtConsole(world, "viewer");
    await expectRefusal(
      { world, person, words: "case open", given: { user: world.member(), title: "A case" } },
      "permission_denied",
      "You can't open cases here. Ask an admin for the permission *Open cases* (`cases.create`).",
      /^Du kannst hier nicht: .+\. Bitte einen Admin um das Recht \*.+\* \(`cases\.create`\)\.$/,
    );
  });

  test("of somebody who is no staff is not about one permission", async () => {
    const { world } = shared;
    const person = world.member();
    world.guild.setRoles(person, [world.guild.createRole("guest", { permissions: ["Administrator"] })]);
    await expectRefusal(
      { world, person, words: "staff list" },
      "acting_user_not_staff",
      /^You are not on the staff of Harbour\. Ask an admin if you should be\.\n/,
      /^Du gehörst nicht zum Team von Harbour\. Wende dich an einen Admin, falls das nicht stimmt\.\n/,
    );
  });

  test("is not given away by somebody who lacks it", async () => {
    const { world } = shared;
    const person = await staffAtConsole(world, "admin");
    const given = { user: await world.staff("viewer"), permission: "users.redact", reason: "For now" };
    await expectRefusal(
      { world, person, words: "permission grant", given },
      "cannot_grant_unheld",
      "You can't give away what you don't hold yourself: *Redact personal data* (`users.redact`). Ask somebody who holds it.",
      /^Was du selbst nicht hast, kannst du nicht vergeben: \*.+\* \(`users\.redact`\)\. Bitte jemanden darum, der es hat\.$/,
    );
  });

  test("over somebody who stands higher leads to those above", async () => {
    const { world } = shared;
    const person = await staffAtConsole(world, "admin");
    const given = { user: await world.staff("admin"), category: "scam", severity: "low" };
    await expectRefusal(
      { world, person, words: "blacklist add", given, form: { "reason-public": "Scammed." } },
      "hierarchy_violation",
      "They stand as high as you on the staff, or higher. Ask somebody above them.",
      "Die Person steht im Team so hoch wie du oder höher. Wende dich an jemanden, der über ihr steht.",
    );
  });

  test("to decide about one's own request leads to somebody else", async () => {
    const { world } = shared;
    const person = await staffAtConsole(world, "admin");
    const reference = await filePunishment(world, person);
    await expectRefusal({ world, person, words: "review approve", given: { reference } }, "conflict_of_interest", /somebody else/, /./);
  });
});

describe("what there is already", () => {
  test("is named: a record of the blacklist", async () => {
    const { world } = shared;
    const person = await staffAtConsole(world, "admin");
    const { id, number } = await listed(world);
    const given = { user: world.sandbox.inside.world.users.get(id)!, category: "scam", severity: "low" };
    await expectRefusal(
      { world, person, words: "blacklist add", given, form: { "reason-public": "Scammed." } },
      "duplicate_active_record",
      `This subject has an active record in this scope already. Look at \`${number}\`.`,
      new RegExp(`Sieh dir \`${number}\` an\\.$`),
    );
  });

  test("is not named to somebody who may not read the blacklist", async () => {
    const { world } = shared;
    const person = await staffAtConsole(world, "admin");
    const { id, number } = await listed(world);
    const overrides = [{ key: "blacklist.read", effect: "deny", reason: "For a while" }];
    const actor = await world.staff("owner");
    expect((await world.patch(`/permissions/users/${person.id}`, { overrides }, { actor })).status).toBe(200);
    const given = { user: world.sandbox.inside.world.users.get(id)!, category: "scam", severity: "low" };
    const said = await give({ world, person, words: "blacklist add", given, form: { "reason-public": "Scammed." } }, "en-US");
    expect(said).toBe(
      "This subject has an active record in this scope already.\n-# What you typed is in what-you-typed.txt.\n-# duplicate_active_record",
    );
    expect(said).not.toContain(number);
  });

  test("is named: an open request", async () => {
    const { world } = shared;
    const person = await staffAtConsole(world, "moderator");
    const subject = world.member();
    const reference = await filePunishment(world, person, subject);
    await expectRefusal(
      {
        world,
        person,
        words: "request punishment",
        given: { user: subject, action: "warning" },
        form: { reason: "Did the same once more." },
      },
      "duplicate_open",
      `There is an open request about this already: \`${reference}\`. Look at it with \`/review show\`.`,
      `Dazu gibt es schon einen offenen Antrag: \`${reference}\`. Sieh ihn dir mit \`/review show\` an.`,
    );
  });

  test("is said with its decision: a request that was decided", async () => {
    const { world } = shared;
    const person = await staffAtConsole(world, "admin");
    const decider = await world.staff("admin");
    const reference = await filePunishment(world, await world.staff("moderator"));
    const decided = await world.post(
      `/workflows/punishment/${reference}/decision`,
      { decision: "deny", reason: "Not enough was seen." },
      { actor: decider },
    );
    expect(decided.status, JSON.stringify(decided.body)).toBe(200);
    await expectRefusal(
      { world, person, words: "review deny", given: { reference } },
      "already_decided",
      new RegExp(`^This request was decided already: denied by <@${decider.id}>, <t:\\d+:R>\\.$`),
      new RegExp(`^Über diesen Antrag ist schon entschieden: abgelehnt, von <@${decider.id}>, <t:\\d+:R>\\.$`),
    );
  });
});

describe("what cannot be done now", () => {
  test("says how it stands", async () => {
    const { world } = shared;
    const person = await staffAtConsole(world, "admin");
    await expectRefusal(
      { world, person, words: "case reopen", given: { case: await openCase(world) }, form: { reason: "Once more." } },
      "invalid_transition",
      "That can't be done while it is *open*.",
      "Das geht nicht, solange der Stand *offen* ist.",
    );
  });

  test("says that there is nothing of this name that one may see", async () => {
    const { world } = shared;
    const person = await staffAtConsole(world, "admin");
    await expectRefusal(
      { world, person, words: "case show", given: { case: "CASE-999999" } },
      "record_not_found",
      "This does not exist, or you may not see it. Check what you named, or pick it from the suggestions.",
      "Das gibt es nicht, oder du darfst es nicht sehen. Prüfe, was du angegeben hast, oder wähle es aus den Vorschlägen.",
    );
  });

  test("names the command that helps", async () => {
    const { world } = shared;
    const person = await staffAtConsole(world, "admin");
    await expectRefusal(
      { world, person, words: "intel servers", given: { user: world.member() } },
      "authorization_required",
      "They have not given access to their servers, or it has ended. Ask them with `/intel authorize`.",
      /`\/intel authorize`/,
    );
  });

  test("says that a file cannot be read, or is no list", async () => {
    const { world } = shared;
    const person = await staffAtConsole(world, "admin");
    const file = { name: "list.csv", bytes: Buffer.from([0xff, 0xfe, 0xff]) };
    await expectRefusal(
      { world, person, words: "blacklist import", given: { file } },
      "malformed_request",
      "The file could not be read. Save it as plain text (UTF-8) and send it again.",
      "Die Datei ließ sich nicht lesen. Speichere sie als einfachen Text (UTF-8) und schick sie noch einmal.",
    );
  });

  test("says when to try again, after what was denied a while ago", async () => {
    const { world } = shared;
    const person = await staffAtConsole(world, "moderator");
    const subject = world.member();
    const listing = { category: "raid", severity: "high" };
    const body = { user_id: subject.id, ...listing, server_ids: [world.guild.id], reason };
    const { reference } = (await world.post("/workflows/blacklist-user", body, { actor: person })).body;
    const denial = { decision: "deny", reason: "Not enough was seen." };
    const actor = await world.staff("senior");
    expect((await world.post(`/workflows/blacklist-user/${reference}/decision`, denial, { actor })).body.status).toBe("denied");
    await expectRefusal(
      { world, person, words: "request blacklist-user", given: { user: subject, ...listing }, form: { reason } },
      "cooldown",
      /^This was denied a short while ago\.\nTry again <t:\d+:R>\.$/,
      /^.+\nVersuche es <t:\d+:R> noch einmal\.$/,
    );
  });
});

describe("what the service or Discord cannot do now", () => {
  const codes = [
    "internal_error",
    "discord_error",
    "discord_would_refuse",
    "storage_busy",
    "storage_full",
    "storage_readonly",
    "roster_stale",
    "discord_unavailable",
    "shutting_down",
    "overloaded",
    "timeout",
    "sync_in_progress",
    "rate_limited",
    "refresh_cooldown",
    "pool_exhausted",
    "member_not_in_guild",
    "last_owner",
    "precondition_failed",
    "unsupported_operation",
    "too_many_open_sessions",
    "invalid_cursor",
  ] as const satisfies readonly ProblemCode[];

  test("is said in a sentence of its own, in both languages, and once", async () => {
    let code: ProblemCode = "internal_error";
    const world = await createWorld({
      aroundVerbs: (verbs) => ({ ...verbs, run: () => Promise.reject(new ProblemError(code, { retryAfter: 3 })) }),
    });
    const person = await staffAtConsole(world, "admin");
    const said = new Set<string>();
    for (code of codes)
      for (const language of ["en-US", "de"] as const) {
        const answer = await give({ world, person, words: "staff list" }, language);
        expect.soft(flawsOf(answer, code), answer).toEqual([]);
        said.add(answer.split("\n")[0] ?? "");
      }
    expect(said.size).toBe(codes.length * 2);
  });
});

test("a permission is explained by its title, in one sentence where no rule spoke", async () => {
  const { world } = shared;
  const [person, subject] = [await staffAtConsole(world, "admin"), await world.staff("viewer")];
  const attempt = { world, person, words: "permission explain", given: { user: subject, permission: "cases.create" } };
  expect(await give(attempt, "en-US")).toBe(`<@${subject.id}> **can't** open cases (\`cases.create\`): No staff role of theirs allows it.`);
  expect(await give(attempt, "de")).toMatch(
    new RegExp(`^<@${subject.id}> \\*\\*kann nicht\\*\\*: .+ \\(\`cases\\.create\`\\): Keine Rolle`),
  );
  expect(await give({ ...attempt, given: { ...attempt.given, permission: "staff.read" } }, "en-US")).toMatch(
    /\*\*can\*\* list staff \(`staff\.read`\):\n\*\*1\. ✓/,
  );
});
