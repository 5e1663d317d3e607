import type { Readable } from "node:stream";
import type { Tx } from "../../../database/database.ts";

/** A file that is not kept yet. */
export interface LooseFile {
  path: string;
  bytes: number;
  sha256: string;
}

/** Where files of evidence are, each under the SHA-256 of its bytes: equal bytes are there once, and no name a person gave is ever a path. */
export interface EvidenceStore {
  /** As `EVIDENCE_STORE` names it. */
  name: string;
  /**
   * Make it ready for this installation, and try it.
   * @throws OperatorError for what does not mend itself, such as a wrong key or a folder that cannot be written
   * @returns why it cannot be reached now; undefined when all is well
   */
  prepare(): Promise<string | undefined>;
  /** Write, read and delete a file. @throws OperatorError for what does not mend itself @returns as `prepare` */
  tryOut(): Promise<string | undefined>;
  /** Why it cannot be used now, asked of it in one step; undefined when it can, and where no network is between. */
  trouble(): Promise<string | undefined>;
  /**
   * Keep a file: it survives a power loss from then on. What is loose is moved away or left.
   * @throws ProblemError storage_busy, storage_full, storage_readonly
   */
  keep(file: LooseFile): Promise<void>;
  /** Whether a file of this size is there. @throws ProblemError storage_busy */
  has(sha256: string, bytes: number): Promise<boolean>;
  /** The bytes as they are; undefined when they are gone or of another size. @throws ProblemError storage_busy */
  read(sha256: string, bytes: number): Promise<Readable | undefined>;
  /** Delete a file for good, with every earlier version, in a transaction if one is given. @returns whether there may have been one */
  remove(sha256: string, tx?: Tx): Promise<boolean>;
  /** The files that were kept before a time, some at once. */
  olderThan(time: Date): AsyncIterable<string[]>;
  /**
   * Make sure that the other nodes use the same files.
   * @param nodeId this node; it is not told to the others before this ends
   * @param others the nodes that are live
   * @throws OperatorError that says what to set
   */
  proveShared(nodeId: string, others: readonly string[]): Promise<void>;
}
