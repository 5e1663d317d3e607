import { html } from "hono/html";
import { hash } from "node:crypto";
import { readFile } from "node:fs/promises";
import { Readable } from "node:stream";
import { createGunzip } from "node:zlib";
import { presentFile } from "../http/answer.ts";
import { respond } from "../http/context.ts";
import { page, type HtmlPage } from "../http/pages/page.ts";
import type { RawAnswer } from "../operations/route.ts";
import { generatedFile } from "../package-folder.ts";
import { filled, headOf } from "./layout.ts";
import { readerOf, type Publisher, type Reader } from "./reader.ts";

/** The one page with a script: it comes from here, and asks nobody but this service. Scalar writes its styles into the page. */
const policy =
  "default-src 'none'; script-src 'self'; style-src 'self' 'unsafe-inline'; img-src 'self' data:; connect-src 'self'; form-action 'none'; frame-ancestors 'none'; base-uri 'none'";

/** Scalar's greys and the colours of its methods, as far as they cannot be read on its grounds. */
const readable =
  ".light-mode{--scalar-color-3:#6b6b6b;--scalar-color-blue:#005f9e;--scalar-color-green:#05704a;--scalar-color-red:#b80f3a;--scalar-color-orange:#a34700;--scalar-color-yellow:#7a5c00}.dark-mode{--scalar-color-3:#9a9a9a;--scalar-color-red:#ff7a90}";

/** Scalar's settings: nothing that leads to a service of Scalar's, and no fonts from elsewhere. */
const settings = {
  withDefaultFonts: false,
  telemetry: false,
  agent: { disabled: true },
  mcp: { disabled: true },
  hideClientButton: true,
  showDeveloperTools: "never",
  customCss: readable,
};

const scriptPath = "/docs/api-reference.js";

/** The OpenAPI document as people read it: Scalar's API reference, served from here. */
export function docsPages(publisher: Publisher): HtmlPage[] {
  let script: Promise<Script> | undefined;
  const readScript = (): Promise<Script> => (script ??= openScript());
  return [
    page({ method: "get", path: "/docs", operationId: "showDocs", summary: "The OpenAPI document, readable" }, async (c) => {
      const { version } = await readScript();
      const written = await docs(readerOf(c.get("request"), publisher), version);
      return c.html(written.toString(), 200, { "content-security-policy": policy, vary: "Accept-Language" });
    }),
    page({ method: "get", path: scriptPath, operationId: "showDocsScript", summary: "The script of the documentation" }, async (c) =>
      respond(c, presentFile(c.get("request"), (await readScript()).answer)),
    ),
  ];
}

interface Script {
  /** Part of its address, which browsers ask for once. */
  version: string;
  answer: RawAnswer & { type: string };
}

/** Read when it is first asked for. It is kept as it is sent, a third of what it is in a browser. */
async function openScript(): Promise<Script> {
  const gzip = await readFile(generatedFile("api-reference.js.gz"));
  const version = hash("sha256", gzip, "base64url").slice(0, 22);
  const headers = { etag: `W/"${version}"`, "cache-control": "public, max-age=31536000, immutable", vary: "Accept-Encoding" };
  const answer = {
    type: "text/javascript; charset=utf-8",
    headers,
    gzip,
    get body() {
      return Readable.from([gzip]).pipe(createGunzip());
    },
  };
  return { version, answer };
}

/** The page is in English, as the document is; only who runs no scripts reads a sentence of ours. */
function docs({ t, base, language }: Reader, version: string) {
  const configuration = JSON.stringify({ ...settings, url: `${base}/openapi.json` });
  const document = html`<a href="${base}/openapi.json">${t("page home document")}</a>`;
  return html`<!doctype html>
    <html lang="en">
      <head>
        ${headOf("Provost API")}
        <link rel="icon" href="${base}/favicon.ico" />
      </head>
      <body>
        <noscript><p lang="${language}">${filled(t, "page docs no-script", { document })}</p></noscript>
        <script id="api-reference" data-configuration="${configuration}" src="${base}${scriptPath}?v=${version}"></script>
      </body>
    </html>`;
}
