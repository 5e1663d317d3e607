import { existsSync } from "node:fs";

const places = [process.env["CHROMIUM_PATH"], "/usr/bin/chromium", "/usr/bin/chromium-browser"];

/** Where this machine has a Chromium, if it has one. */
export const chromiumPath = places.find((place) => place !== undefined && existsSync(place));

/** Containers let nobody but the superuser in, and for that one Chromium's own sandbox does not start. */
export const chromiumArguments = ["--no-sandbox"];
