import type { VerbInput, Verbs } from "../../../commands/verbs.ts";
import type { Reply, Row } from "../../../discord/command.ts";
import type { Call } from "../../../kernel/call.ts";
import type { Page } from "../../../kernel/page.ts";
import { readVisible } from "../../../commands/records.ts";
import type { Translate } from "../../../kit/say.ts";

/** What a step of the guide works with: with the rights of the person who presses. */
export interface SetupContext {
  verbs: Verbs;
  call: Call;
  t: Translate;
}

/** What one step shows: the rows with the buttons to other steps come on top, so four at most. */
export interface SetupPage {
  text: string;
  rows: Row[];
}

/** One step of the guide. Where it stands is what is stored, so that it can be left and taken up again. */
export interface SetupStep {
  name: string;
  page(ground: SetupContext): Promise<SetupPage>;
  /**
   * @param shown what the menu showed as chosen
   * @returns what takes the place of the step; undefined: the step as it stands now
   */
  act(ground: SetupContext, what: string, values: readonly string[], shown: readonly string[]): Promise<SetupPage | Reply | undefined>;
}

/** The custom id of a menu or a button of a step. */
export function actId(step: string, what: string): string {
  return `sw:act:${step}:${what}`;
}

/** A whole list, as far as the caller may see it; undefined: not at all. */
export async function listSeen<View>({ verbs, call }: SetupContext, operation: string, input: VerbInput = {}): Promise<View[] | undefined> {
  const query = { ...input.query, limit: 200 };
  return (await readVisible<Page<View>>(verbs, operation, call, { ...input, query }))?.data;
}
