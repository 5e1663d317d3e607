import { openApiDocument } from "../src/app/document.ts";
import { requireOnDemand } from "./on-demand.ts";

/** What is used of a package that is installed when the document is looked at. */
interface Redocly {
  createConfig(settings: object): Promise<object>;
  lintFromString(given: { source: string; config: object; absoluteRef: string }): Promise<Problem[]>;
}
interface Problem {
  ruleId: string;
  message: string;
  location: readonly { pointer?: string }[];
}

/** Holds the OpenAPI document against the strict rules of Redocly, and says how large it is. Ends with 1 where one is broken. */
const { createConfig, lintFromString } = (await requireOnDemand("redocly"))("@redocly/openapi-core") as Redocly;
const config = await createConfig({
  extends: ["recommended-strict"],
  rules: {
    "no-unused-components": "error",
    // Goes by the paths alone. Here ids have patterns that no fixed part fits, which a test of the document holds.
    "no-ambiguous-paths": "off",
  },
});
const source = JSON.stringify(openApiDocument());
const problems = await lintFromString({ source, config, absoluteRef: "openapi.json" });
for (const { ruleId, message, location } of problems) process.stderr.write(`${ruleId}: ${message} (${location[0]?.pointer ?? ""})\n`);
process.stdout.write(`openapi.json: ${Math.ceil(source.length / 1000).toString()} kB, ${problems.length.toString()} problems\n`);
process.exitCode = problems.length === 0 ? 0 : 1;
