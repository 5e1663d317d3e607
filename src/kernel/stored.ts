/** The texts of a stored JSON list; whatever else stands there is left out. */
export function textsOf(value: unknown): string[] {
  return Array.isArray(value) ? value.filter((entry) => typeof entry === "string") : [];
}

/** What people call a blacklist record, such as `BL-000001`; beyond six digits it grows wider. */
export function blacklistReference(number: number): string {
  return `BL-${number.toString().padStart(6, "0")}`;
}

/** What people call a case, such as `CASE-000001`; beyond six digits it grows wider. */
export function caseReference(number: number): string {
  return `CASE-${number.toString().padStart(6, "0")}`;
}
