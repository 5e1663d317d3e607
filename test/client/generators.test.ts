// @module-tag sqlite
// @module-tag slow
import { beforeAll, describe, expect, test, vi } from "vitest";
import { openApiDocument } from "../../src/app/document.ts";
import { createStage } from "../../sandbox/demo/stage.ts";
import { steps } from "../../sandbox/demo/steps.ts";
import { tier } from "../support/size.ts";
import { documentedRoutes } from "../contract/document.ts";
import { generatePython, generateTypeScript, prepareGenerators, type Validator } from "./generators.ts";

interface Recorded {
  operationId: string;
  status: number;
  body: unknown;
}

/** The operation that an address belongs to: of several, the one with the fewest parameters. */
function operationOf(method: string, path: string): string {
  const fitting = documentedRoutes.filter(
    (route) => route.method === method && new RegExp(`^${route.path.replaceAll(/\{\w+\}/g, "[^/]+")}$`).test(path),
  );
  const [best] = fitting.toSorted((a, b) => a.path.split("{").length - b.path.split("{").length);
  return best?.operation.operationId ?? expect.unreachable(`${method} ${path} is not in the document`);
}

/** Play the community's day of the demo. @returns every answer of the service */
async function recordDemo(): Promise<Recorded[]> {
  const recorded: Recorded[] = [];
  const stage = await createStage(() => undefined, 0, 30_000);
  const original = fetch;
  const recording = vi.spyOn(globalThis, "fetch").mockImplementation(async (input, init) => {
    const response = await original(input, init);
    const request = new Request(input, { method: init?.method ?? (input instanceof Request ? input.method : "GET") });
    const { origin, pathname } = new URL(request.url);
    if (origin === stage.url && response.headers.get("content-type")?.includes("json") === true)
      recorded.push({ operationId: operationOf(request.method, pathname), status: response.status, body: await response.clone().json() });
    return response;
  });
  try {
    for (const step of steps) await step.play(stage);
  } finally {
    recording.mockRestore();
    await stage.close();
  }
  return recorded;
}

// They are installed from the registry, and take most of a minute.
describe.runIf(tier === "long")("a client that somebody generates", () => {
  let folder = "";
  let typescript: Awaited<ReturnType<typeof generateTypeScript>>;
  beforeAll(async () => {
    folder = await prepareGenerators(openApiDocument());
    typescript = await generateTypeScript(folder);
  });

  test("in TypeScript compiles", () => expect(typescript.faults).toBe(""));

  test("in Python compiles", async () => expect(await generatePython(folder)).toBe(""));

  test("accepts every answer of a community's day", async () => {
    const answers = await recordDemo();
    const validatorOf = ({ operationId, status }: Recorded): Validator | undefined =>
      typescript.validators[status < 400 ? `z${operationId.charAt(0).toUpperCase()}${operationId.slice(1)}Response` : "zProblem"];
    const refused = answers.flatMap((answer) => {
      const validator = validatorOf(answer);
      const result = validator?.safeParse(answer.body);
      return result?.success === true
        ? []
        : [`${answer.operationId} ${answer.status.toString()}: ${result?.error?.message ?? "has no validator"}`];
    });
    expect(refused).toEqual([]);
    expect(answers.filter((answer) => validatorOf(answer)?.safeParse({}).success !== false)).toEqual([]);
    expect(answers.length).toBeGreaterThan(50);
    expect(new Set(answers.map(({ operationId }) => operationId)).size).toBeGreaterThan(20);
  });
});
