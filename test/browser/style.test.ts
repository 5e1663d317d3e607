// @module-tag sqlite
import { expect, test } from "vitest";
import { style } from "../../src/pages/layout.ts";

/** The names and colours of one scheme. */
function palette(scheme: "light" | "dark"): Map<string, string> {
  const [light = "", dark = ""] = [...style.matchAll(/:root \{([^}]*)\}/g)].map(([, block]) => block);
  const colours = (block: string) => [...block.matchAll(/--([\w-]+): (#[\da-f]{6});/g)].map(([, name, value]) => [name, value] as const);
  return new Map([...colours(light), ...(scheme === "dark" ? colours(dark) : [])].map(([name = "", value = ""]) => [name, value]));
}

/** Relative luminance (WCAG 2.2) of a colour such as #aabbcc. */
function luminance(colour: string): number {
  const [r = 0, g = 0, b = 0] = [1, 3, 5].map((at) => {
    const part = Number.parseInt(colour.slice(at, at + 2), 16) / 255;
    return part <= 0.04045 ? part / 12.92 : ((part + 0.055) / 1.055) ** 2.4;
  });
  return 0.2126 * r + 0.7152 * g + 0.0722 * b;
}

function contrast(one: string, two: string): number {
  const [dark = 0, light = 0] = [luminance(one), luminance(two)].toSorted((a, b) => a - b);
  return (light + 0.05) / (dark + 0.05);
}

const rules = [...style.replace(/@media[^{]*\{\s*:root[^}]*\}\s*\}/, "").matchAll(/([^{}]+)\{([^}]*)\}/g)].map(
  ([, selector = "", body = ""]) => ({
    selector: selector.trim(),
    color: /(?:^|[\s;])color: var\(--([\w-]+)\)/.exec(body)?.[1],
    background: /background(?:-color)?: var\(--([\w-]+)\)/.exec(body)?.[1],
  }),
);

test("every background of the style names the text on it, and no colour stands outside the palette", () => {
  expect(rules.filter(({ color, background }) => background !== undefined && color === undefined)).toEqual([]);
  expect(style.replaceAll(/:root \{[^}]*\}/g, "")).not.toMatch(/#[\da-f]{3,8}\b|rgb|hsl/i);
});

test.each(["light", "dark"] as const)("every text can be read on every background it stands on, %s", (scheme) => {
  const colours = palette(scheme);
  const of = (name: string): string => colours.get(name) ?? "missing";
  const grounds = ["page", "panel"];
  const pairs = rules.flatMap(({ color, background }) =>
    color === undefined ? [] : (background === undefined ? grounds : [background]).map((ground) => [color, ground] as const),
  );
  const poor = pairs.filter(([color, ground]) => !(contrast(of(color), of(ground)) >= 4.5));
  expect(pairs.length).toBeGreaterThan(8);
  expect(poor).toEqual([]);
  expect(grounds.filter((ground) => contrast(of("edge"), of(ground)) < 3)).toEqual([]);
});

test("the two schemes differ in every colour that is not the text of a button", () => {
  const [light, dark] = [palette("light"), palette("dark")];
  expect([...light].filter(([name, value]) => dark.get(name) === value).map(([name]) => name)).toEqual(["on-accent", "on-danger"]);
});
