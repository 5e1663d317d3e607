type Node = Record<string, unknown>;

/**
 * The document with every "this component or null" spelled as a choice. The generator spells it as a conjunction of the component and a type
 * list that holds null, which no null satisfies.
 */
export function allowNulls<T>(node: T): T {
  if (Array.isArray(node)) return node.map((inner: unknown) => allowNulls(inner)) as T;
  if (typeof node !== "object" || node === null) return node;
  const inner = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, allowNulls<unknown>(value)]));
  return asChoice(inner) as T;
}

function asChoice({ allOf, ...rest }: Node): Node {
  if (allOf === undefined) return rest;
  const [component, more, ...others] = allOf as (Node | undefined)[];
  const types = more?.["type"];
  if (component?.["$ref"] === undefined || others.length > 0 || !Array.isArray(types) || !types.includes("null")) return { allOf, ...rest };
  const { type: _, ...notes } = more ?? {};
  return { ...rest, ...notes, anyOf: [component, { type: "null" }] };
}
