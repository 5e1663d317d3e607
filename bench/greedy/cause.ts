/** Whom a hostile client attacks, and as whom. */
export interface Cause {
  port: number;
  /** The address it says it comes from. */
  address: string;
  key: string;
  /** Whom it acts for. */
  actor: string;
}

export interface Attack {
  /** How many requests were begun so far. */
  requests(): number;
  close(): void | Promise<void>;
}

/** A request up to its body. */
export function headOf({ address }: Cause, line: string, headers: Readonly<Record<string, string>> = {}): string {
  const lines = Object.entries({ Host: "provost", "X-Forwarded-For": address, ...headers });
  return `${line} HTTP/1.1\r\n${lines.map(([name, value]) => `${name}: ${value}\r\n`).join("")}\r\n`;
}

export function credentialsOf({ key, actor }: Cause): Record<string, string> {
  return { Authorization: `Bearer ${key}`, "X-Acting-User": actor };
}
