import fc from "fast-check";
import { expect, test } from "vitest";
import { attachmentHeader, cleanName } from "../../src/features/evidence/capture.ts";
import { fileProblem } from "../../src/kernel/files.ts";
import { runsOf } from "../support/size.ts";

test.each([
  ["proof.png", "proof.png"],
  ["../../etc/passwd", "passwd"],
  ["..\\..\\windows\\system32\\a.dll", "a.dll"],
  ["C:\\fakepath\\a.png", "a.png"],
  ["a\u0000.png", "a.png"],
  ["a\r\nSet-Cookie: b.png", "aSet-Cookie b.png"],
  ["invoice\u202egnp.exe", "invoicegnp.exe"],
  ["\u2066a\u2069.txt", "a.txt"],
  [".htaccess", "htaccess"],
  ["....", "file"],
  ["a.txt...", "a.txt"],
  ["   ", "file"],
  ["", "file"],
  ["/", "file"],
  ["été \u{1f600}.png", "été \u{1f600}.png"],
  [`${"x".repeat(400)}.png`, `${"x".repeat(251)}.png`],
])("a file called %j is called %j", (given, name) => {
  expect(cleanName(given)).toBe(name);
});

test("no name becomes a path, a header or a trick, whatever a client sends", () => {
  fc.assert(
    fc.property(fc.string({ unit: "binary", maxLength: 600 }), (given) => {
      const name = cleanName(given);
      expect(name).toMatch(/^[^/\\\p{Cc}\p{Cf}\p{Zl}\p{Zp}"]+$/u);
      expect(name.startsWith(".")).toBe(false);
      expect(Array.from(name).length).toBeLessThanOrEqual(255);
      const header = attachmentHeader(name);
      expect(header).toMatch(/^attachment; filename="[\x20\x21\x23-\x7e]*"; filename\*=UTF-8''[A-Za-z0-9!#$&+.^_`|~%-]+$/);
      expect(decodeURIComponent(header.split("UTF-8''")[1] ?? "")).toBe(name);
    }),
    { numRuns: runsOf(500) },
  );
});

test.each([
  ["ENOSPC", "storage_full"],
  ["EDQUOT", "storage_full"],
  ["EROFS", "storage_readonly"],
  ["EACCES", "storage_readonly"],
  ["EMFILE", "storage_busy"],
])("the file system's %s is %s, with a time to wait", (code, problem) => {
  expect(fileProblem(Object.assign(new Error("no"), { code }))).toMatchObject({ code: problem, retryAfter: 5 });
});

test("what is no matter of the storage stays as it is", () => {
  const error = Object.assign(new Error("no"), { code: "ENOENT" });
  expect(fileProblem(error)).toBe(error);
  expect(fileProblem("text")).toBe("text");
});
