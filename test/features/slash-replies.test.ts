import { commandTable } from "../../src/features.ts";
import { describe, expect, test } from "vitest";
import { commandPayloads } from "../../src/commands/payloads.ts";
import { translator } from "../../src/kit/say.ts";
import { refusalReply } from "../../src/discord/refusal.ts";
import { type ProblemCode, ProblemError, problems } from "../../src/kernel/errors.ts";
import { shareWorld, staffAtConsole } from "../contract/world.ts";

const shared = shareWorld();

interface Option {
  name: string;
  options?: Option[];
  choices?: { name: string; value: string; name_localizations?: Record<string, string> }[];
}

/** How a choice reads in English and in German. */
function choiceOf(path: string, value: string): (string | undefined)[] {
  let [at, options]: [Option | undefined, Option[]] = [undefined, commandPayloads(commandTable()) as unknown as Option[]];
  for (const word of path.split(" ")) {
    at = options.find(({ name }) => name === word);
    options = at?.options ?? [];
  }
  const choice = at?.choices?.find((one) => one.value === value);
  return [choice?.name, choice?.name_localizations?.["de"]];
}

describe("/mydata", () => {
  test("names cases about a person, and the place of a person in the staff", async () => {
    const { world } = shared;
    const [admin, person] = [await staffAtConsole(world, "admin"), await world.staff("viewer")];
    const subjects = [{ kind: "user", id: person.id }];
    expect((await world.post("/cases", { title: "A case", type: "general", subjects }, { actor: admin })).status).toBe(201);
    const { cases, staff } = (await world.get(`/users/${person.id}/data-export`, { actor: person })).body.data;
    expect([cases.entries.length, staff.roles.length]).toEqual([1, 1]);
    const said = await world.slash(person, "mydata");
    expect(said).toMatch(/cases[^\n]*: 1/);
    expect(said).toMatch(/staff[^\n]*: 1/);
  });
});

describe("somebody whose language is German", () => {
  test("is refused in German", () => {
    const codes = Object.keys(problems) as ProblemCode[];
    const english = codes.filter((code) => refusalReply(new ProblemError(code), translator("de"))?.content.includes(problems[code].title));
    expect(english).toEqual([]);
  });

  test("never reads of one in the plural", () => {
    expect(translator("de")("staffrole members", { count: 1 })).not.toContain("1 Personen");
    expect(translator("de")("staff access line", { level: "", status: "", count: 1 })).not.toContain("1 Rechte");
    expect(translator("de")("permission simulated", { count: 1 })).not.toContain("1 Personen");
    expect(translator("de")("blacklist revoke alts", { count: 1 })).not.toContain("1 verknüpfte Konten");
    expect(translator("en")("staffrole members", { count: 1 })).not.toContain("1 people");
    expect(translator("en")("permission simulated", { count: 1 })).not.toContain("1 people");
  });
});

describe("choices", () => {
  test("mean what they mean in their own command", () => {
    const compare = choiceOf("roster sync member direction", "report");
    expect(compare).toEqual(["only compare", "nur vergleichen"]);
    const report = choiceOf("request poach kind", "report");
    expect(report.map((text) => compare.includes(text))).toEqual([false, false]);
    expect(choiceOf("request server-merge initiated-by", "network")).not.toEqual(["everywhere", "überall"]);
    expect(choiceOf("intel authorize detail", "listed")).not.toEqual(choiceOf("case close outcome", "listed"));
  });
});

describe("long replies", () => {
  test("bring the rest of somebody's personal permissions in a file", async () => {
    const { world } = shared;
    const [owner, person] = [await staffAtConsole(world, "owner"), await world.staff("viewer")];
    for (const key of ["cases.read", "cases.note", "cases.update", "cases.create", "roster.history"]) {
      const overrides = [{ key, effect: "allow", reason: `${key} `.padEnd(480, "because ") }];
      expect((await world.patch(`/permissions/users/${person.id}`, { overrides }, { actor: owner })).status).toBe(200);
    }
    for (const words of ["permission user", "permission clear-all"]) {
      const options = words === "permission user" ? { user: person } : { user: person, reason: "No longer needed" };
      const reply = await (await world.sandbox.as(owner).in(world.guild).runSlashCommand(words, options)).reply();
      expect(reply.attachments.map(({ name }) => name)).toEqual(["answer.txt"]);
    }
  });
});

describe("times that are typed", () => {
  test("may be a day wherever a time may be typed", async () => {
    const { world } = shared;
    const [admin, person] = [await staffAtConsole(world, "admin"), await world.staff("viewer")];
    const given = { user: person, permission: "cases.read", until: "2099-12-24", reason: "For now" };
    expect(await world.slash(admin, "permission grant", given)).toContain(`<t:${(Date.UTC(2099, 11, 24) / 1000).toString()}:f>`);
    const leave = { user: person, reason: "On holiday", until: "2027-03-01 18:00" };
    expect(await world.slash(admin, "staff loa start", leave)).toContain(`<t:${(Date.UTC(2027, 2, 1, 18) / 1000).toString()}:f>`);
  });

  test("name no day of the week that was not typed", async () => {
    const { world } = shared;
    const person = await staffAtConsole(world, "viewer");
    const said = await world.slash(person, "staff quiet-hours", { from: "22:00", to: "07:00", days: "1,2," });
    expect(said).toContain("Mon, Tue");
    expect(said).not.toContain("Sun");
  });
});
