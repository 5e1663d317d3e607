import type { Command } from "../../discord/command.ts";
import { StaffStatus } from "./staff.schema.ts";

const subcommand = 1;
const group = 2;
const stringOption = 3;
const integerOption = 4;
const booleanOption = 5;
const userOption = 6;

const person = (description: string) => ({ type: userOption, name: "user", description, required: true }) as const;
const personOrSelf = { type: userOption, name: "user", description: "Whom it is about; yourself unless told", required: false } as const;
const until = {
  type: stringOption,
  name: "until",
  description: "A length such as 7d, or a time such as 2026-12-24T18:00:00Z; without it there is no end",
  required: false,
  max_length: 40,
} as const;
const reason = (isRequired: boolean) =>
  ({
    type: stringOption,
    name: "reason",
    description: "Why; kept in the audit",
    required: isRequired,
    min_length: 3,
    max_length: 500,
  }) as const;
const text = (name: string, description: string, max: number) =>
  ({ type: stringOption, name, description, required: false, max_length: max }) as const;

/** The sub-commands of /staff. */
export const staffOptions = [
  { type: subcommand, name: "access", description: "What somebody may do here, and why", options: [person("Whose access")] },
  { type: subcommand, name: "profile", description: "Who a staff member is", options: [personOrSelf] },
  {
    type: subcommand,
    name: "list",
    description: "Staff, highest rank first",
    options: [
      text("role", "Key of a staff role", 50),
      {
        type: stringOption,
        name: "status",
        description: "Everybody but former staff unless told",
        required: false,
        choices: StaffStatus.options.map((status) => ({ name: status, value: status })),
      },
      { type: booleanOption, name: "available", description: "Whether they can be asked now", required: false },
      text("name", "Part of a name, or the start of an id", 100),
      { type: integerOption, name: "page", description: "Which page of 25", required: false, min_value: 1, max_value: 100 },
    ],
  },
  {
    type: subcommand,
    name: "suspend",
    description: "Take every permission of somebody away at once",
    options: [person("Who is suspended"), reason(true), until],
  },
  {
    type: subcommand,
    name: "reinstate",
    description: "End a suspension",
    options: [person("Whose suspension ends"), reason(true)],
  },
  {
    type: group,
    name: "loa",
    description: "Leave of absence",
    options: [
      {
        type: subcommand,
        name: "start",
        description: "Begin or plan a leave",
        options: [reason(true), until, text("from", "When it begins, such as 2026-12-24T18:00:00Z; now unless told", 40), personOrSelf],
      },
      { type: subcommand, name: "end", description: "End a leave, or call a planned one off", options: [reason(false), personOrSelf] },
    ],
  },
  {
    type: subcommand,
    name: "quiet-hours",
    description: "When somebody is not to be asked",
    options: [
      text("from", "When they begin, such as 22:00", 5),
      text("to", "When they end, such as 07:00", 5),
      text("days", "On which days, 0 is Sunday, such as 0,6; every day unless told", 20),
      text("timezone", "Such as Europe/Berlin", 64),
      { type: booleanOption, name: "none", description: "No quiet hours any more", required: false },
      personOrSelf,
    ],
  },
] as const satisfies NonNullable<Command["payload"]["options"]>;
