import { expect } from "vitest";
import { systemCall } from "../../src/kernel/call.ts";
import { uuid7 } from "../../src/kernel/ids.ts";
import type { User } from "../../sandbox/index.ts";
import type { World } from "../support/world.ts";
import { freshId } from "./document.ts";

const hour = 3_600_000;

/** Ids of people on the roster, their callsigns, audits and repairs: at least two of each. */
export interface Personnel {
  entry: string;
  audit: string;
  finding: string;
  repair: string;
  /** Callsigns of the pool `north`; the last one is retired. */
  callsigns: string[];
}

/** Pools `north`, `viewer` and `unused`, two people on overdue trials, an audit that found both, and two repairs. */
export async function createPersonnel(world: World, actor: User): Promise<Personnel> {
  const made = async (answer: ReturnType<World["post"]>): Promise<any> => {
    const { status, body } = await answer;
    expect([200, 201], JSON.stringify(body)).toContain(status);
    return body.data;
  };
  const callsigns: string[] = [];
  for (const key of ["north", "viewer", "unused"]) {
    const pool = { key, name: key, department: key.toUpperCase(), template: "{dept}-{n:03}", ranges: [[1, 99]] };
    await made(world.post("/callsigns/pools", pool, { actor }));
  }
  for (const _ of [1, 2, 3, 4]) {
    const next = await made(world.post("/callsigns/next", { pool: "north", user_id: freshId() }, { actor }));
    callsigns.push(next.callsign);
  }
  await made(world.post(`/callsigns/${callsigns[3] ?? ""}/retire`, { reason: "In memory of whoever had it." }, { actor }));
  const entries = [];
  for (const user_id of [freshId(), freshId()]) {
    const joined_at = new Date(Date.now() - 50 * 24 * hour).toISOString();
    entries.push(await made(world.post("/roster", { user_id, trial_days: 30, joined_at, reason: "Was chosen." }, { actor })));
  }
  const audits = [];
  for (const _ of [1, 2]) audits.push(await made(world.post("/roster/audit", { checks: ["trial_overdue"] }, { actor })));
  const repairs = [];
  for (const number of [41, 42]) repairs.push(await repairOf(world, actor, number));
  const [entry, audit] = [entries[0], audits[0]];
  return { entry: entry.id, audit: audit.id, finding: audit.findings[0].id, repair: repairs[0] ?? "", callsigns };
}

/** A number whose rest was over long ago, and the repair that ended it. */
async function repairOf(world: World, actor: User, number: number): Promise<string> {
  const { app } = world;
  await app.database.write(systemCall("cli", uuid7()), async (tx) => {
    const [since, until] = [new Date(tx.now.getTime() - 2 * hour), new Date(tx.now.getTime() - hour)];
    const named = { pool: "north", number, callsign: `NORTH-0${number.toString()}`, liveKey: `north:${number.toString()}` };
    await tx.db.callsignSlot.create({ data: { id: uuid7(), ...named, state: "held", since, until, createdAt: since } });
  });
  const fix = ["hold_over"];
  const { body: plan } = await world.post("/callsigns/repair", { fix }, { actor });
  const { body } = await world.post("/callsigns/repair", { fix, dry_run: false, plan_hash: plan.data.plan_hash }, { actor });
  expect(body.data, JSON.stringify(body)).toMatchObject({ applied: 1 });
  return body.data.undo_token;
}
