/**
 * What every sealed text of the database belongs to: its column and its row. Whoever seals, opens or seals again names it from
 * here, so that a text moved to another row or column opens nowhere.
 */
export const sealedIn = {
  accessToken: (userId: string): string => `authorization:${userId}:access_token`,
  refreshToken: (userId: string): string => `authorization:${userId}:refresh_token`,
  sessionVerifier: (sessionId: string): string => `authorization_session:${sessionId}:verifier`,
  tokenRevocation: (id: string): string => `token_revocation:${id}:token`,
  userServer: (userId: string): string => `server:${userId}`,
  privacyVerifier: (sessionId: string): string => `privacy_session:${sessionId}:verifier`,
} as const;
