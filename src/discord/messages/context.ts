import type { Budget } from "./fields.ts";
import type { FileList } from "./files.ts";

/** What reading one message needs. */
export interface Reading {
  budget: Budget;
  files: FileList;
  /** Whether an address is at one of the hosts that files are fetched from. */
  isFetched: (url: string) => boolean;
  /** The address of a sticker's picture. */
  stickerUrl: (id: string, format: number) => string | undefined;
}
