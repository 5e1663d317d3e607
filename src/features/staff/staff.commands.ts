import type { Command, CommandOptions, Run } from "../../discord/command.ts";
import type { Call } from "../../kernel/call.ts";
import { parseDuration } from "../../kernel/fields.ts";
import type { Page } from "../../kernel/page.ts";
import { staffOptions } from "./staff.commands.options.ts";
import type { StaffEntryView, StaffListQuery } from "./staff.schema.ts";
import { StaffListQuery as ListQuery } from "./staff.schema.ts";
import type { StaffService } from "./staff.service.ts";
import { accessText, leaveStateText, listText, profileText, quietHoursText, suspensionText } from "./staff.wording.ts";

type Staff = Pick<StaffService, "access" | "profile" | "list" | "update" | "suspend" | "reinstate" | "startLeave" | "endLeave">;

const pageSize = 25;

export function staffCommands(staff: Staff): Command[] {
  return [
    {
      payload: { name: "staff", description: "Who is staff here, and what they may do", options: [...staffOptions] },
      subcommands: { ...readers(staff), ...suspensions(staff), ...leaves(staff), "quiet-hours": quietHours(staff) },
    },
  ];
}

function readers(staff: Staff): Record<string, Run> {
  return {
    async access(options, call) {
      const { view } = await staff.access(call, options.getUser("user", true).id);
      return { content: accessText(view) };
    },
    async profile(options, call) {
      return { content: profileText(await staff.profile(call, personOf(options, call))) };
    },
    async list(options, call) {
      const asked = { role: options.getString("role"), status: options.getString("status"), q: options.getString("name") };
      const available = options.getBoolean("available");
      const filters = { ...withoutNulls(asked), ...(available !== null && { available: available.toString() }) };
      const page = options.getInteger("page") ?? 1;
      const query = ListQuery.parse({ ...filters, limit: pageSize, count: "true" });
      const shown = await pageAt(staff, call, query, page);
      const total = shown.total ?? 0;
      return { content: listText(shown, total, page, Math.max(1, Math.ceil(total / pageSize))) };
    },
  };
}

/** Pages follow each other; the last one is followed by an empty one. */
async function pageAt(staff: Staff, call: Call, query: StaffListQuery, page: number): Promise<Page<StaffEntryView>> {
  let shown = await staff.list(call, query);
  for (let at = 1; at < page; at += 1) {
    if (shown.next_cursor === null) return { ...shown, data: [] };
    shown = await staff.list(call, { ...query, cursor: shown.next_cursor });
  }
  return shown;
}

function suspensions(staff: Staff): Record<string, Run> {
  return {
    async suspend(options, call) {
      const input = { reason: options.getString("reason", true), ...endOf(options) };
      return { content: suspensionText(await staff.suspend(call, options.getUser("user", true).id, input)) };
    },
    async reinstate(options, call) {
      const input = { reason: options.getString("reason", true) };
      return { content: suspensionText(await staff.reinstate(call, options.getUser("user", true).id, input)) };
    },
  };
}

function leaves(staff: Staff): Record<string, Run> {
  return {
    async "loa start"(options, call) {
      const input = { reason: options.getString("reason", true), ...endOf(options), ...withoutNulls({ from: options.getString("from") }) };
      return { content: leaveStateText(await staff.startLeave(call, personOf(options, call), input)) };
    },
    async "loa end"(options, call) {
      const input = withoutNulls({ reason: options.getString("reason") });
      return { content: leaveStateText(await staff.endLeave(call, personOf(options, call), input)) };
    },
  };
}

function quietHours(staff: Staff): Run {
  return async (options, call) => {
    const timezone = withoutNulls({ timezone: options.getString("timezone") });
    const quiet = { ...daysOf(options), from: options.getString("from") ?? "", to: options.getString("to") ?? "" };
    const input = { ...timezone, quiet_hours: options.getBoolean("none") === true ? null : [quiet] };
    return { content: quietHoursText(await staff.update(call, personOf(options, call), input)) };
  };
}

/** Whom a command is about: whoever gives it, unless told. */
function personOf(options: CommandOptions, call: Call): string {
  return options.getUser("user")?.id ?? call.actor?.id ?? "";
}

/** `7d` is a length, everything else a time. */
function endOf(options: CommandOptions): { duration?: string; until?: string } {
  const until = options.getString("until");
  if (until === null) return {};
  return parseDuration(until) === undefined ? { until } : { duration: until };
}

/** `0,6` or `0 6`; what is no number is refused by the verb. */
function daysOf(options: CommandOptions): { days?: number[] } {
  const text = options.getString("days");
  return text === null ? {} : { days: text.split(/[\s,]+/).map(Number) };
}

function withoutNulls<Key extends string>(given: Record<Key, string | null>): Partial<Record<Key, string>> {
  return Object.fromEntries(Object.entries(given).filter(([, value]) => value !== null)) as Partial<Record<Key, string>>;
}
