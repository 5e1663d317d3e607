// @module-tag sqlite
import { readFileSync } from "node:fs";
import { expect, test } from "vitest";

const read = (name: string) => JSON.parse(readFileSync(new URL(`../${name}`, import.meta.url), "utf8"));

test("every package with an install script is one that package.json allows or refuses, so that npm 11 has nothing to warn of on any machine", () => {
  const { packages } = read("package-lock.json") as { packages: Record<string, { hasInstallScript?: true }> };
  const scripted = Object.entries(packages).flatMap(([place, { hasInstallScript }]) =>
    hasInstallScript === true && place !== "" ? [place.slice(place.lastIndexOf("node_modules/") + "node_modules/".length)] : [],
  );
  const { allowScripts } = read("package.json") as { allowScripts: Record<string, boolean> };
  expect(new Set(Object.keys(allowScripts))).toEqual(new Set(scripted));
});
