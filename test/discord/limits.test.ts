import fc from "fast-check";
import { describe, expect, test } from "vitest";
import type { Row } from "../../src/discord/command.ts";
import { cutText } from "../../src/discord/cut-text.ts";
import { fitChoices, fitForm } from "../../src/discord/interactions/component-limits.ts";
import { escapeText, messageOf } from "../../src/discord/replies.ts";
import { showLine, showView } from "../../src/commands/show.ts";
import { translator } from "../../src/kit/say.ts";
import { hostileTexts } from "../support/hostile.ts";
import { choiceProblems, formProblems, messageProblems } from "../support/openapi-limits.ts";

const say = translator("en-US");
const anyText = fc.oneof(fc.constantFrom(...hostileTexts), fc.string({ unit: "binary", maxLength: 6000 }), fc.string({ maxLength: 50 }));
const anyValue = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    anyText,
    fc.integer(),
    fc.boolean(),
    fc.constant(null),
    fc.array(tie("value"), { maxLength: 6 }),
    fc.dictionary(fc.oneof(fc.string({ minLength: 1, maxLength: 300 }), fc.constantFrom("name", "id", "discord_user_id")), tie("value"), {
      maxKeys: 30,
    }),
  ),
})).value;
const id = fc.oneof(fc.string({ maxLength: 120 }), fc.constantFrom("a:b", "wf:deny:1"));
const anyButton = fc.record({ type: fc.constant(2), style: fc.constantFrom(1, 2, 3, 4), label: anyText, custom_id: id });
const anyOption = fc.record({ label: anyText, value: id, description: anyText });
const anySelect = fc.record({
  type: fc.constant(3),
  custom_id: id,
  placeholder: anyText,
  options: fc.array(anyOption, { maxLength: 40 }),
  min_values: fc.integer({ min: 0, max: 3 }),
  max_values: fc.integer({ min: 3, max: 25 }),
});
const anyRow = fc.record({
  type: fc.constant(1),
  components: fc.oneof(
    fc.array(anyButton, { maxLength: 9 }),
    anySelect.map((one) => [one]),
  ),
}) as unknown as fc.Arbitrary<Row>;
const anyEmbed = fc.record({
  title: anyText,
  description: anyText,
  author: fc.record({ name: anyText }),
  footer: fc.record({ text: anyText }),
  fields: fc.array(fc.record({ name: anyText, value: anyText }), { maxLength: 40 }),
});
const anyReply = fc.record({
  content: anyText,
  embeds: fc.array(anyEmbed, { maxLength: 12 }),
  components: fc.array(anyRow, { maxLength: 8 }),
  files: fc.array(fc.record({ name: anyText, content: fc.string({ maxLength: 20 }) }), { maxLength: 14 }),
});

/** As discord.js puts it on the wire. */
const wire = ({ allowedMentions, ...message }: ReturnType<typeof messageOf>) =>
  ({ ...message, allowed_mentions: allowedMentions }) as unknown as Parameters<typeof messageProblems>[0];

