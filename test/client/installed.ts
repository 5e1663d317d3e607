import { mkdir, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { bundleClient } from "../../scripts/bundle-client.ts";
import packageFile from "../../package.json" with { type: "json" };

/** A folder in which `provost/client` is installed and no other package; removed at the end of `await using`. */
export async function installClient() {
  const folder = await mkdtemp(join(tmpdir(), "provost-client-"));
  const installed = join(folder, "node_modules/provost");
  await mkdir(installed, { recursive: true });
  const { name, version, type, exports } = packageFile;
  await writeFile(join(installed, "package.json"), JSON.stringify({ name, version, type, exports }));
  await writeFile(join(folder, "package.json"), JSON.stringify({ type: "module" }));
  const metafile = await bundleClient(join(installed, "dist/client"));
  return {
    folder,
    metafile,
    module: join(installed, "dist/client/index.js"),
    [Symbol.asyncDispose]: () => rm(folder, { recursive: true, force: true }),
  };
}
