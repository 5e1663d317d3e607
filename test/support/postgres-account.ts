import { execFileSync } from "node:child_process";

/** The account of a process, as `spawn` takes it; empty for the one that runs the tests. */
export interface Account {
  name?: string;
  uid?: number;
  gid?: number;
}

/** PostgreSQL refuses to run as root: then it is the account that Debian's package makes for it, or the one that owns nothing. */
export function accountOfServer(): Account {
  if (process.getuid?.() !== 0) return {};
  const name = ["postgres", "nobody"].find(isThere) ?? "nobody";
  return { name, uid: Number(idOf("-u", name)), gid: Number(idOf("-g", name)) };
}

function isThere(name: string): boolean {
  try {
    return idOf("-u", name) !== "";
  } catch {
    return false;
  }
}

const idOf = (flag: string, name: string): string =>
  execFileSync("id", [flag, name], { encoding: "utf8", stdio: ["ignore", "pipe", "ignore"] }).trim();
