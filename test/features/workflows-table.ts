/** What every action comes to, written by hand from the table of legal moves; nothing here is taken from the code it is held against. */

export const statusNames = [
  "pending",
  "in_review",
  "needs_info",
  "escalated",
  "approved",
  "denied",
  "withdrawn",
  "expired",
  "void",
  "reversed",
] as const;
export type StatusName = (typeof statusNames)[number];

/**
 * Where each action leads for somebody who may do anything and is not partial, by status. `-` is an illegal move, `!` is a decision
 * that stands already. The request needs one approval, nobody has claimed it; `release` is tried on one that is held.
 */
const destinations = `
               pending    in_review  needs_info  escalated   approved  denied   withdrawn  expired  void  reversed
claim          in_review  in_review  -           escalated   -         -        -          -        -     -
assign         in_review  in_review  needs_info  escalated   -         -        -          -        -     -
unassign       pending    pending    needs_info  escalated   -         -        -          -        -     -
approve        approved   approved   -           escalated   !         !        -          -        -     -
deny           denied     denied     denied      denied      !         !        -          -        -     -
request_info   needs_info needs_info -           needs_info  -         -        -          -        -     -
provide_info   -          -          pending     -           -         -        -          -        -     -
amend          pending    in_review  needs_info  escalated   -         -        -          -        -     -
escalate       escalated  escalated  escalated   -           -         -        -          -        -     -
deescalate     -          -          -           in_review   -         -        -          -        -     -
hold           pending    in_review  needs_info  escalated   -         -        -          -        -     -
release        pending    in_review  needs_info  escalated   -         -        -          -        -     -
withdraw       withdrawn  withdrawn  withdrawn   withdrawn   -         -        -          -        -     -
void           void       void       void        void        -         -        -          -        -     -
reopen         -          -          -           -           -         pending  pending    pending  -     -
reverse        -          -          -           -           reversed  -        -          -        -     -
abstain        pending    in_review  needs_info  escalated   -         -        -          -        -     -
object         pending    in_review  needs_info  escalated   -         -        -          -        -     -
`;

/**
 * Who is kept from an action, whatever the status: `P` permission_denied, `C` conflict_of_interest, `H` hierarchy_violation, `.` nobody.
 * What is below in `exceptions` goes first.
 *
 * filer: filed it and is not staff · requester: filed it, an admin · subject, linked (a confirmed account of the requester),
 * joined (filed the same): admins · reviewer: moderator · decider: senior · higher: admin · owner · outranked: an admin, and so is the
 * subject · bystander: staff without rights on requests · stranger: not staff, no part in it · assignee: a moderator who has claimed it · first: an admin, one of two who
 * approve · sole: an admin who approved alone; where it is not approved, that was before an amendment
 */
const rights = `
               filer requester subject linked joined reviewer decider higher owner outranked bystander stranger assignee first sole
claim          P    C         C       C      C      .        .       .      .     H         P         P        .        .     .
assign         P    C         C       C      C      P        .       .      .     H         P         P        P        .     .
unassign       P    C         C       C      C      P        .       .      .     H         P         P        .        .     .
approve        P    C         C       C      C      P        .       .      .     H         P         P        P        .     .
deny           P    C         C       C      C      P        .       .      .     H         P         P        P        .     .
request_info   P    C         C       C      C      .        .       .      .     H         P         P        .        .     .
provide_info   .    .         C       C      C      .        .       .      .     H         P         P        .        .     .
amend          .    .         C       C      C      P        .       .      .     H         P         P        P        .     .
escalate       P    C         C       C      C      .        .       .      .     H         P         P        .        .     .
deescalate     P    C         C       C      C      P        P       .      .     H         P         P        P        .     .
hold           P    C         C       C      C      .        .       .      .     H         P         P        .        .     .
release        P    C         C       C      C      P        .       .      .     H         P         P        P        .     .
withdraw       .    .         P       P      P      P        P       P      P     P         P         P        P        P     P
void           P    C         C       C      C      P        .       .      .     H         P         P        P        .     .
reopen         P    C         C       C      C      P        .       .      .     H         P         P        P        .     .
reverse        P    C         C       C      C      P        P       .      .     H         P         P        P        .     .
abstain        P    C         C       C      C      P        .       .      .     H         P         P        P        .     .
object         P    C         C       C      C      P        .       .      .     H         P         P        P        .     .
`;

