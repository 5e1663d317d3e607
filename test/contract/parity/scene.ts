import type { GuildHandle, Role, Upload, User } from "../../../sandbox/index.ts";
import type { World } from "../../support/world.ts";

/** One of two worlds that are made the same way, and the people in it. */
export interface Scene {
  world: World;
  /** Staff of three levels, at the console. */
  owner: User;
  admin: User;
  senior: User;
  ann: User;
  bob: User;
  /** What cases keep for later ones, such as the id of what they made. */
  kept: Record<string, string>;
}

export type Options = Record<string, string | number | boolean | User | Role | Upload | ReturnType<GuildHandle["createChannel"]>>;

/** What a request over HTTP has beside its body; with a file, the body holds the fields of the form it is sent in. */
export interface More {
  headers?: Record<string, string>;
  file?: Pick<Upload, "name" | "bytes">;
  /** Whether the person proves themself. */
  signed?: true;
}

export interface Way {
  /** What is typed. */
  given?: (scene: Scene) => Options;
  /** What the form is filled in with, where one opens. */
  form?: (scene: Scene) => Record<string, string>;
  /** The same over HTTP. */
  http: (scene: Scene) => [method: string, path: string, body?: unknown, more?: More];
}

export interface Case extends Way {
  /** `<command> <path>`. */
  entry: string;
  /** Done in both worlds before. */
  before?: (scene: Scene) => Promise<void>;
  /** Who does it; otherwise the owner. */
  by?: "owner" | "admin" | "senior" | "ann";
  /** Everybody may do it, so nobody is refused. */
  isOpen?: boolean;
  /** Whoever passes the door does it to what is theirs: so what is wrong is told first, and what is somebody else's is not there. */
  isPersonal?: boolean;
  /** The same in both doors with something wrong, which both refuse. */
  wrong?: Way;
}

export const day = "2026-11-02";
export const midnight = `${day}T00:00:00.000Z`;
/** Ids and hashes of nothing. */
export const nowhere = "0199d2f4-5a6b-7c8d-9e0f-1a2b3c4d5e6f";
export const zeros = "0".repeat(64);
export const because = "Both doors agree";
export const why = () => ({ reason: because });

export const planHash = async ({ world, owner }: Scene, path: string, body: object): Promise<string> =>
  (await world.post(path, body, { actor: owner })).body.data.plan_hash as string;

/** Ann and Bob are one person, as staff confirmed. */
export async function linkAccounts({ world, owner, ann, bob }: Scene): Promise<void> {
  const sure = { user_id: bob.id, confidence: "confirmed", kind: "declared_alt", basis: [{ type: "admission", note: because }] };
  const { status, body } = await world.post(`/users/${ann.id}/links`, sure, { actor: owner });
  if (status !== 201) throw new Error(JSON.stringify(body));
}
