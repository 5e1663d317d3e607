/** The name of a field on the wire: in snake_case. */
type WireName<Name extends string> = Name extends `${infer First}${infer Rest}`
  ? `${First extends Lowercase<First> ? First : `_${Lowercase<First>}`}${WireName<Rest>}`
  : Name;

type WireValue<Value> = Value extends Date ? string : Value;

/**
 * Some fields of a row as the wire has them: `createdAt` is `created_at`, and a time is its ISO text. What is not named is not
 * told, so that a new column is told only on purpose.
 */
export function onWire<Row extends object, Name extends keyof Row & string>(
  row: Row,
  ...names: readonly Name[]
): { [Field in Name as WireName<Field>]: WireValue<Row[Field]> } {
  const entries = names.map((name): [string, unknown] => {
    const value: unknown = row[name];
    return [name.replaceAll(/[A-Z]/g, (letter) => `_${letter.toLowerCase()}`), value instanceof Date ? value.toISOString() : value];
  });
  return Object.fromEntries(entries) as { [Field in Name as WireName<Field>]: WireValue<Row[Field]> };
}