describe("a text that is cut", () => {
  test("stays within its length, keeps whole characters, and ends in a mark", () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 8, max: 3000 }), (text, length) => {
        const cut = cutText(text, length);
        expect(cut.length).toBeLessThanOrEqual(length);
        expect(/\p{Surrogate}/u.test(cut)).toBe(false);
        if (text.length > length) expect(cut).toContain("…");
        expect(cutText(cut, length)).toBe(cut);
      }),
    );
  });

  test.each([
    ["within an escape", `${"a".repeat(7)}\\*b`, 9, "aaaaaaa…"],
    ["after an escaped backslash", `${"a".repeat(6)}\\\\bcd`, 9, "aaaaaa\\\\…"],
    ["within a mention", "hello <@123456789012345678> you", 15, "hello …"],
    ["within a moment", "at <t:1700000000:R> or so", 12, "at …"],
    ["within an emoji", "ab😀cd", 4, "ab…"],
    ["within code", "say `one two` now", 10, "say …"],
    ["within a block of code", "x\n```\nline one\nline two\n```", 20, "x\n```\nline one\n…\n```"],
  ])("%s loses the half", (_where, text, length, expected) => {
    const cut = cutText(text, length);
    expect(cut.length).toBeLessThanOrEqual(length);
    expect(cut).toBe(expected);
  });

  test("what a person wrote stays without effect wherever it is cut", () => {
    fc.assert(
      fc.property(anyText, fc.integer({ min: 5, max: 400 }), (text, length) => {
        const plain = cutText(escapeText(text), length).replaceAll(/\\[\s\S]/g, "");
        expect(plain).not.toMatch(/[\\*_`~|<>#[\]()@]/);
      }),
    );
  });
});

describe("a message", () => {
  test("is within every limit whatever a reply holds, and alerts nobody", () => {
    fc.assert(
      fc.property(anyReply, (reply) => {
        expect(messageProblems(wire(messageOf(reply)))).toEqual([]);
      }),
    );
  });

  test("says what was cut, and brings all of it in a file", () => {
    const long = `${"word ".repeat(500)}end of it`;
    const { content, files } = messageOf({ content: long });
    expect(content).toMatch(/… \(cut: .*answer\.txt.*\)$/);
    expect(files[0]?.attachment.toString()).toBe(long);
    expect(messageOf({ content: "short" }).files).toEqual([]);
  });

  test("says when a control or a file has no room", () => {
    const button = (name: string) => ({ type: 2, style: 1, label: name, custom_id: name }) as const;
    const row = (name: string): Row => ({ type: 1, components: [button(name)] });
    const many = messageOf({ content: "x", components: ["a", "b", "c", "d", "e", "f"].map(row) });
    expect(many.components).toHaveLength(5);
    expect(many.content).toContain("Not every button");
    const twice = messageOf({ content: "x", components: [row("a"), row("a")] });
    expect(twice.components).toHaveLength(1);
    expect(twice.content).toContain("Not every button");
    expect(messageOf({ content: "x", components: [row("a")] }).content).toBe("x");
    const link = (url: string): Row => ({ type: 1, components: [{ type: 2, style: 5, label: "Go", url }] });
    expect(messageOf({ content: "x", components: [link(`https://a.example/${"x".repeat(500)}`)] })).toMatchObject({ components: [] });
    expect(messageOf({ content: "x", components: [link("https://a.example/")] }).components).toHaveLength(1);
    const large = messageOf({ content: "x", files: [{ name: "a.bin", content: Buffer.alloc(10 * 1024 * 1024 + 1) }] });
    expect(large.files).toEqual([]);
    expect(large.content).toContain("a.bin");
  });

  test("puts a sixth button into a second row, and leaves out what is empty", () => {
    const buttons = [1, 2, 3, 4, 5, 6].map((n) => ({ type: 2, style: 1, label: n.toString(), custom_id: n.toString() }) as const);
    const { components, content } = messageOf({
      content: "",
      components: [
        { type: 1, components: buttons },
        { type: 1, components: [] },
      ],
    });
    expect(components.map((one) => one.components.length)).toEqual([5, 1]);
    expect(content).toBe("");
    const { embeds } = messageOf({ content: "", embeds: [{ title: " ", description: "", fields: [{ name: "", value: "" }] }, {}] });
    expect(embeds).toEqual([{ fields: [{ name: "–", value: "–" }] }]);
    expect(messageOf({ content: "" }).content).toBe("–");
  });
});

describe("a view", () => {
  test("is shown within every limit, and with nothing of its texts in effect", () => {
    fc.assert(
      fc.property(anyValue, (view) => {
        const message = messageOf(showView(view, say));
        expect(messageProblems(wire(message))).toEqual([]);
        const texts = message.embeds.flatMap(({ title = "", fields = [] }) => [
          title,
          ...fields.flatMap(({ name, value }) => [name, value]),
        ]);
        for (const text of [...texts, showLine(view, say)]) expect(bare(text)).not.toMatch(/@everyone|<@&|\]\(|\*\*\w|https?:|```/);
      }),
    );
  });

  test("that does not fit brings a file with all of it", () => {
    const { files = [] } = showView({ name: "x", text: "y".repeat(2000) }, say);
    expect(JSON.parse(String(files[0]?.content))).toEqual({ name: "x", text: "y".repeat(2000) });
    expect(showView({ name: "x", text: "ends in …" }, say).files).toEqual([]);
  });
});

/** Without what is escaped, and without the bold of our own in lines. */
const bare = (text: string): string => text.replaceAll(/\\[\s\S]/g, "").replaceAll(/^\*\*|\*\*( · |$|…)/g, "");

describe("choices and forms", () => {
  test("choices are within every limit whatever is offered", () => {
    fc.assert(
      fc.property(fc.array(fc.record({ name: anyText, value: anyText }), { maxLength: 40 }), (choices) => {
        expect(choiceProblems(fitChoices(choices))).toEqual([]);
      }),
    );
  });

  test("a form is within every limit whatever its texts are, and one that cannot be is refused", () => {
    const field = fc.record({
      type: fc.constant(4),
      style: fc.constantFrom(1, 2),
      value: anyText,
      placeholder: anyText,
      max_length: fc.integer({ min: 1, max: 4000 }),
    });
    const parts = fc.array(fc.record({ type: fc.constant(18), label: anyText, description: anyText, component: field }), {
      minLength: 1,
      maxLength: 5,
    });
    fc.assert(
      fc.property(anyText, parts, (title, given) => {
        const components = given.map((part, index) => ({ ...part, component: { ...part.component, custom_id: `f${index.toString()}` } }));
        const form = fitForm({ custom_id: "x:1", title, components });
        expect(formProblems(form)).toEqual([]);
      }),
    );
    const part = (name: string) => ({ type: 18, label: "L", component: { type: 4, style: 1, custom_id: name } });
    const made = (names: string[]) => () => fitForm({ custom_id: "x", title: "T", components: names.map(part) });
    expect(made(["a", "b"])).not.toThrow();
    for (const names of [[], ["a", "a"], ["x".repeat(101)], ["a", "b", "c", "d", "e", "f"]]) expect(made(names)).toThrow(/a form has/);
  });
});

describe("the checker", () => {
  const mentions = { allowed_mentions: { parse: [] } };
  const button = { type: 2, style: 1, label: "x", custom_id: "x" };
  test.each<[string, object]>([
    ["long content", { content: "x".repeat(2001) }],
    ["eleven embeds", { embeds: Array.from({ length: 11 }, () => ({ title: "x" })) }],
    ["6,001 characters of embeds", { embeds: [{ description: "x".repeat(4096) }, { description: "x".repeat(1905) }] }],
    ["a long title", { embeds: [{ title: "x".repeat(257) }] }],
    ["an empty field", { embeds: [{ fields: [{ name: "x", value: "" }] }] }],
    ["six rows", { components: [1, 2, 3, 4, 5, 6].map((n) => ({ type: 1, components: [{ ...button, custom_id: n.toString() }] })) }],
    [
      "six buttons in a row",
      { components: [{ type: 1, components: [1, 2, 3, 4, 5, 6].map((n) => ({ ...button, custom_id: n.toString() })) }] },
    ],
    ["a custom id twice", { components: [{ type: 1, components: [button, button] }] }],
    ["a long custom id", { components: [{ type: 1, components: [{ ...button, custom_id: "x".repeat(101) }] }] }],
    ["a long label", { components: [{ type: 1, components: [{ ...button, label: "x".repeat(81) }] }] }],
    [
      "26 options",
      {
        components: [
          {
            type: 1,
            components: [{ type: 3, custom_id: "x", options: Array.from({ length: 26 }, (_, n) => ({ label: "x", value: n.toString() })) }],
          },
        ],
      },
    ],
    ["an empty message", { content: " " }],
    ["half a character", { content: "\ud83d" }],
    ["a mention that alerts", { content: "x", allowed_mentions: { parse: ["everyone"] } }],
    ["no word about mentions", { content: "x", allowed_mentions: undefined }],
  ])("finds %s", (_what, body) => {
    expect(messageProblems({ ...mentions, ...body })).toHaveLength(1);
  });

  test("finds what is wrong with choices and forms, and passes what is right", () => {
    expect(choiceProblems([{ name: "", value: "x" }])).not.toEqual([]);
    expect(choiceProblems([{ name: "x", value: "x".repeat(101) }])).not.toEqual([]);
    expect(
      formProblems({
        type: 0,
        title: "x".repeat(46),
        custom_id: "x",
        components: [{ type: 18, label: "x", component: { type: 4, custom_id: "a" } }],
      }),
    ).toHaveLength(1);
    expect(formProblems({ type: 0, title: "x", custom_id: "x", components: [] })).toHaveLength(1);
    expect(messageProblems({ content: "x", ...mentions, components: [{ type: 1, components: [button] }] })).toEqual([]);
  });
});
