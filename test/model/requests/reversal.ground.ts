import { systemCall } from "../../../src/kernel/call.ts";
import { inForce, type InForce } from "../../features/in-force.ts";
import { createPeopleGround, guilds } from "../../features/people-ground.ts";
import { freshId } from "../../features/workflows-ground.ts";
import type { Wish } from "./reversal.steps.ts";

export type ReversalGround = Awaited<ReturnType<typeof createReversalGround>>;

/** People who decide, in pairs; whoever decided something never decides an appeal against it. */
export async function createReversalGround() {
  const ground = await createPeopleGround();
  await ground.addPool();
  const owners = Array.from({ length: 6 }, () => ground.staff("owner"));
  const pair = (index: number): string[] => owners.slice(index, index + 2);
  const clock = () => ground.services.clock.now().getTime();
  const names = new Map<string, string>();
  /** The requests so far, by reference. */
  const filed: { kind: string; reference: string }[] = [];

  function fill(value: unknown): unknown {
    if (typeof value === "string" && value.startsWith("$")) {
      const place = Number(value.slice(1));
      return names.get(value) ?? filed[place % Math.max(1, filed.length)]?.reference;
    }
    if (Array.isArray(value)) return value.map(fill);
    if (typeof value !== "object" || value === null) return value;
    return Object.fromEntries(Object.entries(value).map(([key, entry]) => [key, fill(entry)]));
  }

  async function together(kind: string, reference: string, body: object, people: readonly string[], wanted: string): Promise<boolean> {
    for (const person of people) {
      const { status, body: answer } = await ground.decide(kind, reference, body, person);
      if (status !== 200 && !["invalid_transition", "validation_failed"].includes(answer.code))
        throw new Error(`${kind}: ${JSON.stringify(answer)}`);
      if (status !== 200) return false;
      if (answer.status === wanted) return true;
    }
    return false;
  }

  return {
    ...ground,
    fill,

    /** Everybody is new. @param isEmployed whether the person is on the roster with a callsign */
    async renew(isEmployed: boolean): Promise<void> {
      filed.length = 0;
      names.set("$user", ground.person(guilds, isEmployed ? ["moderator"] : []));
      for (const name of ["$other", "$third", "$a", "$b", "$c"]) names.set(name, freshId());
      names.set("$now", new Date(clock()).toISOString());
      names.set("$soon", new Date(clock() + 2 * 86_400_000).toISOString());
      if (isEmployed) await ground.employ(names.get("$user") ?? "");
    },

    /** @returns the reference; undefined: it is not taken, such as the same once more */
    async file({ kind, body }: Wish): Promise<string | undefined> {
      const answer = await ground.post(`/workflows/${kind}`, fill(body), { actor: ground.requester });
      if (answer.status !== 201 && !["duplicate_open", "cooldown", "rate_limited"].includes(answer.body.code))
        throw new Error(`${kind}: ${JSON.stringify(answer.body)}`);
      return answer.status === 201 ? (answer.body.reference as string) : undefined;
    },
    known: (kind: string, reference: string) => void filed.push({ kind, reference }),
    hasTarget: () => filed.length > 0,

    approve: (kind: string, reference: string, decision: object = { decision: "approve" }) =>
      together(
        kind,
        reference,
        { reason: "It was looked into by several people.", ...decision },
        pair(kind === "appeal" ? 4 : 0),
        "approved",
      ),
    reverse: (kind: string, reference: string) =>
      together(
        kind,
        reference,
        { decision: "reverse", reason: "It was a mistake after all." },
        kind === "appeal" ? pair(4).toReversed() : pair(2),
        "reversed",
      ),

    /** Everything in force. A server that a merger registered stays registered, which says nothing of it. */
    async snapshot(): Promise<InForce> {
      const found = await inForce(
        ground,
        ["$user", "$other", "$third"].map((name) => names.get(name) ?? ""),
      );
      const isMerelyKnown = (row: Record<string, unknown>) => row["status"] === "known" && row["ownerUserId"] === null;
      return { ...found, servers: found.servers.filter((row) => !isMerelyKnown(row)) };
    },

    /** What falls due within some days is done. */
    async passDays(days: number): Promise<void> {
      ground.pass(days * 86_400);
      await ground.services.deliveries.deliverDue(systemCall("job", "test"));
    },
    bulk: (references: readonly string[], decision: object, who: "approve" | "reverse", turn: number) =>
      ground.post(
        "/workflows/decisions",
        { references, reason: "It was looked into by several people.", ...decision },
        { actor: pair(who === "approve" ? 0 : 2)[turn] ?? "" },
      ),
  };
}
