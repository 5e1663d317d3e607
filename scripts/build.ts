import { fileURLToPath } from "node:url";
import { bundle, program } from "./bundle.ts";

await bundle(fileURLToPath(new URL("../dist", import.meta.url)), program);
