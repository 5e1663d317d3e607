import type { Case, Options, Scene } from "./scene.ts";

/** Each tells the two cases apart, so a command that forgets it lists another number of them, or in another order. */
const filters: readonly [name: string, typed: (scene: Scene) => Options[string], query: (scene: Scene) => string][] = [
  ["mine", () => true, () => "member=@me"],
  ["status", () => "closed", () => "status=closed"],
  ["type", () => "general", () => "type=general"],
  ["priority", () => "critical", () => "priority=critical"],
  ["lead", ({ admin }) => admin, ({ admin }) => `lead=${admin.id}`],
  ["subject", ({ bob }) => bob.id, ({ bob }) => `subject=${bob.id}`],
  ["label", () => "calm", () => "label=calm"],
  ["overdue", () => true, () => "overdue=true"],
  ["q", () => "lobby", () => "q=lobby"],
  ["sort", () => "due_at", () => "sort=due_at"],
];

/** Lists of cases, each with one filter. */
export const filtered: readonly Case[] = filters.map(([name, typed, query]): Case => ({
  entry: "case list",
  by: "senior",
  given: (scene) => ({ [name]: typed(scene) }),
  http: (scene) => ["GET", `/cases?limit=10&${query(scene)}`],
}));
