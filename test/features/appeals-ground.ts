import { expect } from "vitest";
import type { Clock } from "../../src/kernel/clock.ts";
import type { User } from "../../sandbox/index.ts";
import { createJudgedWorld } from "../contract/world.ts";

export const grounds = "My account was stolen on that day, and I have it back.";
export const png = Buffer.concat([Buffer.from("89504e470d0a1a0a0000000d49484452", "hex"), Buffer.alloc(64)]);

export interface Sent {
  status: number;
  text: string;
  location: string | null;
}

interface Sending {
  texts?: Record<string, string>;
  files?: File[];
  headers?: Record<string, string>;
  /** A form without a field for files. */
  isPlain?: boolean;
}

/** A community with the page set up, and people at it. */
export async function createAppealsGround(env: Record<string, string> = {}) {
  let offset = 0;
  const clock: Clock = { now: () => new Date(Date.now() + offset) };
  const world = await createJudgedWorld({ clock, env: { PUBLIC_URL: "http://127.0.0.1:0", ...env } });
  const [filer, decider, judge] = [await world.staff("senior"), await world.staff("owner"), await world.staff("owner")];

  /** Something decided about a person. */
  async function punish(user: User, more: object = {}): Promise<string> {
    const body = { user_id: user.id, action: "warning", reason: "Spam in the harbour, again and again.", ...more };
    const filed = await world.post("/workflows/punishment", body, { actor: filer });
    expect(filed.status, JSON.stringify(filed.body)).toBe(201);
    await decide("punishment", filed.body.reference, { decision: "approve", reason: "Spam in #trade." });
    return filed.body.reference;
  }

  async function decide(kind: string, reference: string, body: object, actor: User = decider) {
    const answer = await world.post(`/workflows/${kind}/${reference}/decision`, body, { actor });
    expect(answer.status, JSON.stringify(answer.body)).toBe(200);
    return answer.body;
  }

  /** Signs a person in; their browser keeps the cookie and what the form brings along. */
  async function signIn(user: User) {
    const walk = await world.sandbox.as(user).authorize(`${world.url}/appeal`, { approve: true });
    const cookie = Object.entries(walk.cookies)
      .map(([name, value]) => `${name}=${value}`)
      .join("; ");
    return { cookie, token: /name="token" value="([^"]+)"/.exec(walk.body)?.[1] ?? "", body: walk.body };
  }
  type Browser = Pick<Awaited<ReturnType<typeof signIn>>, "cookie" | "token">;

  async function open(path: string, { cookie }: Pick<Browser, "cookie"> = { cookie: "" }): Promise<Sent> {
    const answer = await fetch(world.url + path, { headers: { cookie }, redirect: "manual" });
    return { status: answer.status, text: await answer.text(), location: answer.headers.get("location") };
  }

  /** Sends a form with files, as a browser does. */
  async function send(
    path: string,
    { cookie, token }: Browser,
    { texts = {}, files = [], headers = {}, isPlain = false }: Sending = {},
  ): Promise<Sent> {
    const fields = { token, revision: "1", outcome: "overturn", grounds, ...texts };
    const body = isPlain ? new URLSearchParams() : new FormData();
    for (const [name, value] of Object.entries(fields)) body.set(name, value);
    if (body instanceof FormData) for (const file of files.length > 0 ? files : [new File([], "")]) body.append("files", file);
    const own = { cookie, "sec-fetch-site": "same-origin", origin: "null", ...headers };
    const answer = await fetch(world.url + path, { method: "POST", body, headers: own, redirect: "manual" });
    return { status: answer.status, text: await answer.text(), location: answer.headers.get("location") };
  }

  const appeals = () => world.app.database.read.workflowRequest.findMany({ where: { type: "appeal" }, orderBy: { reference: "asc" } });
  const forward = (seconds: number) => void (offset += seconds * 1000);
  return { world, judge, punish, decide, signIn, open, send, appeals, forward };
}

export const file = (name: string, bytes: Buffer | string = png): File => new File([bytes], name);
export const sendTo = (target: string) => `/appeal/decision/${target}`;
