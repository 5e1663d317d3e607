import { createActor } from "../actor.ts";
import type { Run, RunContext } from "../interaction-run.ts";
import type { Guild, User } from "../model.ts";
import type { Recorder } from "../recorder.ts";

/** How many answers are kept to look at. */
const maxRuns = 20;

/** Something a person did, and what came of it. */
export type Done = { readonly id: string; readonly run: Run; readonly user: User; readonly guild: Guild; isModalClosed: boolean };

export type RoomContext = RunContext & { origin: string; recorder: Recorder };
export type RoomState = ReturnType<typeof createRoomState>;

/** What the control room remembers: the latest things done in it, newest first. */
export function createRoomState(context: RoomContext) {
  const done: Done[] = [];
  return {
    ...context,
    done,
    /** The keyboard of a person in a guild. */
    keys: (user: User, guild: Guild) => createActor(context, user).in(guild),
    keep(run: Run, user: User, guild: Guild): void {
      done.unshift({ id: run.interaction.id, run, user, guild, isModalClosed: false });
      done.splice(maxRuns);
    },
    find(id: string): Done {
      const found = done.find((known) => known.id === id);
      if (!found) throw new Error("there is no such answer");
      return found;
    },
  };
}
