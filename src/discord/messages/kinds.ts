/** A type of Discord by its name there, such as `text_display`; one without a known name by its number. */
export function kindOf(names: Readonly<Record<number, string>>, type: number | undefined): string | undefined {
  if (type === undefined) return undefined;
  const name = Object.hasOwn(names, type) ? names[type] : undefined;
  return name?.replaceAll(/(?<=[a-z\d])(?=[A-Z])/g, "_").toLowerCase() ?? `type_${type.toString()}`;
}
