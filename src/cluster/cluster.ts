/** The server processes that answer for one database. */
export interface Cluster {
  /** Whether there may be others; without, nothing is shared by rows. */
  isOn: boolean;
  /** Of this process, among all that answer for the database. */
  nodeId: string;
  /** How many are alive, this one included. */
  liveNodes(): number;
  /** Whether this one holds the gateway and does what runs by itself. */
  isLeader(): boolean;
}

/** One process alone, as without `CLUSTER`. */
export const singleProcess: Cluster = { isOn: false, nodeId: "", liveNodes: () => 1, isLeader: () => true };
