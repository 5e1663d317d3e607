import { pathToFileURL } from "node:url";
import { requireOnDemand } from "../../scripts/on-demand.ts";
import { operations } from "./peer.ts";
import { type Measured, of } from "./results.ts";

/** What is used of packages that are installed when a picture is drawn. */
interface Plot {
  plot(options: object): { setAttribute(name: string, value: string): void; readonly outerHTML: string };
  barX(data: readonly object[], options: object): object;
  text(data: readonly object[], options: object): object;
  ruleX(data: readonly number[], options?: object): object;
}
interface Dom {
  parseHTML(html: string): { document: object };
}

/** The names stand in the order in which they were measured, ours first. */
const colours = ["#4269d0", "#9498a0", "#c7c9cd"];

/** Requests per second of each server and operation, as multiples of what the first peer does. @param measured ours first @returns an SVG document */
export async function plotThroughput(measured: readonly Measured[]): Promise<string> {
  const base = measured[1];
  if (base === undefined) throw new Error("there is nothing to compare with");
  const names = measured.map(({ peer }) => peer.name);
  const bars = operations.flatMap((operation) =>
    measured.map((one) => {
      const perSecond = of(one, operation, "perSecond");
      return { operation, name: one.peer.name, times: perSecond / of(base, operation, "perSecond"), label: `${perSecond.toFixed(0)}/s` };
    }),
  );
  // Beside the longest bar there is room for its label.
  const most = Math.max(...bars.map(({ times }) => times)) * 1.15;
  const require = await requireOnDemand("plot");
  const Plot = (await import(pathToFileURL(require.resolve("@observablehq/plot")).href)) as Plot;
  const { document } = (require("linkedom") as Dom).parseHTML("<html></html>");
  const svg = Plot.plot({
    document,
    width: 720,
    height: 310,
    marginBottom: 50,
    marginLeft: 100,
    marginRight: 90,
    style: { background: "white", color: "black", fontFamily: "sans-serif", fontSize: "12px" },
    x: { domain: [0, most], label: `requests per second, ${base.peer.name} = 1`, grid: true, labelAnchor: "center", labelArrow: "none" },
    y: { label: null, domain: names, padding: 0.15 },
    fy: { label: null, domain: [...operations], padding: 0.25 },
    color: { domain: names, range: colours },
    marks: [
      Plot.barX(bars, { x: "times", y: "name", fy: "operation", fill: "name" }),
      Plot.text(bars, { x: "times", y: "name", fy: "operation", text: "label", textAnchor: "start", dx: 5 }),
      Plot.ruleX([0]),
      Plot.ruleX([1], { strokeDasharray: "3,3" }),
    ],
  });
  svg.setAttribute("xmlns", "http://www.w3.org/2000/svg");
  return `${svg.outerHTML}\n`;
}
