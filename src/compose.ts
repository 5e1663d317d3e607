import type { CommandSet } from "./commands/entry.ts";
import type { GuidePart } from "./commands/guide.ts";
import type { PendingInteractions } from "./commands/pending-interactions.ts";
import type { Verbs } from "./commands/verbs.ts";
import type { Control } from "./discord/command.ts";
import type { GatewayListener } from "./discord/gateway/listeners.ts";
import type { Jobs } from "./jobs.ts";
import type { evidenceEntries } from "./features/evidence/commands/evidence-entries.ts";
import type { HtmlPage } from "./http/pages/page.ts";
import type { Ends } from "./kernel/ends.ts";
import type { Readings } from "./metrics/table.ts";
import type { Route } from "./operations/route.ts";

/** What commands are made with that another feature has. */
export interface CommandKit {
  evidenceEntries: typeof evidenceEntries;
}

/**
 * What a feature is made of. Each feature exports its manifests from `feature.ts`; `features.ts` lists them in the order in which they are created.
 * @typeParam Needs what it asks of the core and of the features before it
 * @typeParam Made what it adds, by the names under which later features ask for it
 */
export interface Feature<Needs extends object, Made extends object> {
  create: (needs: Needs) => Made;
  /** What it answers by HTTP. */
  routes?: (all: Needs & Made) => readonly Route[];
  /** Its slash commands, which run the operations of routes. */
  commands?: CommandSet | ((kit: CommandKit) => CommandSet);
  /** What it adds to `/setup`. */
  guide?: GuidePart;
  /** Buttons and menus that no command leads to by itself. */
  controls?: (all: Needs & Made, verbs: Verbs, kept: PendingInteractions) => readonly Control[];
  /** What it shows to browsers. */
  pages?: (all: Needs & Made) => readonly HtmlPage[];
  /** What it hears of from the gateway of Discord. */
  listeners?: (all: Needs & Made) => readonly GatewayListener[];
  /** What it does every minute, and at its dates where it has some, by name; of several processes only the one that leads does it. */
  jobs?: (all: Needs & Made) => Jobs;
  /** What every process does every minute, by name. */
  jobsEach?: (all: Needs & Made) => Jobs;
  /** How its metrics are read; they are asked only where metrics are collected. */
  metrics?: (all: Needs & Made) => Readings;
  /** Reads into memory what its answers need, before anything is answered. */
  load?: (all: Needs & Made) => Promise<unknown>;
  /** Begins what every process does by itself, once the server listens. */
  startEach?: (all: Needs & Made) => void;
  /** Begins what only one process may do, once it leads. A process that leads no more is replaced and does not begin again. */
  start?: (all: Needs & Made) => void;
  /** Ends answers without an end, which would keep the server from closing. */
  endStreams?: (all: Needs & Made) => Promise<unknown>;
  /** Ends what was started, if it was, by name. All features end side by side, and nobody waits longer than a few seconds. */
  stop?: (all: Needs & Made) => Ends;
  /** Ends what `create` began: timers, and writes that wait. */
  close?: (all: Needs & Made) => unknown;
}

/** Checks a manifest, and keeps the types of what it needs and makes. */
export function feature<Needs extends object, Made extends object>(manifest: Feature<Needs, Made>): Feature<Needs, Made> {
  return manifest;
}

/** Features in the order of their creation. A feature that needs what no feature before it makes does not compile. */
export interface Features<Core extends object, All extends Core> {
  with: <Made extends object>(feature: Feature<All, Made>) => Features<Core, All & Made>;
  create: (core: Core) => All;
  routes: (all: All) => Route[];
  commands: (kit: CommandKit) => CommandSet[];
  guide: readonly GuidePart[];
  controls: (all: All, verbs: Verbs, kept: PendingInteractions) => Control[];
  pages: (all: All) => HtmlPage[];
  listeners: (all: All) => GatewayListener[];
  jobs: (all: All) => Jobs;
  jobsEach: (all: All) => Jobs;
  metrics: (all: All) => Readings;
  load: (all: All) => Promise<void>;
  startEach: (all: All) => void;
  start: (all: All) => void;
  endStreams: (all: All) => Promise<void>;
  /** The last created first. */
  stop: (all: All) => Ends;
  /** The last created first. */
  close: (all: All) => Promise<void>;
}

/** The beginning of a list of features. */
export function compose<Core extends object>(): Features<Core, Core> {
  return listOf<Core, Core>([]);
}

/** Whoever calls a manifest hands in everything, so what it needs is there. */
type Listed = Feature<never, object>;

function listOf<Core extends object, All extends Core>(list: readonly Listed[]): Features<Core, All> {
  const given = (all: All) => all as never;
  const backwards = list.toReversed();
  return {
    with: (one) => listOf([...list, one as unknown as Listed]),
    create(core) {
      const all: object = { ...core };
      for (const one of list) Object.assign(all, one.create(all as never));
      return all as All;
    },
    commands: (kit) => list.flatMap(({ commands = [] }) => (typeof commands === "function" ? commands(kit) : commands)),
    guide: list.flatMap(({ guide }) => guide ?? []),
    controls: (all, verbs, kept) => list.flatMap((one) => one.controls?.(given(all), verbs, kept) ?? []),
    routes: (all) => list.flatMap((one) => one.routes?.(given(all)) ?? []),
    pages: (all) => list.flatMap((one) => one.pages?.(given(all)) ?? []),
    listeners: (all) => list.flatMap((one) => one.listeners?.(given(all)) ?? []),
    jobs: (all) => Object.assign({}, ...list.map((one) => one.jobs?.(given(all)))) as Jobs,
    jobsEach: (all) => Object.assign({}, ...list.map((one) => one.jobsEach?.(given(all)))) as Jobs,
    metrics: (all) => Object.assign({}, ...list.map((one) => one.metrics?.(given(all)))) as Readings,
    async load(all) {
      for (const one of list) await one.load?.(given(all));
    },
    startEach(all) {
      for (const one of list) one.startEach?.(given(all));
    },
    start(all) {
      for (const one of list) one.start?.(given(all));
    },
    async endStreams(all) {
      for (const one of backwards) await one.endStreams?.(given(all));
    },
    stop: (all) => Object.assign({}, ...backwards.map((one) => one.stop?.(given(all)))) as Ends,
    async close(all) {
      for (const one of backwards) await one.close?.(given(all));
    },
  };
}
