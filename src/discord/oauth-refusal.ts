export type OAuthRefusalCode = "invalid_grant" | "access_denied" | "state_invalid" | "token_rejected" | "scope_missing" | "discord_error";

/** Discord (or the person) said no; never holds a token or a code. */
export class OAuthRefusal extends Error {
  override name = "OAuthRefusal";
  readonly code: OAuthRefusalCode;

  constructor(code: OAuthRefusalCode, message: string) {
    super(message);
    this.code = code;
  }
}
