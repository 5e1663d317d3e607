import fc from "fast-check";
import { bodySchema, freshExample, type DocumentedRoute } from "../document.ts";
import { flawsOf } from "../flaws.ts";
import { bent, fitting, often, oneOf, type Text } from "./values.ts";

interface WildBody {
  /** The media type it is said to be of; empty where that is not said. */
  type: string;
  content: Buffer;
}

const notJson = [
  "",
  "{",
  "[]",
  "null",
  "42",
  '"text"',
  "\ufeff{}",
  '{"reason":1,"reason":2}',
  '{"points":1e999}',
  "NaN",
  "{'a':1}",
  "\0",
  "{}a",
];
const large = [`{"a":${"[".repeat(50_000)}`, "x".repeat(270_000), `{${'"a":1,'.repeat(20_000)}"b":1}`];
const raw = [
  ...[...notJson, ...large].map((text) => Buffer.from(text)),
  Buffer.from('{"reason":"\\ud800"}'),
  Buffer.from('{"reason":"\u0001"}'),
  Buffer.from('{"reason":"\xff\xc0\xaf"}', "latin1"),
  Buffer.from([0xff, 0xfe, 0x7b]),
];
const types = ["text/plain", "application/json; charset=latin1", "application/x-www-form-urlencoded", "multipart/form-data", "", "a/b/c;;"];

const part = (about: string, content: string): string => `--XX\r\nContent-Disposition: form-data; ${about}\r\n\r\n${content}\r\n`;
const file = 'name="file"; filename="a.txt"';
/** Bodies of other media types, some right and most not. */
const others: Record<string, { type: string; texts: string[] }> = {
  "text/csv": {
    type: "text/csv",
    texts: [
      "",
      "kind,subject_id\nuser,80351110224678912\n",
      "subject_id\n",
      '"',
      "kind,subject_id\nuser,1,2,3\n\n\n",
      "a\0b\n",
      ",,\n".repeat(900),
    ],
  },
  "multipart/form-data": {
    type: "multipart/form-data; boundary=XX",
    texts: [
      `${part('name="note"', "Three people saw it.")}${part(file, "Seen.")}--XX--\r\n`,
      `${part('name="file"; filename="../../a\\"b.png"', "\x89PNG\r\n\x1a\n")}--XX--\r\n`,
      `${part('name="file"; filename=""', "")}--XX--\r\n`,
      `${part("name=\"file\"; filename*=UTF-8''%ff%00", "a")}--XX--`,
      part(file, "cut off"),
      `${part(file, "1")}${part(file, "2")}--XX--\r\n`,
      `${part('name="__proto__"', "1").repeat(200)}--XX--\r\n`,
      "--XX--\r\n",
      "no parts",
      "",
    ],
  },
};

const saidToBe = (type: string, content: fc.Arbitrary<Buffer>) => content.map((bytes): WildBody => ({ type, content: bytes }));

/** Bodies of a route: as documented, with a fault, or something else entirely. */
export function bodiesOf(route: DocumentedRoute, ids: Text): fc.Arbitrary<WildBody | undefined> {
  const [none, wild] = [fc.constant(undefined), fc.constantFrom(...raw)];
  const media = Object.keys(route.operation.requestBody?.content ?? {}).flatMap((name) => {
    const { type, texts } = others[name] ?? { type: "", texts: [] };
    return texts.map((text) => saidToBe(type, fc.constant(Buffer.from(text, "latin1"))));
  });
  if (bodySchema(route) === undefined) return often(9, none, saidToBe("application/json", wild));
  const mistyped = fc.tuple(oneOf(...types), wild).map(([type, content]): WildBody => ({ type, content }));
  return often(24, saidToBe("application/json", jsonOf(route, ids)), none, saidToBe("application/json", wild), mistyped, ...media);
}

function jsonOf(route: DocumentedRoute, ids: Text): fc.Arbitrary<Buffer> {
  const flaws = flawsOf(route);
  const whole = often(
    2,
    fc.nat().map((): unknown => freshExample(route)),
    fitting(bodySchema(route) ?? {}, ids).map((value): unknown => structuredClone(value)),
  );
  const flawed = fc.constantFrom<unknown[]>(...flaws.map(({ body }) => body));
  return fc
    .oneof({ weight: 6, arbitrary: whole }, { weight: 4, arbitrary: bent(whole) }, { weight: 1, arbitrary: flawed })
    .map((value) => Buffer.from(JSON.stringify(value)));
}
