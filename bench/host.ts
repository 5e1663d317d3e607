import type { Target } from "./target.ts";

/** Hosts one target in a process of its own: `host.ts <module> <export>`. Answers its port, then its CPU time whenever asked. */
const [, , modulePath = "", exportName = ""] = process.argv;
const module = (await import(modulePath)) as Record<string, Target | undefined>;
const target = module[exportName];
if (target === undefined) throw new Error(`${modulePath} has no target ${exportName}`);
const port = await target.start();
process.on("message", () => process.send?.({ cpu: process.cpuUsage() }));
process.send?.({ port, request: target.request });
