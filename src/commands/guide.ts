import type { Reply, Row } from "../discord/command.ts";
import type { Call } from "../kernel/call.ts";
import type { Entry } from "./entry.ts";
import type { Translate } from "../kit/say.ts";
import type { Verbs } from "./verbs.ts";

/** What a feature adds to the guide through what a server goes by: sub-commands of `/setup`, and a step. */
export interface GuidePart {
  entries?: readonly Entry[];
  step?: GuideStep;
}

/** What a step of the guide works with: with the rights of the person who presses. */
export interface GuideContext {
  verbs: Verbs;
  call: Call;
  t: Translate;
  customIdOf(what: string): string;
}

/** What one step shows: the rows with the buttons to other steps come on top, so four at most. */
export interface GuidePage {
  text: string;
  rows: Row[];
}

/** One step of the guide. Where it stands is what is stored, so that it can be left and taken up again. */
export interface GuideStep {
  name: string;
  page(ground: GuideContext): Promise<GuidePage>;
  /** @param shown what the menu showed as chosen @returns what takes the place of the step; undefined: the step as it is now */
  act(ground: GuideContext, what: string, values: readonly string[], shown: readonly string[]): Promise<GuidePage | Reply | undefined>;
}
