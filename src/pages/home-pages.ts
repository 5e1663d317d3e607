import { html } from "hono/html";
import { page, type HtmlPage } from "../http/pages/page.ts";
import { filled, layout, type WrittenPage } from "./layout.ts";
import { linkTo, type Reader } from "./reader.ts";
import { answer, readerAt, type Site } from "./site.ts";

/** A shield, drawn small: browsers ask for it beside every page. */
const icon = `<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 16 16"><path fill="#4752c4" d="M8 0 1.5 2.4v5.1C1.5 11.5 4.2 14.6 8 16c3.8-1.4 6.5-4.5 6.5-8.5V2.4z"/><path fill="none" stroke="#fff" stroke-width="2" d="m5 8 2.2 2.3L11.2 6"/></svg>\n`;

/** What somebody finds who opens the bare address of an installation. */
export function homePages(site: Site & { config: { http: { isPublic: boolean } } }): HtmlPage[] {
  return [
    page({ method: "get", path: "/", operationId: "showHome", summary: "Say what this address is" }, async (c) =>
      answer(c, site, 200, home(readerAt(c, site), site.config.http.isPublic)),
    ),
    page({ method: "get", path: "/favicon.ico", operationId: "showIcon", summary: "The icon of the pages" }, async (c) =>
      c.body(icon, 200, { "content-type": "image/svg+xml", "cache-control": "public, max-age=86400" }),
    ),
  ];
}

/** @param hasAppeals whether people can appeal at a page */
function home(reader: Reader, hasAppeals: boolean): Promise<WrittenPage> {
  const { t, base } = reader;
  return layout(
    reader,
    "Provost",
    html`<p>${t("page home intro")}</p>
      <section>
        <h2>${t("page home member")}</h2>
        <p>${filled(t, "page home privacy-rest", { link: html`<a href="${linkTo(reader, "/privacy")}">${t("page home privacy")}</a>` })}</p>
        ${hasAppeals ? html`<p><a href="${linkTo(reader, "/appeal")}">${t("page home appeal")}</a></p>` : ""}
      </section>
      <section>
        <h2>${t("page home client")}</h2>
        <p>
          ${filled(t, "page home client-rest", {
            docs: html`<a href="${base}/docs">${t("page home docs")}</a>`,
            document: html`<a href="${base}/openapi.json">${t("page home document")}</a>`,
            health: html`<a href="${base}/health">${t("page home health")}</a>`,
          })}
        </p>
      </section>`,
  );
}
