// @module-tag sqlite
import { describe, expect, test } from "vitest";
import { linesIn } from "../../src/features/follows/file.ts";
import { linksIn } from "../../src/features/follows/entries.ts";
import { readSubject } from "../../src/features/follows/subjects.ts";
import { readCsv } from "../../src/features/blacklist/csv.ts";
import { linesOf } from "../../src/features/blacklist/import-lines.ts";
import { readJsonArray, readNdjson } from "../../src/features/blacklist/import/import.service.ts";
import { inWords } from "../../src/kit/say.ts";

const id = "80351110224678912";

describe("whom or what a line is about", () => {
  const forms = {
    domain: {
      "evil.example": ["http://evil.example/", "https://u@evil.example:8080", "*.Evil.example", ".evil.example", "EVIL.example."]
        .concat(["||evil.example^$third-party", "evil[.]example", "hxxps://evil(.)example", " www.evil.example ", "\u200bevil.example"])
        .concat(["//evil.example", "ｅｖｉｌ.example", '"evil.example"', "evil。example"]),
      "xn--discrd-zxa.com": ["discörd.com", "https://DISCÖRD.com"],
      "foo_bar.example.com": ["foo_bar.example.com"],
      "a.github.io": ["a.github.io"],
      "www.github.io": ["www.github.io"],
      "93.184.215.14": ["93.184.215.14", "http://93.184.215.14:8080/"],
    },
    invite: {
      AbC: [
        "AbC",
        "discord.gg/AbC",
        "https://discord.com/invite/AbC?event=1",
        "discordapp.com/invite/AbC/",
        "ptb.discord.com/invite/AbC",
      ].concat(["canary.discord.com/invite/AbC", "discord.gg/invite/AbC", "discord[.]gg/AbC", ".gg/AbC", "HTTPS://WWW.DISCORD.GG/AbC"]),
    },
    user: {
      [id]: [
        id,
        ` ${id}\u00a0`,
        `<@${id}>`,
        `<@!${id}>`,
        `'${id}`,
        `="${id}"`,
        `\u200b${id}`,
        "８０３５１１１０２２４６７８９１２",
        `https://discord.com/users/${id}`,
      ],
    },
    server: { [id]: [id, `https://discord.com/channels/${id}/1/2`] },
  } as const;
  test("is read however people, spreadsheets and public lists write it", () => {
    for (const [kind, subjects] of Object.entries(forms))
      for (const [subject, written] of Object.entries(subjects as Record<string, readonly string[]>))
        for (const one of written) expect([one, readSubject(kind as never, one)]).toEqual([one, { subject }]);
  });

  test("is refused with the reason where it would say less or more than is meant", () => {
    const faults = [
      ["domain", "bit.ly/3aB4cD5", /leads to a page/],
      ["domain", "sites.google.com/view/x", /leads to a page/],
      ["domain", "evil.example?claim=1", /leads to a page/],
      ["domain", "com", /^Anybody can register/],
      ["domain", "co.uk", /^Anybody can register/],
      ["domain", "github.io", /^Anybody can register/],
      ["domain", "||adil@shelbird.com^", /email address/],
      ["domain", "nitro-discordapp", /not a domain/],
      ["domain", "127.0.0.1", /not a domain/],
      ["domain", "7", /not a domain/],
      ["domain", "adservice.google.*", /not a domain/],
      ["domain", "www..securecd-st.com", /not a domain/],
      ["domain", "<br>", /not a domain/],
      ["invite", "dsc.gg/abc", /^Write the code/],
      ["user", "1.23E+17", /has rounded/],
      ["user", "someone", /17–20 digits/],
    ] as const;
    for (const [kind, written, fault] of faults)
      expect(inWords([written, readSubject(kind, written)])).toEqual([written, { fault: expect.stringMatching(fault) }]);
  });
});