/** Single cells: role, actions, statuses, and what they come to. `=` is the same again by the same person: nothing happens. */
const exceptions = `
decider   approve,deny,release,abstain,object  escalated                                        P
assignee  claim                                pending,in_review,escalated                      =
assignee  provide_info                         needs_info                                       in_review
first     approve                              pending,in_review,needs_info,escalated,approved  =
sole      approve                              approved                                         =
sole      reverse                              approved                                         C
`;

export const roles = [
  "filer",
  "requester",
  "subject",
  "linked",
  "joined",
  "reviewer",
  "decider",
  "higher",
  "owner",
  "outranked",
  "bystander",
  "stranger",
  "assignee",
  "first",
  "sole",
] as const;
export type Role = (typeof roles)[number];

/** What needs no permission known from the action alone: whoever may not read the request is told here that there is none. */
const lookedAtFirst: ReadonlySet<string> = new Set(["unassign", "provide_info", "amend", "withdraw"]);

export type Cell = { is: "moves"; to: StatusName } | { is: "replayed" } | { is: "refused"; code: string };

const codes: Readonly<Record<string, string>> = {
  "-": "invalid_transition",
  "!": "already_decided",
  P: "permission_denied",
  C: "conflict_of_interest",
  H: "hierarchy_violation",
};

const lines = (table: string) =>
  table
    .trim()
    .split("\n")
    .map((line) => line.trim().split(/\s+/));

/** A table of words as look-up by the name of its line and of its column. */
function grid(table: string): Map<string, Map<string, string>> {
  const [head = [], ...rows] = lines(table);
  return new Map(rows.map(([name = "", ...cells]) => [name, new Map(head.map((column, index) => [column, cells[index] ?? ""]))]));
}

const leads = grid(destinations);
const barred = grid(rights);
const special = new Map(
  lines(exceptions).flatMap(([role = "", actions = "", statuses = "", mark = ""]) =>
    actions.split(",").flatMap((action) => statuses.split(",").map((status) => [`${role} ${action} ${status}`, mark] as const)),
  ),
);

export const actionNames = [...leads.keys()];

function markOf(role: Role, action: string, status: StatusName): string {
  const own = special.get(`${role} ${action} ${status}`);
  if (own !== undefined) return own;
  const bar = barred.get(action)?.get(role);
  return bar === "." ? (leads.get(action)?.get(status) ?? "") : (bar ?? "");
}

/** What an action of somebody comes to in a status. */
export function expected(role: Role, action: string, status: StatusName): Cell {
  const mark = markOf(role, action, status);
  if (mark === "=") return { is: "replayed" };
  const code = codes[mark];
  return code === undefined ? { is: "moves", to: mark as StatusName } : { is: "refused", code };
}

/** The same through the door, which hides requests from whoever may not read them, and says of whoever is no staff that they are none. */
export function expectedAtDoor(role: Role, action: string, status: StatusName): Cell {
  const isStaff = role !== "stranger" && role !== "filer";
  if (!isStaff && !lookedAtFirst.has(action)) return { is: "refused", code: "acting_user_not_staff" };
  if ((role === "stranger" || role === "bystander") && lookedAtFirst.has(action)) return { is: "refused", code: "record_not_found" };
  return expected(role, action, status);
}

export function wordOf(cell: Cell): string {
  if (cell.is === "refused") return cell.code;
  return cell.is === "moves" ? cell.to : "replayed";
}
