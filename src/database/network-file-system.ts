import { statfs } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { dialectOf, sqliteFile } from "./dialect.ts";

/** The numbers by which Linux tells file systems that are on another machine (`statfs(2)`). */
const networkTypes: ReadonlyMap<number, string> = new Map([
  [0x69_69, "NFS"],
  [0x51_7b, "SMB"],
  [0xff_53_4d_42, "CIFS"],
  [0xfe_53_4d_42, "SMB"],
  [0x53_46_41_4f, "AFS"],
  [0x00_c3_64_00, "Ceph"],
  [0x0b_d0_0b_d0, "Lustre"],
]);

/** @returns the name of a file system on another machine, by its number; undefined for any other */
export function networkFileSystem(type: number): string | undefined {
  // A number above 2^31 is given with a sign on some machines.
  return networkTypes.get(type >>> 0);
}

/**
 * SQLite keeps its readers and writers apart by memory that they share, and by locks, which file systems on another machine do not keep.
 * @param typeOf answers the number of the file system that a folder is on
 * @returns a warning where the database is a file on such a one
 */
export async function networkWarning(url: string, typeOf = fileSystemType): Promise<string | undefined> {
  if (dialectOf(url) !== "sqlite" || process.platform !== "linux") return undefined;
  const file = sqliteFile(url);
  const name = networkFileSystem((await typeOf(dirname(resolve(file)))) ?? 0);
  if (name === undefined) return undefined;
  return `The database ${file} is on a network file system (${name}), where SQLite can lose or damage data: move it to a disk of this machine and name it in DATABASE_URL, or use PostgreSQL.`;
}

async function fileSystemType(folder: string): Promise<number | undefined> {
  return statfs(folder).then(
    ({ type }) => type,
    () => undefined,
  );
}
