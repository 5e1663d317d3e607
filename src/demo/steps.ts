import { audit, refusals, removeRole } from "./steps-end.ts";
import { authorize, readMatches, readServers, refresh, resolveMatch, takeBack } from "./steps-intelligence.ts";
import { blacklistServer, everyKind, secondDoor, slashCommands } from "./steps-requests.ts";
import { isUp, mapPermissions, readStaff, setUpStaffRoles } from "./steps-staff.ts";
import type { Stage } from "./stage.ts";

interface Step {
  title: string;
  play(stage: Stage): Promise<void>;
}

/** The main job, from an empty installation to a verified audit trail. */
export const steps: readonly Step[] = [
  { title: "The service is up, and Discord is connected", play: isUp },
  { title: "Staff roles: Discord roles get a meaning", play: setUpStaffRoles },
  { title: "Permissions: one role gets one more", play: mapPermissions },
  { title: "Staff, from live guild state", play: readStaff },
  { title: "A person grants access: session, consent page, Discord, callback", play: authorize },
  { title: "Status and servers, as far as the consent goes", play: readServers },
  { title: "A server is proposed for the blacklist and approved by two", play: blacklistServer },
  { title: "Matches follow the decision at once", play: readMatches },
  { title: "A match is looked into", play: resolveMatch },
  { title: "Refresh reads the servers again", play: refresh },
  { title: "In Discord: /blacklist check and /staff access", play: slashCommands },
  { title: "A request over REST, decided in Discord, read over REST", play: secondDoor },
  { title: "Every kind of request is taken", play: everyKind },
  { title: "Bad input and missing rights are refused, and change nothing", play: refusals },
  { title: "A role removed in Discord ends access", play: removeRole },
  { title: "The person takes their consent back", play: takeBack },
  { title: "The audit trail holds it all, and verifies", play: audit },
];
