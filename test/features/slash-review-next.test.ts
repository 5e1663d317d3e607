import { expect, test } from "vitest";
import { staffAtConsole } from "../contract/world.ts";
import { createWorld } from "../support/world.ts";
import { filePunishment } from "./review-ground.ts";

test("the next one is offered also where a claim has run out, and not while it holds", async () => {
  let now = Date.now();
  const world = await createWorld({ clock: { now: () => new Date(now) } });
  const [author, first, second] = [await world.staff("moderator"), await world.staff("admin"), await staffAtConsole(world, "admin")];
  const reference = await filePunishment(world, author);
  await world.post(`/workflows/punishment/${reference}/decision`, { decision: "claim" }, { actor: first });
  expect(await world.slash(second, "review next")).toContain("record_not_found");
  now += 5 * 3_600_000;
  expect(await world.slash(second, "review next")).toContain(reference.replaceAll("-", "\\-"));
  const { assignment } = (await world.get(`/workflows/punishment/${reference}`, { actor: second })).body.data;
  expect(assignment.user.id).toBe(second.id);
});
