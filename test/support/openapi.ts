type Node = Record<string, any>;

/** A published document whose operations spell out the parameters and responses they share. */
export function spelledOut<T>(published: T): T {
  const document = structuredClone(published) as Node;
  const resolve = (node: Node): Node => {
    const [, place, name] = /^#\/components\/(parameters|responses)\/(.+)$/.exec(String(node["$ref"])) ?? [];
    return place === undefined || name === undefined ? node : document["components"][place][name];
  };
  for (const methods of Object.values<Record<string, Node>>(document["paths"])) {
    for (const operation of Object.values(methods)) {
      // Parameters that stand for a header keep their reference, by which tests know them.
      operation["parameters"] = operation["parameters"]?.map((given: Node) => (resolve(given)["in"] === "header" ? given : resolve(given)));
      for (const [status, given] of Object.entries(operation["responses"])) operation["responses"][status] = resolve(given as Node);
    }
  }
  return document as T;
}
