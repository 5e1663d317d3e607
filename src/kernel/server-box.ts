import { type Keyring, sealedIn } from "./secrets.ts";

/** The row of a server in somebody's list. */
export interface ServerRow {
  userId: string;
  serverHash: string;
}

export interface ServerBoxDeps {
  keyring: Keyring;
  /** Keyed hash of a server id, as rows are found by. */
  hashOf: (serverId: string) => string;
}

/** Seals what is kept of a server of somebody's list, as JSON with its `id`. A text opens in its own row alone. */
export const serverBox = {
  seal: ({ keyring }: Pick<ServerBoxDeps, "keyring">, { userId, serverHash }: ServerRow, json: string): string =>
    keyring.encrypt(json, sealedIn.userServer(userId, serverHash), "v2"),

  /**
   * A text of the form `v1` belongs to the person; its own id says which row it was written for.
   * @throws Error when the text was changed, belongs to another row, or its key is gone
   */
  open({ keyring, hashOf }: ServerBoxDeps, { userId, serverHash }: ServerRow, sealed: string): string {
    if (!sealed.startsWith("v1.")) return keyring.decrypt(sealed, sealedIn.userServer(userId, serverHash));
    const json = keyring.decrypt(sealed, sealedIn.formerUserServer(userId));
    const { id } = JSON.parse(json) as { id?: unknown };
    if (typeof id !== "string" || hashOf(id) !== serverHash) throw new Error("the text belongs to another row");
    return json;
  },
} as const;
