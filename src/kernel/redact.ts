/** Secrets by their form: our keys, also as an address encodes them, bot tokens, sealed texts, and tokens in addresses of consent. */
const secrets =
  /prv(?:_|%5[Ff])live(?:_|%5[Ff])[\w%]+|sandbox\.[\w.-]+|[MNO][\w-]{23,27}\.[\w-]{6}\.[\w-]{27,}|v1\.[\w-]{1,16}\.[\w-]{16}\.[\w-]{22}\.[\w-]+|\/authorize\/[\w-]{20,}/g;

/** Replace every secret in what came from outside and is shown or kept: a caller may put one where none belongs. JSON stays JSON. */
export function redact(text: string): string {
  return text.replace(secrets, "[redacted]");
}
