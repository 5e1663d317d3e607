/** An error as Discord's REST API answers it: HTTP status, JSON error code, message and, for forms, a tree of field errors. */
export class DiscordApiError extends Error {
  override name = "DiscordApiError";
  readonly status: number;
  readonly code: number;
  readonly fields: FieldErrors | undefined;

  constructor(status: number, code: number, message: string, fields?: FieldErrors) {
    super(message);
    this.status = status;
    this.code = code;
    this.fields = fields;
  }
}

export type FieldErrors = { [key: string]: FieldErrors | { code: string; message: string }[] };

const unknownCodes = {
  Application: 10002,
  Channel: 10003,
  Guild: 10004,
  Invite: 10006,
  Member: 10007,
  Message: 10008,
  Role: 10011,
  User: 10013,
  Webhook: 10015,
  Ban: 10026,
  Interaction: 10062,
  "application command": 10063,
} as const;

/** 404 with the code Discord documents for a missing thing of this kind. */
export const unknown = (kind: keyof typeof unknownCodes) => new DiscordApiError(404, unknownCodes[kind], `Unknown ${kind}`);

export const unauthorized = () => new DiscordApiError(401, 0, "401: Unauthorized");
export const notFound = () => new DiscordApiError(404, 0, "404: Not Found");
export const missingAccess = () => new DiscordApiError(403, 50001, "Missing Access");
export const missingPermissions = () => new DiscordApiError(403, 50013, "Missing Permissions");

/**
 * 400 "Invalid Form Body" with one error at a path.
 * @param path dotted place in the body, such as `options.0.name`
 */
export function invalidForm(path: string, code: string, message: string): DiscordApiError {
  let fields: FieldErrors = { _errors: [{ code, message }] };
  for (const key of path.split(".").toReversed()) fields = { [key]: fields };
  return new DiscordApiError(400, 50035, "Invalid Form Body", fields);
}
