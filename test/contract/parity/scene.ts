import type { Role, User } from "../../../src/sandbox/index.ts";
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

export type Options = Record<string, string | number | boolean | User | Role>;

export interface Way {
  /** What is typed. */
  given?: (scene: Scene) => Options;
  /** What the form is filled in with, where one opens. */
  form?: (scene: Scene) => Record<string, string>;
  /** The same over HTTP. */
  http: (scene: Scene) => [method: string, path: string, body?: unknown];
}

export interface Case extends Way {
  /** `<command> <path>`. */
  entry: string;
  /** Done in both worlds before. */
  before?: (scene: Scene) => Promise<void>;
  /** Who does it; otherwise the owner. */
  by?: "owner" | "admin" | "senior";
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
