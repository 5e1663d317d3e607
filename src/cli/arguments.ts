import { InvalidArgumentError } from "commander";
import { isSnowflake } from "../kernel/fields.ts";

/** Reads an option that is a whole number between two bounds. */
export function wholeNumber(min: number, max: number): (text: string) => number {
  return (text) => {
    const value = /^\d{1,9}$/.test(text) ? Number(text) : Number.NaN;
    if (value >= min && value <= max) return value;
    throw new InvalidArgumentError(`It must be a whole number from ${min.toString()} to ${max.toString()}.`);
  };
}

/** Reads an option that is a Discord id. */
export function snowflake(text: string): string {
  if (isSnowflake(text)) return text;
  throw new InvalidArgumentError("It must be a Discord id: 17–20 digits without a zero in front.");
}

/** Reads a comma list without empty entries. */
export function list(text: string): string[] {
  const entries = text.split(",").map((entry) => entry.trim());
  if (entries.every((entry) => entry !== "")) return entries;
  throw new InvalidArgumentError("It must be a comma-separated list without empty entries.");
}
