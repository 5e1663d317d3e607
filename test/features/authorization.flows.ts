import { systemCall } from "../../src/kernel/call.ts";
import type { FaultHandle } from "../../sandbox/fault-rules.ts";
import type { User } from "../../sandbox/index.ts";
import type { World } from "../support/world.ts";
import { answerAtDiscord, press, visit, type Visit } from "./authorization.setup.ts";

/** Numbers from 0 to 1 that are the same for the same seed. */
export function createRandom(seed: number): () => number {
  let state = seed >>> 0;
  return () => {
    state = (state + 0x6d2b79f5) >>> 0;
    let value = Math.imul(state ^ (state >>> 15), state | 1);
    value ^= value + Math.imul(value ^ (value >>> 7), value | 61);
    return ((value ^ (value >>> 14)) >>> 0) / 2 ** 32;
  };
}

/** What a page says by its status. */
const statusOf: Readonly<Record<string, number>> = {
  done: 200,
  declined: 200,
  "wrong-account": 403,
  expired: 410,
  cancelled: 410,
  used: 410,
  "other-browser": 403,
  "discord-unreachable": 503,
  "scope-missing": 403,
  failed: 400,
};

/** What the model knows of a person over all their flows. */
export interface Person {
  user: User;
  grant: "none" | "active" | "revoked";
}

/** What the model knows of a session. */
interface Model {
  status: "pending" | "opened" | "authorized" | "declined" | "expired" | "failed" | "cancelled";
  failure: string | null;
  /** Which of the tabs has the state that counts; -1 before the first. */
  current: number;
  /** Whether that state was used. */
  isTaken: boolean;
}

/** A browser tab at Discord's page, and what came of it. */
interface Tab {
  index: number;
  location: string;
  cookie: string;
  /** The address Discord sends the browser back to, once it was asked. */
  back?: { url: string; answer: "own" | "foreign" | "cancel" | "less" };
}

export interface Ground {
  world: World;
  staff: User;
  /** Never asked by anybody. */
  stranger: User;
  forward(seconds: number): void;
  /** Everything that may be in no log and no table. */
  secrets: Set<string>;
  /** How many grants were given. */
  granted: { count: number };
}

type Expected = readonly string[];

