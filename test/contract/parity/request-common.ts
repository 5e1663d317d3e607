import type { Scene } from "./scene.ts";
import { channelIn, reason } from "./filed.ts";

export const words = { reason, summary: "It began at eight.", evidence: "https://example.org/1\n\nThree saw it." };
export const pieces = ["https://example.org/1", "Three saw it."];
export const haste = { priority: "high", urgent: true };
const { reason: _reason, ...without } = words;
export const besides = without;
export const origin = ({ world }: Scene) => ({ origin: { channel_id: channelIn(world), guild_id: world.guild.id } });
export const common = (scene: Scene) => ({ summary: words.summary, evidence: pieces, ...haste, ...origin(scene) });
