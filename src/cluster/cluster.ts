import type { DiscordStatus } from "../kernel/discord-port.ts";

/** What only the process that leads sees for itself. */
export interface LeaderView {
  discord: DiscordStatus;
  guildState: { isLive: boolean; asOf: Date | null };
  /** The languages that guilds state as their own, by guild. */
  locales: Readonly<Record<string, string>>;
}

/** A server process of this installation, as the database knows it. */
export interface NodeInfo {
  id: string;
  host: string;
  pid: number;
  version: string;
  startedAt: Date;
  heartbeatAt: Date;
  isLeader: boolean;
}

/** The processes that serve this installation together (`CLUSTER=on`), or the only one. */
export interface Cluster {
  /** Whether there may be others. */
  isOn: boolean;
  /** Of this process, among all that serve. */
  nodeId: string;
  /** How many serve now, this one included. */
  liveNodes(): number;
  /** Those that serve now; none where there is only one process. */
  nodes(): readonly NodeInfo[];
  /** Whether this one has the link to Discord and does what only one may do. */
  isLeader(): boolean;
  /** What the process that leads has told; undefined where this one leads, or none has told anything lately. */
  leader(): LeaderView | undefined;
}

/** One process with a database of its own. */
export const singleProcess: Cluster = {
  isOn: false,
  nodeId: "",
  liveNodes: () => 1,
  nodes: () => [],
  isLeader: () => true,
  leader: () => undefined,
};