/** One person's way through one session, step by step at random, each checked against the model. */
export function createFlow(ground: Ground, person: Person, address: string, random: () => number) {
  const { world, secrets } = ground;
  const model: Model = { status: "pending", failure: null, current: -1, isTaken: false };
  const tabs: Tab[] = [];
  const trace: string[] = [];
  const isOpen = () => model.status === "pending" || model.status === "opened";
  const chance = (share: number) => random() < share;
  const keep = (text: string | null | undefined) => {
    if (typeof text === "string" && text.length > 20) secrets.add(text);
  };
  keep(address.split("/").at(-1));

  /** The page of the session as it is now; undefined while it waits. */
  function ended(): Expected | undefined {
    if (isOpen()) return undefined;
    if (model.status === "authorized") return ["used"];
    if (model.status === "declined") return ["declined"];
    if (model.status === "cancelled") return ["expired", "cancelled"];
    if (model.status === "failed")
      return [model.failure === "wrong_account" ? "wrong-account" : model.failure === "scope_missing" ? "scope-missing" : "failed"];
    return ["expired"];
  }

  function check(step: string, actual: string, expected: Expected): void {
    trace.push(`${step}: ${actual}`);
    if (!expected.includes(actual)) throw new Error(`expected ${expected.join(" or ")} of\n${trace.join("\n")}`);
  }

  async function pageOf({ status, location }: Visit): Promise<string> {
    const kind = /\/authorize\/result\/([a-z-]+)/.exec(location)?.[1] ?? `${status.toString()} ${location}`;
    const page = await visit(new URL(location, world.url).href);
    if (page.status !== statusOf[kind] || page.location !== "") throw new Error(`${kind} answers ${page.status.toString()}`);
    return kind;
  }

  function close(status: Model["status"], failure: string | null = null): void {
    Object.assign(model, { status, failure });
  }

  async function open(): Promise<void> {
    const page = await visit(address);
    const end = ended();
    // Where an address has expired is where none ever was.
    const statuses = end?.map((kind) => (kind === "expired" ? "404" : "410"));
    check("open", page.status.toString(), statuses ?? ["200"]);
  }

  async function start(): Promise<void> {
    const answer = await press(address, "start");
    const end = ended();
    if (end !== undefined) return check("start", await pageOf(answer), end);
    check("start", answer.status.toString(), ["303"]);
    model.status = "opened";
    model.isTaken = false;
    model.current = tabs.length;
    tabs.push({ index: tabs.length, location: answer.location, cookie: answer.cookie });
    keep(answer.cookie.split("=")[1]);
    keep(new URL(answer.location).searchParams.get("state"));
  }

  async function decline(): Promise<void> {
    const answer = await pageOf(await press(address, "decline"));
    const end = ended();
    if (end === undefined) close("declined");
    check("decline", answer, end ?? ["declined"]);
  }

  async function askDiscord(tab: Tab): Promise<void> {
    const kind = random();
    const answer = kind < 0.68 ? "own" : kind < 0.8 ? "foreign" : kind < 0.92 ? "cancel" : "less";
    const location = new URL(tab.location);
    if (answer === "less") location.searchParams.set("scope", "identify");
    const user = answer === "foreign" ? ground.stranger : person.user;
    const url = await answerAtDiscord(location.href, user, answer === "cancel" ? "cancel" : "authorize");
    keep(new URL(url).searchParams.get("code"));
    tab.back = { url, answer };
    trace.push(`at Discord in tab ${tab.index.toString()}: ${answer}`);
  }

  /** Something goes wrong at Discord while the code is exchanged; answers what the person is told then. */
  function disturb(): { fault: FaultHandle; ending: Expected } | undefined {
    const { faults } = world.sandbox;
    const kind = random();
    if (kind < 0.8) return undefined;
    const unreachable = ["discord-unreachable"];
    if (kind < 0.87) return { fault: faults.oauth({ route: "token", status: 503 }), ending: unreachable };
    if (kind < 0.91) return { fault: faults.oauth({ route: "token", status: 200, body: { nonsense: true } }), ending: ["failed"] };
    if (kind < 0.95) return { fault: faults.rest({ route: "GET /users/@me", status: 502 }), ending: unreachable };
    return { fault: faults.rest({ route: "GET /users/@me/guilds", status: 429 }), ending: unreachable };
  }

  /** What the first valid way back leads to. */
  function come(tab: Tab, broken: Expected | undefined): Expected {
    model.isTaken = true;
    const answer = tab.back?.answer ?? "own";
    if (answer === "cancel") {
      close("declined");
      return ["declined"];
    }
    if (broken !== undefined) {
      if (broken.includes("failed")) close("failed", "discord_error");
      return broken;
    }
    if (answer === "own") {
      close("authorized");
      person.grant = "active";
      ground.granted.count += 1;
      return ["done"];
    }
    close("failed", answer === "foreign" ? "wrong_account" : "scope_missing");
    return [answer === "foreign" ? "wrong-account" : "scope-missing"];
  }

  /** What stands in the way of a way back, before anything is exchanged. */
  function refused(tab: Tab, isSameBrowser: boolean): Expected | undefined {
    if (tab.index !== model.current) return ["failed"];
    const end = ended();
    if (end !== undefined) return end;
    if (model.isTaken) return ["used"];
    return isSameBrowser ? undefined : ["other-browser"];
  }

  async function comeBack(tab: Tab): Promise<void> {
    if (tab.back === undefined) await askDiscord(tab);
    const { url = "", answer = "own" } = tab.back ?? {};
    const name = `back in tab ${tab.index.toString()}`;
    if (chance(0.15)) {
      const wrong = new URL(url);
      if (chance(0.5)) wrong.searchParams.delete("state");
      else wrong.searchParams.set("state", "z".repeat(43));
      return check(`${name} with a wrong state`, await pageOf(await visit(wrong.href, tab.cookie)), ["failed"]);
    }
    if (chance(0.2)) {
      const other = chance(0.5) ? "" : `${tab.cookie.split("=")[0] ?? ""}=${"y".repeat(43)}`;
      const expected = refused(tab, false) ?? [];
      return check(`${name} in another browser`, await pageOf(await visit(url, other)), expected);
    }
    const expected = refused(tab, true);
    if (expected !== undefined) return check(name, await pageOf(await visit(url, tab.cookie)), expected);
    // With less granted than was asked for, the list of servers is never asked for.
    const disturbed = answer === "own" ? disturb() : undefined;
    const first = come(tab, disturbed?.ending);
    if (!chance(0.3)) check(name, await pageOf(await visit(url, tab.cookie)), first);
    else {
      const pages = await Promise.all([visit(url, tab.cookie), visit(url, tab.cookie)].map(async (visited) => pageOf(await visited)));
      const second = ["used", ...(ended() ?? [])];
      const [a = "", b = ""] = pages;
      if (first.includes(a)) check(`${name} twice at once`, b, second);
      else {
        check(`${name} twice at once`, b, first);
        check(`${name} twice at once`, a, second);
      }
    }
    disturbed?.fault.clear();
  }

  async function refreshFifty(): Promise<void> {
    if (person.grant !== "active") return;
    const isRotating = chance(0.5);
    ground.forward(601);
    if (isOpen()) close("expired");
    if (isRotating) await endAccessToken();
    const lists = () => world.sandbox.exchanges.filter(({ path }) => path.endsWith("/users/@me/guilds")).length;
    const tokens = () => world.sandbox.exchanges.filter(({ path }) => path.endsWith("/oauth2/token")).length;
    const before = [lists(), tokens()] as const;
    const ask = () => world.post(`/users/${person.user.id}/refresh`, {}, { actor: ground.staff });
    const answers = await Promise.all(Array.from({ length: 50 }, ask));
    const codes = new Set(answers.map(({ status, body }) => (status === 200 ? "200" : String(body.code))));
    for (const code of codes) check("fifty refreshes", code, ["200", "refresh_cooldown"]);
    check("lists asked for", (lists() - before[0]).toString(), ["1"]);
    check("tokens asked for", (tokens() - before[1]).toString(), [isRotating ? "1" : "0"]);
  }

  /** As after seven days, without moving everybody else's time. */
  async function endAccessToken(): Promise<void> {
    const where = { userId: person.user.id };
    await world.app.database.write(systemCall("job", "flows"), ({ db, now }) =>
      db.authorization.update({ where, data: { tokenExpiresAt: now } }),
    );
    world.sandbox.expireAccessTokens(person.user);
  }

  /** The address works for 5 minutes. */
  function expire(): void {
    ground.forward(301);
    close("expired");
    trace.push("time goes by");
  }

  async function revoke(): Promise<void> {
    const answer = await world.delete(`/users/${person.user.id}/authorization`, {}, { actor: ground.staff });
    const hadAny = isOpen() || person.grant === "active";
    check("revoke", answer.status.toString(), [hadAny ? "200" : "409"]);
    if (isOpen()) close("cancelled");
    if (person.grant === "active") person.grant = "revoked";
  }

  async function step(): Promise<void> {
    const kind = random();
    const tab = tabs[chance(0.8) ? tabs.length - 1 : Math.floor(random() * tabs.length)];
    if (kind < 0.12) return open();
    if (tab === undefined || kind < 0.3) return start();
    if (kind < 0.34) return decline();
    if (kind < 0.38) return isOpen() ? expire() : undefined;
    if (kind < 0.41) return revoke();
    if (kind < 0.43) return refreshFifty();
    if (kind < 0.435) {
      trace.push("restart");
      return world.restart();
    }
    return comeBack(tab);
  }

  return {
    /** Take some steps. @returns what the session came to */
    async run(): Promise<void> {
      for (let left = 3 + Math.floor(random() * 7); left > 0; left -= 1) await step();
      await open();
    },
    model,
    trace,
  };
}
