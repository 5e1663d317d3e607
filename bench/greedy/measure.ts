import type { ChildProcess } from "node:child_process";
import { cpus } from "node:os";
import { setTimeout as delay } from "node:timers/promises";
import { ask, type createProcesses, type Host } from "../processes.ts";
import type { Callers } from "../targets/greedy.ts";
import type { HostileOrder } from "./hostile.ts";
import type { InnocentOrder, InnocentResult } from "./innocent.ts";
import type { KindName } from "./kinds.ts";
import { type WorkName, works } from "./works.ts";

/** What is beside the innocent client. */
export type Beside = KindName | WorkName;

/** The service, whoever may call it, and its two clients. */
export interface Setting {
  service: Host;
  callers: Callers;
  innocent: ChildProcess;
  hostile: ChildProcess;
  /** Counts the measurements. */
  measured: number;
}

/** What was seen in one measurement. */
export interface Sample extends InnocentResult {
  /** Requests that the hostile client began, in a second. */
  hostile: number;
  /** Resident megabytes of the service at the end. */
  resident: number;
  /** CPU time that other programs took, as a share of one core. */
  others: number;
}

/** Megabytes of heap the service lives with. */
export const heapMb = 256;
/** Between two requests of the innocent client. */
const everyMs = 5;
/**
 * Before a measurement beside large work the service comes to rest, so that none pays for another: it used less of a core than this for so
 * long. That is waited for no longer than so many measurements take.
 */
const atRest = { share: 0.05, ms: 500, most: 10 };

/** @param target `greedy`, with the limits that ship, or `working`, without */
export async function startSetting(
  { startHost, startClient }: ReturnType<typeof createProcesses>,
  target: "greedy" | "working",
): Promise<Setting> {
  const service = await startHost("./targets/greedy.ts", target, heapMb);
  const callers = await ask<Callers>(service.child, "callers");
  return { service, callers, innocent: startClient("./greedy/innocent.ts"), hostile: startClient("./greedy/hostile.ts"), measured: 0 };
}

/** What the innocent client asks for: the access of staff, in turn, or `GET /health`. */
export type Asked = "access" | "health";

/** The innocent client for so many seconds, alone or beside a hostile one that begins at the same time. */
export async function measure(setting: Setting, seconds: number, path: Asked, kind?: Beside): Promise<Sample> {
  const { service, callers, innocent, hostile } = setting;
  const { port } = service;
  setting.measured += 1;
  await (path === "health" ? comeToRest(service.child, seconds) : delay(atRest.ms));
  const othersSince = await startWatch(setting);
  if (kind !== undefined) await ask(hostile, "start", { kind, port, ...causeOf(setting, kind) } satisfies HostileOrder);
  const asked = callers.staff.map((actor) => ({ path: path === "health" ? "/health" : `/staff/${actor}/access`, actor }));
  const order: InnocentOrder = { port, key: callers.keys.innocent, asked, everyMs, seconds };
  const result = await ask<InnocentResult>(innocent, "measure", order);
  const resident = await ask<number>(service.child, "resident");
  const requests = kind === undefined ? 0 : await ask<number>(hostile, "stop");
  const others = await othersSince();
  return { ...result, hostile: requests / seconds, resident, others };
}

async function comeToRest(child: ChildProcess, seconds: number): Promise<void> {
  const used = async (): Promise<number> => {
    const { user, system } = await ask<NodeJS.CpuUsage>(child, "cpu");
    return (user + system) / 1000;
  };
  const end = performance.now() + atRest.most * seconds * 1000;
  let before = await used();
  while (performance.now() < end) {
    await delay(atRest.ms);
    const now = await used();
    if (now - before < atRest.share * atRest.ms) return;
    before = now;
  }
}

/** An address and a person of its own for each measurement: what one client is allowed begins anew. Work is done for the owner, who may. */
function causeOf({ callers: { keys, staff, owner }, measured }: Setting, kind: Beside): Omit<HostileOrder, "kind" | "port"> {
  const address = `198.18.${(measured >> 8).toString()}.${(measured & 255).toString()}`;
  return { address, key: keys.hostile, actor: kind in works ? owner : (staff[measured % staff.length] ?? "") };
}

/** @returns tells what share of a core other programs have taken since */
async function startWatch({ service, innocent, hostile }: Setting): Promise<() => Promise<number>> {
  const foreign = async (): Promise<number> => {
    const told = await Promise.all([service.child, innocent, hostile].map((child) => ask<NodeJS.CpuUsage>(child, "cpu")));
    const own = [process.cpuUsage(), ...told].reduce((sum, { user, system }) => sum + (user + system) / 1000, 0);
    return cpus().reduce((sum, { times: { user, nice, sys, irq } }) => sum + user + nice + sys + irq, 0) - own;
  };
  const [before, startedAt] = [await foreign(), performance.now()];
  return async () => ((await foreign()) - before) / (performance.now() - startedAt);
}
