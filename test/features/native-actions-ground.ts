import { setTimeout as wait } from "node:timers/promises";
import type { User } from "../../sandbox/index.ts";
import type { NativeActionView } from "../../src/features/native-actions/native-actions.schema.ts";
import type { World } from "../support/world.ts";

/** The service has heard of everything that happened in Discord, and recorded it. */
export async function settled(world: World): Promise<void> {
  await world.sandbox.caughtUp();
  await wait(0);
  await world.app.nativeWatch.idle();
}

/** What others did to a person, oldest first. */
export async function actionsOf(world: World, person: User, actor: User): Promise<NativeActionView[]> {
  const { body } = await world.get(`/users/${person.id}/native-actions?limit=200`, { actor });
  return (body.data as NativeActionView[]).toReversed();
}
