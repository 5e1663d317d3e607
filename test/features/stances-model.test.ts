import fc from "fast-check";
import { expect, test } from "vitest";
import { verdictsOf, ruleFor, type Listing } from "../../src/features/lists/verdict.ts";
import { listActions, stances, type StanceRule } from "../../src/features/lists/lists.schema.ts";
import { severities } from "../../src/kernel/vocabulary.ts";
import { runsOf, seedOf } from "../support/size.ts";

const categories = ["raid", "scam", "other"] as const;
const listing: fc.Arbitrary<Listing> = fc.record({
  listId: fc.constantFrom("own", "friends"),
  recordId: fc.constantFrom("a", "b", "c", "d"),
  reference: fc.constantFrom("BL-000001", "BL-000002"),
  category: fc.constantFrom(...categories),
  severity: fc.constantFrom(...severities),
  action: fc.constantFrom(null, "kick" as const, "ban" as const),
  guildIds: fc.constantFrom(null, ["1"], ["2"]),
});
const rule: fc.Arbitrary<StanceRule> = fc.record({
  list: fc.constantFrom("own", "friends"),
  category: fc.constantFrom(...categories, "any" as const),
  stance: fc.constantFrom(...stances),
  action: fc.constantFrom(null, ...listActions),
  role_id: fc.constant("7"),
  timeout_seconds: fc.constant(3600),
  min_severity: fc.constantFrom(...severities),
});
const rules = fc.uniqueArray(rule, { selector: ({ list, category }) => `${list}:${category}`, maxLength: 8 });
const listings = fc.uniqueArray(listing, { selector: ({ listId, recordId }) => `${listId}:${recordId}`, maxLength: 5 });

test("a server ignores, tells, proposes and acts exactly as its rules say", () => {
  fc.assert(
    fc.property(listings, rules, fc.boolean(), fc.boolean(), fc.boolean(), (all, ours, isExempt, isProtected, isBarred) => {
      const got = verdictsOf(all, ours, { guildId: "1", isExempt, isProtected, isBarredRole: () => isBarred });
      // Naively: each listing by itself, then the gravest of what is applied.
      const wanted = { notify: new Set<string>(), propose: new Set<string>(), apply: new Set<string>() };
      for (const one of all) {
        const { stance, action, min_severity: least } = ruleFor(ours, one);
        const isHere = one.guildIds === null || one.guildIds.includes("1");
        const isGrave = severities.indexOf(one.severity as never) >= severities.indexOf(least);
        if (isExempt || !isHere || !isGrave || stance === "ignore") continue;
        const what = action ?? one.action;
        const told = isProtected || what === null || (what === "role" && isBarred) || stance === "notify";
        if (told) wanted.notify.add(one.recordId + one.listId);
        else wanted[stance].add(stance === "apply" ? what : one.recordId + one.listId);
      }
      const idsOf = (stance: string) => got.filter((one) => one.stance === stance).map((one) => one.listing.recordId + one.listing.listId);
      expect(new Set(idsOf("notify"))).toEqual(wanted.notify);
      expect(new Set(idsOf("propose"))).toEqual(wanted.propose);
      const applied = got.filter(({ stance }) => stance === "apply").map(({ action }) => action);
      expect(applied).toEqual(listActions.filter((action) => wanted.apply.has(action)).slice(-1));
      expect(new Set(got.map(({ key }) => key)).size).toBe(got.length);
    }),
    { numRuns: runsOf(400), seed: seedOf(11) },
  );
});
