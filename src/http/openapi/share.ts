interface Parameter {
  $ref?: string;
  name?: string;
  schema?: Record<string, unknown>;
  description?: unknown;
  example?: unknown;
  required?: boolean;
}
interface Operation {
  parameters?: Parameter[];
  responses: Record<string, object>;
}
interface Document {
  paths: Record<string, Record<string, Operation>>;
  components: { parameters: Record<string, object>; responses?: Record<string, object> };
}

/** Say once, as a component, what several operations say alike: parameters, refusals, and that nothing changed. Changes the document. */
export function shareRepeated({ paths, components }: Document): void {
  const operations = Object.values(paths).flatMap((methods) => Object.values(methods));
  for (const { parameters = [] } of operations) for (const parameter of parameters) sayOnce(parameter);
  const parameters = createSharing("parameters", components.parameters);
  const responses = createSharing("responses", (components.responses ??= {}));
  for (const operation of operations) {
    for (const parameter of operation.parameters ?? []) parameters.note(parameter);
    for (const response of Object.values(operation.responses)) responses.note(response);
  }
  for (const operation of operations) {
    const given = operation.parameters?.map((parameter) => parameters.refer(parameter, pascal(parameter.name ?? "")));
    if (given !== undefined) operation.parameters = given;
    for (const [status, response] of Object.entries(operation.responses)) operation.responses[status] = responses.refer(response, status);
  }
}

/** What the generator says of a parameter and again of its schema. */
function sayOnce(parameter: Parameter): void {
  if (parameter.schema === undefined || "$ref" in parameter.schema) return;
  const { description, example, ...schema } = parameter.schema;
  parameter.schema = schema;
  if (description !== undefined) parameter.description ??= description;
  if (example !== undefined) parameter.example ??= example;
  if (parameter.required === false) delete parameter.required;
}

function createSharing(place: string, components: Record<string, object>) {
  const uses = new Map<string, { count: number; name?: string }>();
  return {
    note(node: object): void {
      const text = JSON.stringify(node);
      uses.set(text, { count: (uses.get(text)?.count ?? 0) + 1 });
    },
    /** @returns the node itself when it is the only one of its kind */
    refer<T extends object>(node: T, name: string): T | { $ref: string } {
      const use = uses.get(JSON.stringify(node));
      if (use === undefined || use.count < 2 || "$ref" in node) return node;
      use.name ??= add(name, node);
      return { $ref: `#/components/${place}/${use.name}` };
    },
  };

  function add(wanted: string, node: object): string {
    let free = wanted;
    for (let number = 2; free in components; number += 1) free = `${wanted}.${number.toString()}`;
    components[free] = node;
    return free;
  }
}

function pascal(text: string): string {
  return text.replace(/(?:^|[^A-Za-z0-9]+)([A-Za-z0-9])/g, (_match, letter: string) => letter.toUpperCase());
}

type Node = Record<string, unknown>;

/**
 * The document with two things said in a way that its readers understand: "this component or null" as a choice, which the generator spells as
 * a conjunction of the component and a type list that holds null, which no null satisfies; and the default of an object with what its fields
 * have by default, of which the generator says `{}`.
 */
export function respell<T>(node: T): T {
  if (Array.isArray(node)) return node.map((inner: unknown) => respell(inner)) as T;
  if (typeof node !== "object" || node === null) return node;
  const inner = Object.fromEntries(Object.entries(node).map(([key, value]) => [key, respell<unknown>(value)]));
  return withWholeDefault(asChoice(inner)) as T;
}

function withWholeDefault(node: Node): Node {
  const { default: given, properties } = node;
  if (!isNode(given) || !isNode(properties)) return node;
  const fields = Object.entries(properties).flatMap(([name, field]) =>
    isNode(field) && "default" in field ? [[name, field["default"]]] : [],
  );
  return { ...node, default: { ...(Object.fromEntries(fields) as Node), ...given } };
}

const isNode = (value: unknown): value is Node => typeof value === "object" && value !== null && !Array.isArray(value);

function asChoice({ allOf, ...rest }: Node): Node {
  if (allOf === undefined) return rest;
  const [component, more, ...others] = allOf as (Node | undefined)[];
  const types = more?.["type"];
  if (component?.["$ref"] === undefined || others.length > 0 || !Array.isArray(types) || !types.includes("null")) return { allOf, ...rest };
  const { type: _, ...notes } = more ?? {};
  return { ...rest, ...notes, anyOf: [component, { type: "null" }] };
}
