import { beforeAll, beforeEach } from "vitest";
import type { Clock } from "../../src/kernel/clock.ts";
import type { User } from "../../sandbox/index.ts";
import { freePort } from "../support/free-port.ts";
import { createWorld, type World } from "../support/world.ts";
import { press, type Visitor } from "./chromium.ts";

/** The whole service as browsers see it: under a host name that is another site than Discord's. */
export interface Community {
  readonly world: World;
  /** Where browsers reach the service. */
  readonly origin: string;
  /** The address that a session with `return_to: "site"` leads back to. */
  readonly site: string;
  /** A staff member who asks people. */
  readonly moderator: User;
  /** Move the time of the service. */
  forward(seconds: number): void;
  /** The address of a new session for a person. */
  session(person: User, input?: object): Promise<string>;
}

/** One service for the tests of a file; time is the machine's again with every test. */
export function useCommunity(env: Record<string, string> = {}): Community {
  let offset = 0;
  const clock: Clock = { now: () => new Date(Date.now() + offset) };
  let running: { world: World; origin: string; moderator: User } | undefined;
  const now = () => {
    if (running === undefined) throw new Error("the community exists only while tests run");
    return running;
  };
  const community: Community = {
    get world() {
      return now().world;
    },
    get origin() {
      return now().origin;
    },
    get site() {
      return `${now().origin}/health/live`;
    },
    get moderator() {
      return now().moderator;
    },
    forward: (seconds) => void (offset += seconds * 1000),
    async session(person, input = {}) {
      const answer = await now().world.post("/authorize/sessions", { discord_user_id: person.id, ...input }, { actor: now().moderator });
      if (answer.status !== 201) throw new Error(`${answer.status.toString()} ${JSON.stringify(answer.body)}`);
      return answer.body.url;
    },
  };
  beforeAll(async () => {
    const port = (await freePort()).toString();
    const origin = `http://localhost:${port}`;
    let end = (): Promise<void> => Promise.resolve();
    const world = await createWorld({
      clock,
      env: { PORT: port, PUBLIC_URL: origin, RETURN_TO: `site=${origin}/health/live`, REFRESH_COOLDOWN_SECONDS: "0", ...env },
      onEnd: (way) => (end = way),
    });
    world.sandbox.allowRedirect(`${origin}/authorize/callback`);
    running = { world, origin, moderator: await world.staff("senior", "Mona") };
    return end;
  });
  beforeEach(() => void (offset = 0));
  return community;
}

/** Say yes or no on Discord's page, as the person who is signed in there. */
export async function answerAtDiscord(visitor: Visitor, person: User, decision: "Authorize" | "Cancel" = "Authorize"): Promise<void> {
  await visitor.page.getByLabel("Signed in as").selectOption(person.id);
  await press(visitor, decision);
}
