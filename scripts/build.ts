import { fileURLToPath } from "node:url";
import { bundleClient } from "./bundle-client.ts";
import { bundle, program } from "./bundle.ts";
import { writeClientTypes } from "./client-types.ts";

await writeClientTypes();
await bundle(fileURLToPath(new URL("../dist", import.meta.url)), program);
await bundleClient(fileURLToPath(new URL("../dist/client", import.meta.url)));
