import { audit } from "./audit.ts";
import { callsigns } from "./callsign.ts";
import { roster } from "./roster.ts";
import type { Case } from "./scene.ts";

/** Cases by what they are about; those of one list are done in their order, on two worlds of their own, as later ones build on earlier ones. */
export const cases: Readonly<Record<string, readonly Case[]>> = {
  "callsigns, the roster and the audit": [...callsigns, ...roster, ...audit],
};

/** Commands that cannot be compared so, each with the reason. */
export const withoutCase: Readonly<Record<string, string>> = {
  "review stats": "it tells in seconds how long things took, which differs from world to world",
  "setup backup": "it runs no operation: it only says what to do",
  "blacklist import": "it is given a file: see its own test",
  "request attach": "it is given a file: see its own test",
  "audit checkpoint": "it holds the key of its installation, which differs from world to world",
};
