import { createActor } from "../actor.ts";
import type { Run, RunContext } from "../interaction-run.ts";
import type { Guild, User } from "../model.ts";
import type { Recorder } from "../recorder.ts";

/** How many answers are kept to look at. */
const maxRuns = 20;

/** Something a person did, by its words on the page, and what came of it. */
export type Done = {
  readonly id: string;
  readonly words: string;
  readonly run: Run;
  readonly user: User;
  readonly guild: Guild;
  isModalClosed: boolean;
};

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
    /** A person who does something new has left the form before. */
    keep(act: Pick<Done, "words" | "run" | "user" | "guild">): void {
      for (const before of done) if (before.user === act.user) before.isModalClosed = true;
      done.unshift({ ...act, id: act.run.interaction.id, isModalClosed: false });
      done.splice(maxRuns);
    },
    find(id: string): Done {
      const found = done.find((known) => known.id === id);
      if (!found) throw new Error("this answer is too old: give the command again");
      return found;
    },
  };
}
