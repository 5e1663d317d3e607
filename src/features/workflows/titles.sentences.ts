import type { Sentences } from "../../kernel/sentences.ts";

/** The titles of requests that were filed without one, in German: cases that they lead to are called so. */
export const requestTitlesDe: Sentences = {
  "Blacklist a server": "Einen Server auf die Sperrliste setzen",
  "Blacklist the server {name}": "Den Server {name} auf die Sperrliste setzen",
  "Blacklist a user": "Eine Person auf die Sperrliste setzen",
  Investigation: "Untersuchung",
  "Recruitment as {position}": "Aufnahme als {position}",
  "Server merge": "Zusammenlegung von Servern",
  "Linked accounts": "Verknüpfte Konten",
  "Punishment: note": "Strafe: Notiz",
  "Punishment: warning": "Strafe: Verwarnung",
  "Punishment: strike": "Strafe: Verwarnungspunkt",
  "Punishment: probation": "Strafe: Bewährung",
  "Punishment: suspension": "Strafe: Suspendierung",
  "Punishment: demotion": "Strafe: Herabstufung",
  "Punishment: termination": "Strafe: Entlassung",
  "Punishment: blacklist referral": "Strafe: Vorschlag für die Sperrliste",
  "Poaching report": "Meldung einer Abwerbung",
  "No-poach agreement": "Absprache gegen Abwerbung",
  "Poaching clearance": "Freigabe für einen Serverwechsel",
  "Appeal against {target}": "Einspruch gegen {target}",
};
