export type SandboxOptions = {
  /** 0 (default) takes any free port. */
  port?: number;
  seed?: "small" | "none";
  /** Keep bodies of REST calls and data of gateway messages; default true. */
  record?: boolean;
  /** Time between two full member lists of one guild and session; Discord's is 30,000. */
  memberRequestWindowMs?: number;
  redirectUris?: readonly string[];
  /** Clock in milliseconds since 1970. */
  now?: () => number;
  /** Time for the first answer to an interaction; Discord's is 3,000. */
  ackDeadlineMs?: number;
  heartbeatMs?: number;
};
