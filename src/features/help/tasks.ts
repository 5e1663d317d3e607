import type { KeyAfter } from "../../kit/say.ts";

interface Task {
  /** `<command> <path>` of what does it. */
  entry: string;
  /** What it is called, under `help task …`. */
  text: KeyAfter<"help task">;
}

/** What people do with the service, most often first. Everybody is shown those that they may do. */
export const tasks: readonly Task[] = [
  { text: "check", entry: "blacklist check" },
  { text: "queue", entry: "review queue" },
  { text: "next", entry: "review next" },
  { text: "moderate", entry: "ban" },
  { text: "punish", entry: "request punishment" },
  { text: "list", entry: "request blacklist-user" },
  { text: "timeline", entry: "case timeline" },
  { text: "profile", entry: "intel profile" },
  { text: "open-case", entry: "case open" },
  { text: "note", entry: "case note" },
  { text: "mine", entry: "request mine" },
  { text: "confirm", entry: "confirm list" },
  { text: "leave", entry: "staff loa start" },
  { text: "setup", entry: "setup wizard" },
  { text: "data", entry: "mydata" },
];

/** The sub-commands that people use most, which stand before the others of their command. */
export const mostUsed: readonly string[] = [
  ...["queue", "next", "show", "approve", "deny", "ask", "claim", "comments", "history"].map((path) => `review ${path}`),
  ...["punishment", "blacklist-user", "mine", "comment", "answer", "appeal", "alt", "investigation"].map((path) => `request ${path}`),
  ...["check", "show", "search"].map((path) => `blacklist ${path}`),
  ...["open", "show", "list", "note", "timeline", "evidence", "action", "close", "notes", "history"].map((path) => `case ${path}`),
  ...["profile", "authorize", "status", "matches", "servers", "strikes"].map((path) => `intel ${path}`),
  ...["show", "list", "history", "add", "edit"].map((path) => `roster ${path}`),
  ...["show", "list", "next"].map((path) => `callsign ${path}`),
  ...["list", "profile", "access", "loa start", "loa end", "quiet-hours"].map((path) => `staff ${path}`),
  ...["explain", "effective", "user", "grant", "deny"].map((path) => `permission ${path}`),
];

/** The subjects of the menu, each with its commands. */
export const groups = {
  review: ["review", "confirm"],
  request: ["request"],
  moderate: ["warn", "note", "timeout", "kick", "ban", "untimeout", "unban", "history"],
  blacklist: ["blacklist", "follows"],
  case: ["case"],
  people: ["intel", "alts"],
  roster: ["roster"],
  callsign: ["callsign"],
  staff: ["staff", "staffrole"],
  permission: ["permission"],
  setup: ["setup", "audit"],
  own: ["mydata", "help"],
} as const satisfies Partial<Readonly<Record<KeyAfter<"help group">, readonly string[]>>>;

export type GroupName = keyof typeof groups;
export const groupNames = Object.keys(groups) as GroupName[];

/** The commands of a subject. */
export function commandsOf(group: GroupName): readonly string[] {
  return groups[group];
}

/** What stands in an example for an option, by its name; other texts are shown as `…`. */
export const samples: Readonly<Record<string, string>> = {
  ids: "80351110224678912",
  server: "80351110224678912",
  record: "BL-000123",
  case: "CASE-000123",
  reference: "BLU-REQ-000001",
  target: "PUN-REQ-000002",
  callsign: "M-001",
  until: "7d",
  duration: "30d",
  from: "22:00",
  to: "07:00",
};
