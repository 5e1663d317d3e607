import { readFileSync } from "node:fs";
import { packageFolder } from "./package-folder.ts";

const description = JSON.parse(readFileSync(new URL("package.json", packageFolder), "utf8")) as {
  version: string;
  engines: { node: string };
};

/** The version of package.json. */
export const { version } = description;

/** The oldest Node.js that runs it. */
export const oldestNode = description.engines.node.replace(/^>=/, "");
