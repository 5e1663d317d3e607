import { spawnSync } from "node:child_process";
import { existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from "node:fs";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { fileURLToPath } from "node:url";

/**
 * Builds the SQLite addon again where it was compiled against the headers of Node 24.19 or newer, whose `ObjectWrap` ends the process at a
 * garbage collection (https://github.com/nodejs/node/issues/65446): with the same header, without the two calls that do it. Anywhere else it does nothing.
 */
const home = fileURLToPath(new URL("../node_modules/better-sqlite3", import.meta.url));
const addon = join(home, "build/Release/better_sqlite3.node");
/** Set by node-gyp: where the headers are that the addon was compiled against. */
const settings = join(home, "build/config.gypi");

function isHarmful() {
  return existsSync(addon) && readFileSync(addon).includes("RemoveEnvironmentCleanupHook");
}

/** @param {string[]} argv */
function gyp(argv, env = {}) {
  const { status, stdout, stderr, error } = spawnSync("node-gyp", [...argv, "--release"], {
    cwd: home,
    encoding: "utf8",
    env: { ...process.env, ...env },
  });
  if (status !== 0) throw new Error(`node-gyp ${argv.join(" ")}: ${error?.message ?? ""}${stdout ?? ""}${stderr ?? ""}`.trim());
}

/** @returns {string} Node's own header without what it does at the end of an object */
function headerWithoutHooks() {
  if (!existsSync(settings)) gyp(["configure"]);
  const [, folder] = readFileSync(settings, "utf8").match(/"nodedir": "([^"]+)"/) ?? [];
  const header = readFileSync(join(folder ?? "", "include/node/node_object_wrap.h"), "utf8");
  const without = header.replaceAll(/^\s*(?:Add|Remove)CleanupHook\(\);$/gm, "");
  if (without === header) throw new Error("Node's header of ObjectWrap is not the one that is known");
  return without;
}

if (isHarmful()) {
  const folder = mkdtempSync(join(tmpdir(), "provost-addon-"));
  try {
    const header = join(folder, "node_object_wrap.h");
    writeFileSync(header, headerWithoutHooks());
    gyp(["rebuild"], { CXXFLAGS: `${process.env["CXXFLAGS"] ?? ""} -include ${header}` });
    if (isHarmful()) throw new Error("the addon still has the calls");
    console.log("addon: built SQLite's addon again for this version of Node");
  } catch (error) {
    console.error(
      `addon: on this version of Node the SQLite addon can end the process at any time, and it could not be built again: use Node 22, or 24.18\n${String(error)}`,
    );
    process.exitCode = 1;
  } finally {
    rmSync(folder, { recursive: true, force: true });
  }
}
