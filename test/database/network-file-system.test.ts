// @module-tag sqlite
import { expect, test } from "vitest";
import { networkFileSystem, networkWarning } from "../../src/database/network-file-system.ts";

test.each([
  [0x6969, "NFS"],
  [0xff534d42, "CIFS"],
  [0xff534d42 - 2 ** 32, "CIFS"],
  [0xfe534d42, "SMB"],
  [0x00c36400, "Ceph"],
])("the file system %i is %s, on another machine", (type, name) => {
  expect(networkFileSystem(type)).toBe(name);
});

test.each([
  ["ext4", 0xef53],
  ["btrfs", 0x9123683e],
  ["xfs", 0x58465342],
  ["overlay", 0x794c7630],
  ["tmpfs", 0x01021994],
])("%s is on this machine", (_, type) => {
  expect(networkFileSystem(type)).toBeUndefined();
});

test("a SQLite file on a network file system is warned about by its path, and PostgreSQL is not", async () => {
  const nfs = () => Promise.resolve(0x6969);
  expect(await networkWarning("file:./data/provost.db", nfs)).toBe(
    "The database ./data/provost.db is on a network file system (NFS), where SQLite can lose or damage data: move it to a disk of this machine and name it in DATABASE_URL, or use PostgreSQL.",
  );
  expect(await networkWarning("postgresql://me@db/provost", nfs)).toBeUndefined();
});

test("a file on this machine's own disk is not warned about, nor is a folder that is not made yet", async () => {
  expect(await networkWarning("file:/no/such/folder/provost.db")).toBeUndefined();
  expect(await networkWarning(`file:${import.meta.dirname}/provost.db`)).toBeUndefined();
});
