import { shared } from "./cluster/feature.ts";
import type { GuidePart } from "./commands/guide.ts";
import { createCommandTable, type CommandTable } from "./commands/table.ts";
import { compose } from "./compose.ts";
import { type Core, type CoreOptions, openCore } from "./core.ts";
import { causesInForce, discordActions } from "./discord-actions/feature.ts";
import { alerts } from "./features/alerts/feature.ts";
import { audit } from "./features/audit/feature.ts";
import { authorization, grants } from "./features/authorization/feature.ts";
import { blacklist } from "./features/blacklist/feature.ts";
import { callsignRegistry, callsignRepairs, callsigns } from "./features/callsigns/feature.ts";
import { cases } from "./features/cases/feature.ts";
import { channels } from "./features/channels/feature.ts";
import { confirmations } from "./features/confirmations/feature.ts";
import { events, eventStreams } from "./features/events/feature.ts";
import { evidenceEntries } from "./features/evidence/commands/evidence-entries.ts";
import { evidence } from "./features/evidence/feature.ts";
import { followedEntries, follows } from "./features/follows/feature.ts";
import { health } from "./features/health/feature.ts";
import { helpCommands } from "./features/help/help.commands.ts";
import { mostUsed } from "./features/help/tasks.ts";
import { intelligence } from "./features/intelligence/feature.ts";
import { keys } from "./features/keys/feature.ts";
import { conflicts, linkReach, links } from "./features/links/feature.ts";
import { listChecks, listRules, lists } from "./features/lists/feature.ts";
import { messages } from "./features/messages/feature.ts";
import { nativeActions } from "./features/native-actions/feature.ts";
import { permissions, access } from "./features/permissions/feature.ts";
import { personalData, privacy } from "./features/privacy/feature.ts";
import { roster, rosterAudits, rosterEntries, rosterSync } from "./features/roster/feature.ts";
import { setup } from "./features/setup/feature.ts";
import { setupCommands } from "./features/setup/setup.commands.ts";
import { registry, serverFacts } from "./features/servers/feature.ts";
import { staff } from "./features/staff/feature.ts";
import { webhooks } from "./features/webhooks/feature.ts";
import { timeline } from "./features/timeline/feature.ts";
import { appeals, cards, deliveries, requestRecords, workflows } from "./features/workflows/feature.ts";
import type { JobState } from "./jobs.ts";
import type { HttpApp } from "./http/http-app.ts";
import type { Route } from "./operations/route.ts";

/** Every feature, in the order of creation: what one needs is made by the core or by a feature above it. */
export const features = compose<Core & Interfaces>()
  .with(shared)
  .with(listChecks)
  .with(access)
  .with(audit)
  .with(events)
  .with(discordActions)
  .with(channels)
  .with(linkReach)
  .with(confirmations)
  .with(permissions)
  .with(conflicts)
  .with(eventStreams)
  .with(keys)
  .with(roster)
  .with(staff)
  .with(grants)
  .with(serverFacts)
  .with(personalData)
  .with(intelligence)
  .with(registry)
  .with(links)
  .with(authorization)
  .with(followedEntries)
  .with(evidence)
  .with(nativeActions)
  .with(causesInForce)
  .with(listRules)
  .with(blacklist)
  .with(follows)
  .with(callsigns)
  .with(requestRecords)
  .with(cases)
  .with(workflows)
  .with(appeals)
  .with(deliveries)
  .with(lists)
  .with(messages)
  .with(cards)
  .with(alerts)
  .with(webhooks)
  .with(rosterSync)
  .with(callsignRegistry)
  .with(callsignRepairs)
  .with(rosterAudits)
  .with(rosterEntries)
  .with(timeline)
  .with(privacy)
  .with(setup(guideParts))
  .with(health);

/** What the features add to the guide, which is one of them. */
function guideParts(): readonly GuidePart[] {
  return features.guide;
}

export type Services = ReturnType<typeof features.create>;

/** What features use of the interfaces around them. */
export interface Interfaces {
  /** What leads to a command, a button or a menu. @param entry `<command> <path>` */
  pressOf: CommandTable["pressOf"];
  /** Every route, with whether it can be used as this installation is set up. */
  routeRegistry: HttpApp["registry"];
  /** How each job has done since the start. */
  jobStates: () => JobState[];
}

/** The chapters of the document, in the order in which the author of a client meets them. */
const chapters = [
  "health",
  "authorization",
  "intelligence",
  "servers",
  "links",
  "timeline",
  "privacy",
  "staff",
  "staff roles",
  "permissions",
  "keys",
  "channels",
  "confirmations",
  "blacklist",
  "lists",
  "cases",
  "evidence",
  "native actions",
  "workflows",
  "audit",
  "events",
  "webhooks",
  "callsigns",
  "roster",
];

/** Every route, chapter by chapter. */
export function routesOf(services: Services): Route[] {
  const chapterOf = ({ spec }: Route): number => chapters.indexOf(spec.tags[0] ?? "");
  return features.routes(services).toSorted((one, other) => chapterOf(one) - chapterOf(other));
}

/** Every route, to read its description; its handlers lead nowhere. */
export function routeTable(): Route[] {
  const nowhere: Services = new Proxy({} as Services, { get: () => nowhere });
  return routesOf(nowhere);
}

/**
 * Every service, without a connection to Discord and without HTTP: what the command line works with.
 * @throws DatabaseError, ProblemError when the database cannot be opened
 */
export async function openServices(options: CoreOptions & Partial<Interfaces>) {
  const core = await openCore(options);
  const services = features.create({
    pressOf: (entry) => commandTable().pressOf(entry),
    routeRegistry: () => [],
    jobStates: () => [],
    ...options,
    ...core,
  });
  return {
    ...services,
    async close(): Promise<void> {
      await features.close(services);
      await core.database.close();
    },
  };
}

let table: CommandTable | undefined;

/** Every slash command, with `/help`, which explains them all. Made when it is first needed, as the first answers over HTTP need none. */
export function commandTable(): CommandTable {
  table ??= createCommandTable(
    [...features.commands({ evidenceEntries }), setupCommands(features.guide), helpCommands(commandTable)],
    routeTable().map(({ spec }) => spec),
    mostUsed,
  );
  return table;
}
