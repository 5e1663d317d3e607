import type { SourceSpec } from "./entry.ts";
import { cut } from "./show.ts";

const most = 200;
const shown = 25;
const nameLength = 100;
const idLength = 36;

/** Whether one of the texts holds what was typed. */
export const holds = (typed: string, ...texts: readonly (string | undefined)[]): boolean =>
  texts.some((text) => text?.toLowerCase().includes(typed.toLowerCase()) === true);

const lastIn = (typed: string): string => /[^\s,]*$/.exec(typed)?.[0] ?? "";

interface HeldChange {
  id: string;
  code?: string;
  summary: string;
}

const heldName = ({ code, summary }: HeldChange): string => cut([...(code === undefined ? [] : [code]), summary].join(" · "), nameLength);
const held: SourceSpec = {
  operation: "listConfirmations",
  input: () => ({ query: { limit: most } }),
  choice: (view: HeldChange) => ({ name: heldName(view), value: cut(view.code ?? view.id, idLength) }),
  keeps: (view: HeldChange, typed) => holds(typed, heldName(view)),
};

/** What options about staff and their rights are completed from. */
export const staffSources: Readonly<Record<string, SourceSpec>> = {
  "staff-role": {
    operation: "listStaffRoles",
    input: () => ({ query: { limit: most } }),
    choice: ({ key, name }: { key: string; name: string }) => ({ name: cut(`${name} (${key})`, nameLength), value: key }),
    keeps: ({ key, name }: { key: string; name: string }, typed) => holds(typed, key, name),
  },
  permission: {
    operation: "listPermissions",
    input: () => ({ query: { limit: most } }),
    choice: ({ key, label }: { key: string; label: string }) => ({ name: cut(`${key} · ${label}`, nameLength), value: key }),
    keeps: ({ key, label }: { key: string; label: string }, typed) => holds(typed, key, label),
  },
  /** Several, with commas: the last one is completed, and the others stay. */
  permissions: {
    operation: "listPermissions",
    input: () => ({ query: { limit: most } }),
    choice: ({ key }: { key: string }, typed: string) => {
      const whole = typed.slice(0, typed.length - lastIn(typed).length) + key;
      return { name: cut(whole, nameLength), value: whole };
    },
    keeps: ({ key, label }: { key: string; label: string }, typed) => holds(lastIn(typed), key, label),
  },
  client: {
    operation: "listKeys",
    input: (typed) => ({ query: { limit: shown, state: "active", q: typed === "" ? undefined : typed } }),
    choice: ({ key_id: id, name }: { key_id: string; name: string }) => ({ name: cut(`${name} (${id})`, nameLength), value: id }),
  },
  "held-change": held,
  /** Only those that can be confirmed. */
  "confirmable-change": {
    ...held,
    keeps: (view: HeldChange, typed) => view.code !== undefined && held.keeps?.(view as never, typed) !== false,
  },
};
