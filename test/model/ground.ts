import type { Clock } from "../../src/kernel/clock.ts";
import type { User } from "../../sandbox/index.ts";
import { freshId } from "../contract/document.ts";
import type { World } from "../support/world.ts";
import type { Asked } from "./model.ts";
import { levelOf, narrowScopes } from "./rights.ts";
import { people, type Caller, type Person, type Subject } from "./steps.ts";

const unitSeconds = 360;

/** A clock that steps move on. */
export interface MovedClock extends Clock {
  pass(units: number): void;
}

export function createMovedClock(): MovedClock {
  let offset = 0;
  return {
    now: () => new Date(Date.now() + offset),
    pass: (units) => void (offset += units * unitSeconds * 1000),
  };
}

export interface Reply {
  status: number;
  body: any;
}

/** The service with everybody who asks it. */
export interface Ground {
  world: World;
  clock: MovedClock;
  /** The server that records of the scope `servers` are for. */
  serverId: string;
  /** New people and a new server: what came before is of no account to them. */
  renew(): void;
  idOf(subject: Subject): string;
  personId(caller: Caller): string | null;
  /** A time so many units from now, and a length of so many. */
  at(units: number): string;
  length(units: number): string;
  ask(by: Caller, asked: Asked): Promise<Reply>;
}

export async function createGround(world: World, clock: MovedClock): Promise<Ground> {
  const staff = new Map<Person, User>();
  for (const person of people) {
    const level = levelOf[person];
    staff.set(person, level === "none" ? world.member() : await world.staff(level, person));
  }
  const idOfPerson = (person: Person): string => staff.get(person)?.id ?? "";
  const keys: Partial<Record<Caller, string>> = { narrow: await world.makeKey([...narrowScopes]), key: await world.makeKey(["*"]) };
  let fresh = { Ann: "", Ben: "", Den: "" };
  const actorOf = (by: Caller): string | null => (by === "key" ? null : idOfPerson(by === "narrow" ? "senior" : by));

  return {
    world,
    clock,
    serverId: freshId(),
    renew: () => void (fresh = { Ann: freshId(), Ben: freshId(), Den: freshId() }),
    idOf: (subject) => (subject === "suspect" || subject === "chief" ? idOfPerson(subject) : fresh[subject]),
    personId: actorOf,
    at: (units) => new Date(clock.now().getTime() + units * unitSeconds * 1000).toISOString(),
    length: (units) => `PT${(units * unitSeconds).toString()}S`,
    async ask(by, { method, path, body, ifMatch }) {
      const actor = actorOf(by);
      const request = new Request(`http://provost.test${path}`, {
        method,
        headers: {
          authorization: `Bearer ${keys[by] ?? world.key}`,
          ...(actor !== null && { "x-acting-user": actor }),
          ...(ifMatch !== undefined && { "if-match": ifMatch }),
          ...(body !== undefined && { "content-type": "application/json", "content-length": "1" }),
        },
        ...(body !== undefined && { body: JSON.stringify(body) }),
      });
      const response = await world.app.http.fetch(request);
      return { status: response.status, body: await response.json() };
    },
  };
}
