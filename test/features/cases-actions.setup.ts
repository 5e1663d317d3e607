import type { User } from "../../sandbox/index.ts";
import type { Answer, AskOptions, World } from "../support/world.ts";

interface CaseFields {
  /** Whom it is about. */
  about: readonly string[];
  lead?: string;
  team?: readonly string[];
  confidential?: boolean;
}

/** A case is opened. @returns its id and its number */
export async function openCase(world: World, actor: User, { about, ...fields }: CaseFields): Promise<{ id: string; number: string }> {
  const subjects = about.map((id) => ({ kind: "user", id }));
  const { status, body } = await world.post("/cases", { title: "Insults in the lounge", subjects, ...fields }, { actor });
  if (status !== 201) throw new Error(`no case: ${JSON.stringify(body)}`);
  return body.data;
}

export const reason = "Insulted two newcomers after a warning.";

/** Ask for an action of a case to be recorded. */
export function act(world: World, actor: User, caseKey: string, more: object = {}, asked: AskOptions = {}): Promise<Answer> {
  return world.post(`/cases/${caseKey}/actions`, { kind: "strike", points: 1, reason, ...more }, { actor, ...asked });
}

/** An action is recorded. @returns its view */
export async function acted(world: World, actor: User, caseKey: string, more: object = {}) {
  const { status, body } = await act(world, actor, caseKey, more);
  if (status !== 201) throw new Error(`not recorded: ${JSON.stringify(body)}`);
  return body.data;
}

/** Two accounts are linked for certain. */
export async function link(world: World, actor: User, one: string, other: string): Promise<void> {
  const basis = [{ type: "admission", note: "Said so." }];
  const body = { user_id: other, confidence: "confirmed", kind: "declared_alt", basis };
  const { status } = await world.post(`/users/${one}/links`, body, { actor });
  if (status !== 201) throw new Error("no link");
}
