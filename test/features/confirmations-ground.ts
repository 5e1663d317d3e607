import type { Confirmable } from "../../src/features/confirmations/hold.ts";
import { z } from "zod";
import type { Tx } from "../../src/database/database.ts";
import { requireWrite, type Call, type Via } from "../../src/kernel/call.ts";
import { ProblemError, type ProblemCode } from "../../src/kernel/errors.ts";
import { isHeld, type HeldView } from "../../src/kernel/held.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import type { User } from "../../sandbox/index.ts";
import type { World } from "../support/world.ts";
import { give } from "./refusals-ground.ts";

/** Everything a change can need. */
export const strict = { CONFIRM_IN_DISCORD: "permissions,keys", SECOND_PERSON_FOR_DANGER: "true" };
export const action = "test.apply";
export const permission = "permissions.users.manage";
export const dangerous = ["staff.suspend"];

const Input = z.strictObject({ name: z.string(), refuse: z.string().optional(), grown: z.array(z.string()).optional() });
type Input = z.infer<typeof Input>;

type Change = Partial<Omit<Confirmable, "input">> & { input?: Partial<Input> };

/**
 * A change that waits for confirmations, made of one row: `test:<name>` counts how often it was carried out.
 * @param input.refuse the problem it is refused with once confirmed; `zod` for an input that does not fit any more
 * @param input.grown what it would grant by the time it is carried out
 */
export function teach({ app }: World): { carriedOut: Call[] } {
  const carriedOut: Call[] = [];
  app.confirmations.register(action, async (tx, given) => {
    const input = Input.parse(given);
    requireWrite(tx.call, permission);
    await write(tx, input);
    if (input.refuse === "zod") z.number().parse(input.name);
    if (input.refuse !== undefined) throw new ProblemError(input.refuse as ProblemCode, { detail: "The world has moved on." });
    if (input.grown !== undefined) await app.confirmations.hold(tx, change({ dangerous: input.grown, input }));
    tx.afterCommit(() => carriedOut.push(tx.call));
  });
  return { carriedOut };

  async function write(tx: Tx, { name }: Input): Promise<void> {
    const key = `test:${name}`;
    const found = await tx.db.setting.findUnique({ where: { key } });
    await tx.db.setting.upsert({ where: { key }, create: { key, value: 1 }, update: { value: Number(found?.value) + 1 } });
    app.audit.record(tx, { action, target: { kind: "setting", id: key } });
    app.events.emit(tx, { type: "permission.changed", data: { name } });
  }
}

export function change({ input, ...more }: Change = {}): Confirmable {
  return { action, group: "permissions", permission, summary: "Change a test row", ...more, input: { name: "one", ...input } };
}

interface Asking {
  via?: Via;
  guildId?: string;
}

/** A call as a door makes it. */
export async function callBy({ app }: World, person: User | null, { via = "rest", guildId }: Asking = {}): Promise<Call> {
  const client = via === "slash" ? null : { id: "panel", name: "panel", allows: () => true };
  const actor = person === null ? null : await app.access.actorOf(person.id);
  const call = { client, actor, via, requestId: uuid7(), idempotency: null, replayed: false };
  return guildId === undefined ? call : { ...call, guildId };
}

/** Ask for a change the way a verb does; undefined when nothing has to be confirmed. */
export async function ask(world: World, person: User | null, wanted: Change = {}, asking: Asking = {}): Promise<HeldView | undefined> {
  const call = await callBy(world, person, asking);
  const answer = await world.app.database.write(call, (tx) => world.app.confirmations.hold(tx, change(wanted)));
  return isHeld(answer) ? answer.confirmation_required : undefined;
}

/** {@link ask} for a change that is held. */
export async function hold(world: World, person: User, wanted: Change = {}, asking: Asking = {}): Promise<HeldView> {
  const held = await ask(world, person, wanted, asking);
  if (held === undefined) throw new Error("the change was not held");
  return held;
}

/** How often a change was carried out. */
export async function timesDone({ app }: World, name: string): Promise<number> {
  return Number((await app.database.read.setting.findUnique({ where: { key: `test:${name}` } }))?.value ?? 0);
}

/** As if a held change had been asked for that long ago, in seconds. */
export async function age({ app }: World, id: string, seconds: number): Promise<void> {
  const call: Call = { client: null, actor: null, via: "job", requestId: uuid7(), idempotency: null, replayed: false };
  await app.database.write(call, async ({ db }) => {
    const { expiresAt } = await db.confirmation.findUniqueOrThrow({ where: { id } });
    await db.confirmation.update({ where: { id }, data: { expiresAt: new Date(expiresAt.getTime() - seconds * 1000) } });
  });
}

/** The audit and the outbox about one held change, oldest first. */
export async function journalOf({ app }: World, id: string) {
  const { read } = app.database;
  // That somebody was refused is written a few seconds later, in the middle of anything.
  const entries = await read.auditEntry.findMany({ where: { targetId: id, outcome: { not: "denied" } }, orderBy: { seq: "asc" } });
  const events = (await read.outboxEvent.findMany({ orderBy: { seq: "asc" } })).filter(({ data }) => (data as { id?: string }).id === id);
  return { entries, events };
}

/** `/confirm accept`, and the button that follows where more has to be read first. */
export const acceptIn = (world: World, person: User, code: string): Promise<string> =>
  give({ world, person, words: "confirm accept", given: { code } }, "en-US");
