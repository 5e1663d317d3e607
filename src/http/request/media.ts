import { ProblemError } from "../../kernel/errors.ts";
import { header, type RequestInfo } from "../context.ts";

/** A media type a body can be sent as. */
export interface BodyForm {
  name: string;
  /** Of the whole `Content-Type`. */
  type: RegExp;
}

/** A form of text in UTF-8, such as `text/csv`. */
export function textForm(name: string): BodyForm {
  return { name, type: new RegExp(`^${name.replace("/", "\\/")}\\s*(?:;\\s*charset\\s*=\\s*"?utf-8"?\\s*)?$`, "i") };
}

export const jsonForm = textForm("application/json");
export const multipartForm: BodyForm = { name: "multipart/form-data", type: /^multipart\/form-data\s*;/i };

/** Whether the request announces a body at all. */
export function announcesBody(request: RequestInfo): boolean {
  const length = header(request, "content-length");
  return request.headers["transfer-encoding"] !== undefined || (length !== undefined && length !== "0");
}

/**
 * Refuse a body by what its headers say, before a byte of it is read.
 * @param limitOf the most bytes of a form; of none of them as well
 * @returns which of the forms it has
 * @throws ProblemError body_too_large or unsupported_media_type
 */
export function checkBodyHeaders(
  request: RequestInfo,
  forms: readonly BodyForm[],
  limitOf: (form: BodyForm | undefined) => number,
): BodyForm {
  const given = header(request, "content-type") ?? "";
  const form = forms.find(({ type }) => type.test(given));
  const limit = limitOf(form);
  if (Number(header(request, "content-length") ?? 0) > limit) throw bodyTooLarge(limit);
  const encoding = header(request, "content-encoding");
  if (encoding !== undefined && encoding.toLowerCase() !== "identity") {
    throw new ProblemError("unsupported_media_type", { detail: "Send the body without a content encoding." });
  }
  if (form !== undefined) return form;
  const wanted = forms.map(({ name }) => name).join(" or ");
  throw new ProblemError("unsupported_media_type", { detail: `Send the body as ${wanted}.` });
}

export function bodyTooLarge(limit: number): ProblemError {
  return new ProblemError("body_too_large", { detail: `A body holds at most ${limit} bytes.` });
}
