/** How a change that waits for a confirmation is told. */
export interface HeldView {
  id: string;
  /** What is typed or picked in `/confirm`. */
  code: string;
  action: string;
  summary: string;
  /** Who still has to confirm. */
  needs: ("acting_user" | "second_person")[];
  status: "pending";
  expires_at: string;
  /** A new API key, shown only now; it works once the change is confirmed. */
  key?: string;
}

/** What a write service method answers instead of its view when nothing was changed yet: the change is kept until it is confirmed. */
export interface Held {
  confirmation_required: HeldView;
}

/** Whether a service method held its change back. An answer kept for a repeated request is recognised, too. */
export function isHeld(answer: unknown): answer is Held {
  return typeof answer === "object" && answer !== null && "confirmation_required" in answer;
}

/**
 * The view of a service method in a call whose changes are never held, such as the operator's command line.
 * @throws Error when it was held all the same
 */
export function requireDone<View>(answer: View | Held): View {
  if (isHeld(answer)) throw new Error(`the change waits for a confirmation: ${answer.confirmation_required.summary}`);
  return answer;
}
