import { type Budget, note } from "./fields.ts";
import type { FetchedAttachment } from "../../kernel/discord-port.ts";
import { messageLimits } from "../../kernel/message-parts.ts";

/** The files of a message and of the messages in it, each once, in the order in which they are fetched. */
interface FileList {
  readonly all: FetchedAttachment[];
  /** Add a file, or find it again. @returns its position; undefined beyond those that are fetched */
  add(file: FetchedAttachment, at: string, key?: string): number | undefined;
  /** Where a file of this key is. */
  find(key: string): number | undefined;
}

/** The most bytes that a column for sizes holds. */
const maxSize = 2 ** 31 - 1;

export function createFileList(budget: Budget): FileList {
  const all: FetchedAttachment[] = [];
  const positions = new Map<string, number>();
  return {
    all,
    find: (key) => positions.get(key),
    add({ name, bytes, url }, at, key = url) {
      const known = positions.get(key);
      if (known !== undefined) return known;
      if (all.length >= messageLimits.files) {
        note(budget, at, "not_fetched");
        return undefined;
      }
      positions.set(key, all.length);
      all.push({ name, url, bytes: Math.min(maxSize, Math.max(0, Math.trunc(bytes))) });
      return all.length - 1;
    },
  };
}

/** What reading one message needs. */
export interface Reading {
  budget: Budget;
  files: FileList;
  /** Whether an address is at one of the hosts that files are fetched from. */
  isFetched: (url: string) => boolean;
  /** The address of a sticker's picture. */
  stickerUrl: (id: string, format: number) => string | undefined;
}