test("a public list is read in the form it has: JSON, names line by line, a file of hosts, or rules of an ad blocker", async () => {
  const readers = { csv: readCsv, json: readJsonArray, ndjson: readNdjson, plain: linesOf };
  const texts = [
    '{"domains": ["a.example", "b.example"]}',
    '["a.example", "b.example"]',
    "# a list\n\na.example # a note\r\nb.example\n",
    "127.0.0.1 localhost\n0.0.0.0 0.0.0.0\n0.0.0.0 a.example b.example # both\n::1 ip6-localhost",
    "[Adblock Plus 2.0]\n! Title: x\n||a.example^\n||b.example^$doc",
    "kind;subject_id\ndomain;a.example\ndomain;b.example",
  ];
  for (const text of texts) {
    const subjects: string[] = [];
    for await (const { value } of linesIn(readers, text)) {
      const written = typeof value === "string" ? value : (value as { subject_id: string }).subject_id;
      const found = readSubject("domain", written);
      subjects.push("subject" in found ? found.subject : found.fault);
    }
    expect([text, subjects]).toEqual([text, ["a.example", "b.example"]]);
  }
});

describe("a link in a text", () => {
  test("is found however it is written, and the site that it only looks like is not", () => {
    const found = {
      "evil.com": [
        "[here](https://evil.com)",
        "<https://evil.com>",
        "evil.com/x",
        "hxxps://evil[.]com",
        "evil(.)com",
        "evil [dot] com",
        "https:\\\\evil.com",
      ]
        .concat([
          "HTTPS://EVIL.COM",
          "https://discord.com@evil.com",
          "https://%65vil.com",
          "https://evil.com:8443/x",
          "see https://evil.com.",
          "https://ev\u200bil.com",
        ])
        .concat([
          "||https://evil.com||",
          "`https://evil.com`",
          "**evil.com**",
          "__https://evil.com__",
          "看evil.com看",
          "https://evil。com",
          "//evil.com/x",
          "“https://evil.com”",
        ]),
      "xn--discrd-zxa.com": ["https://discörd.com", "discörd.com", "https://xn--discrd-zxa.com/"],
    };
    for (const [domain, texts] of Object.entries(found))
      for (const text of texts) expect([text, linksIn([text]).domain]).toEqual([text, [domain]]);
    const within = [
      "https://www.google.com/url?q=https://evil.com",
      "https://l.google.com/?u=https%3A%2F%2Fevil.com%2Fa",
      "https://google.com/?to=evil.com",
    ];
    for (const text of within) expect([text, linksIn([text]).domain]).toEqual([text, expect.arrayContaining(["evil.com", "google.com"])]);
    for (const text of ["index.js", "e.g. this", "version 1.2.3.4", "me@evil.com", "https://good.com/evil.com/x.com"])
      expect([text, linksIn([text]).domain]).toEqual([text, text.startsWith("https") ? ["good.com"] : []]);
  });

  test("is an invite in every form that people give it", () => {
    const texts = [
      "discord.gg/AbC",
      "discord .gg/AbC",
      "discord.gg\\AbC",
      "discord[.]gg/AbC",
      "https://discord.gg/invite/AbC",
      "join .gg/AbC",
      "[x](https://ptb.discord.com/invite/AbC?event=1)",
    ].concat(["dis\u200bcord.gg/AbC", "DISCORD.GG/AbC", "discord,gg/AbC", "https://x.com/?u=https%3A%2F%2Fdiscord.gg%2FAbC"]);
    for (const text of texts) expect([text, linksIn([text]).invite]).toEqual([text, ["AbC"]]);
    expect(linksIn(["notdiscord.gg/AbC dsc.gg/AbC"]).invite).toEqual([]);
  });

  test("is looked for in a time that grows with the text and not with its square", () => {
    for (const part of ["http://", "https://a@", "a.", "h", "[.]", "%25", "http:////", "discord.gg/", "\\", "(dot", "a@b.", "-._", "看."]) {
      const began = performance.now();
      linksIn([part.repeat(200_000 / part.length)]);
      expect([part, performance.now() - began < 20_000]).toEqual([part, true]);
    }
  });
});
