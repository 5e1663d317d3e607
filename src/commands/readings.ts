import { annotated } from "../operations/route.ts";
import type { Call } from "../kernel/call.ts";
import { ProblemError, problems } from "../kernel/errors.ts";
import type { VerbInput } from "./entry.ts";
import type { Verbs } from "./verbs.ts";

/** One view, read with the rights of whoever asks. @throws ProblemError as the route refuses */
export async function readView<View>(verbs: Verbs, operation: string, call: Call, input: VerbInput): Promise<View> {
  return annotated(await verbs.run(operation, call, input)).view as View;
}

/** What is read to be told beside something else: what this reader is refused, for whatever reason, is left out. */
export async function unlessRefused<T>(read: () => Promise<T>): Promise<T | undefined> {
  try {
    return await read();
  } catch (error) {
    if (error instanceof ProblemError) return undefined;
    throw error;
  }
}

/** As `readView`; undefined where whoever asks may not see it. @throws ProblemError of what may be well a little later */
export async function readIfSeen<View>(verbs: Verbs, operation: string, call: Call, input: VerbInput): Promise<View | undefined> {
  try {
    return await readView<View>(verbs, operation, call, input);
  } catch (error) {
    if (error instanceof ProblemError && !("retryable" in problems[error.code])) return undefined;
    throw error;
  }
}
