import { Command } from "commander";
import { print } from "./output.ts";

/** `provost openapi`: the document a server answers at /openapi.json; needs no environment. */
export function openapiCommand(): Command {
  return new Command("openapi").description("Print the OpenAPI document").action(async () => {
    const { openApiDocument } = await import("../app/document.ts");
    print(JSON.stringify(openApiDocument(), null, 2));
  });
}
