import type { User } from "../../sandbox/index.ts";
import { filing, freshId } from "../contract/document.ts";
import type { Answer, World } from "../support/world.ts";

/** The members and the message content intent, as bits. */
export const contentIntents = (1 << 1) | (1 << 15);

/** Send a file as a browser's form does. */
export async function upload(
  world: World,
  path: string,
  { actor, bytes, name = "proof.png", fields = {}, headers = {} }: Upload,
): Promise<Answer> {
  const form = new FormData();
  for (const [field, value] of Object.entries(fields)) form.append(field, value);
  form.append("file", new Blob([new Uint8Array(bytes)], { type: "image/png" }), name);
  const response = await fetch(world.url + path, {
    method: "POST",
    headers: { authorization: `Bearer ${world.key}`, "x-acting-user": actor.id, ...headers },
    body: form,
  });
  return { status: response.status, headers: response.headers, body: await response.json() };
}

export interface Upload {
  actor: User;
  bytes: Buffer;
  name?: string;
  fields?: Record<string, string>;
  headers?: Record<string, string>;
}

/** Fetch a file of a piece; rejects when its bytes fail to end. */
export async function download(world: Pick<World, "url" | "key">, id: string, position: number, actor: Pick<User, "id">) {
  const response = await fetch(`${world.url}/evidence/${id}/files/${position.toString()}`, {
    headers: { authorization: `Bearer ${world.key}`, "x-acting-user": actor.id },
  });
  return { status: response.status, headers: response.headers, bytes: Buffer.from(await response.arrayBuffer()) };
}

/** A new blacklist record. @returns its address */
export async function listSomebody(world: World, actor: User): Promise<string> {
  const { status, body } = await world.post("/blacklist", { kind: "user", subject_id: freshId() }, { actor });
  if (status !== 201) throw new Error(JSON.stringify(body));
  return `/blacklist/${body.data.number as string}`;
}

/** A new request of a person. @returns its address */
export async function fileRequest(world: World, actor: User): Promise<string> {
  const { status, body } = await world.post("/workflows/poach", filing("poach"), { actor });
  if (status !== 201) throw new Error(JSON.stringify(body));
  return `/workflows/poach/${body.reference as string}`;
}
