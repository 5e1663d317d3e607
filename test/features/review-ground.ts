import type { User } from "../../sandbox/index.ts";
import type { World } from "../support/world.ts";

export const reason = "Led the raid of last night.";

/** A request that one approval decides. */
export async function filePunishment(world: World, actor: User, subject: User = world.member(), more: object = {}): Promise<string> {
  const body = { user_id: subject.id, action: "warning", reason, ...more };
  const filed = await world.post("/workflows/punishment", body, { actor });
  if (filed.status !== 201) throw new Error(JSON.stringify(filed.body));
  return filed.body.reference as string;
}

/** Approve by command, and send the form with the reason that it is filled in with. @returns what it says in the end */
export async function approve(world: World, actor: User, reference: string): Promise<string> {
  const run = await world.sandbox.as(actor).in(world.guild).runSlashCommand("review approve", { reference });
  const asked = await run.reply();
  if (asked.components.length === 0) return asked.content;
  // Of requests whose subject is written to, the reason they read is asked for.
  if (JSON.stringify(asked.components).includes("Continue …")) await (await run.clickButton("Continue …")).submitModal({});
  else await run.clickButton("Yes, do it");
  await world.sandbox.waitFor(() => run.current()?.components.length === 0);
  return run.current()?.content ?? "";
}

/** The entries about a request, without what the bot does in its own time. */
export async function auditOf(world: World, reference: string): Promise<{ action: string; via: string; reason: unknown }[]> {
  const { data } = (await world.get(`/audit?target=${reference}`)).body;
  return data.filter(({ action }: { action: string }) => action !== "workflow.effect");
}
