import { confirmEntries } from "./confirm.ts";
import { mydataEntries } from "./mydata.ts";
import { permissionEntries } from "./permission.ts";
import { setupEntries } from "./setup.ts";
import { staffEntries } from "./staff.ts";
import { staffroleEntries } from "./staffrole.ts";
import { altsEntries } from "./alts.ts";
import { blacklistEntries } from "./blacklist.ts";
import { caseEntries } from "./case.ts";
import { intelEntries } from "./intel.ts";
import { auditEntries } from "./audit.ts";
import { callsignEntries } from "./callsign.ts";
import type { Entry, MenuSpec } from "./entry.ts";
import { recordMenuEntries, recordMenus } from "./menus.ts";
import { requestEntries } from "./request.ts";
import { reviewEntries } from "./review.ts";
import { rosterEntries } from "./roster.ts";

/** Everything that can be done by slash command. */
export const entries: readonly Entry[] = [
  ...blacklistEntries,
  ...caseEntries,
  ...altsEntries,
  ...intelEntries,

  ...requestEntries,
  ...reviewEntries,
  ...callsignEntries,
  ...confirmEntries,
  ...mydataEntries,
  ...permissionEntries,
  ...setupEntries,
  ...staffEntries,
  ...staffroleEntries,
  ...rosterEntries,
  ...auditEntries,
];

/** Commands that everybody sees. */
export const open: ReadonlySet<string> = new Set(["mydata"]);

/** Commands of the menu on a person or a message, at most five each. */
export const menus: readonly MenuSpec[] = recordMenus;

const byName = new Map([...entries, ...recordMenuEntries].map((entry) => [`${entry.command} ${entry.path}`.trim(), entry]));

/** @param name `<command> <path>` @throws Error when there is no such entry */
export function entryOf(name: string): Entry {
  const entry = byName.get(name);
  if (entry === undefined) throw new Error(`there is no command ${name}`);
  return entry;
}
