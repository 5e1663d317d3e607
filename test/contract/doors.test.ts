import { readFileSync } from "node:fs";
import { describe, expect, test } from "vitest";
import { commandTable, routeTable } from "../../src/features.ts";
import { commandsOf, doorsOf, doorsPage, flawsOf, notInDiscord } from "../../src/commands/doors.ts";

const doors = doorsOf(commandTable(), routeTable());

describe("the table of doors", () => {
  test("has every operation in Discord or named with a reason, never both, and no command of an operation that is not there", () => {
    expect(doors.length).toBeGreaterThan(100);
    expect(flawsOf(commandTable(), doors)).toEqual([]);
  });

  test("notices an operation that nobody thought of, and one that has a command and a reason", () => {
    const spec = { method: "get", path: "/new" } as const;
    const more = doorsOf(commandTable(), [...routeTable(), { spec: { ...spec, operationId: "newOperation" } }]);
    expect(flawsOf(commandTable(), more)).toContain("newOperation is neither in Discord nor named with a reason");
    const both = doors.map((door) => (door.operation === "nextCallsign" ? { ...door, reason: "none" } : door));
    expect(flawsOf(commandTable(), both)).toEqual([
      expect.stringContaining("nextCallsign is in Discord (/callsign next, /callsign reserve) and has a reason"),
    ]);
  });

  test("names a menu beside every operation that it chooses among", () => {
    const chosen = doors.filter(({ commands }) => commands.includes("menu Save as evidence")).map(({ operation }) => operation);
    expect(chosen.toSorted()).toEqual(["addBlacklistEvidence", "addCaseEvidence", "addWorkflowEvidence", "createCase"]);
  });

  test("gives reasons in whole words of people", () => {
    for (const reason of Object.values(notInDiscord)) expect(reason).toMatch(/^[a-z][^_`]{20,}[^.]$/);
    expect(commandsOf(commandTable(), "followEvents")).toEqual([]);
  });

  test("is what the page says", () => {
    expect(readFileSync("docs/doors.md", "utf8")).toBe(doorsPage(doors));
  });
});
