/** What a naive reader of the rules expects of one person. Times are minutes of the play. */
export interface Cause {
  kind: "ban" | "timeout";
  from: "request" | "list";
  reference: string;
  end: number | null;
  isAsking: boolean;
  /** Taken back: nothing brings it back. */
  isReversed: boolean;
  /** Discord has refused it. */
  hasFailed: boolean;
  /** Decided about somebody who was raised above the bot, which not every process knows. */
  isTooHigh?: boolean;
  /** The appeal that changed its end, what the end was, and whether that has ended it. */
  appeal?: { reference: string; was: number | null; hasEnded: boolean };
}

export interface Shown {
  end: number;
  isOurs: boolean;
}

/** Banned or not in one server, timed out or not in the other, by whatever asks for it. */
export class Person {
  now = 0;
  readonly causes: Cause[] = [];
  isBannedByHand = false;
  /** In the first server. */
  isHere = true;
  /** Above the bot in the first server. */
  isRaised = false;
  /** Not in the second server. */
  isAway = false;
  /** The timeout that Discord keeps, also while they are away, and whether it is one of ours. */
  shown: Shown | null = null;
  record: { number: string; ban: "none" | "asked" | "settled" | "exempted" } | null = null;
  /** Whether lists leave them alone in the first server. */
  isExempt = false;

  asking(kind: Cause["kind"]): Cause[] {
    return this.causes.filter((cause) => cause.kind === kind && cause.isAsking);
  }

  get isBanned(): boolean {
    return this.isBannedByHand || this.asking("ban").length > 0;
  }

  /** What people have decided and nobody has taken back. */
  decisions(): Cause[] {
    return this.causes.filter(({ from, isReversed, hasFailed }) => from === "request" && !isReversed && !hasFailed);
  }

  add(cause: Pick<Cause, "kind" | "from" | "reference" | "end" | "isTooHigh">): void {
    this.causes.push({ ...cause, isAsking: true, isReversed: false, hasFailed: false });
    this.recompute();
  }

  /**
   * What is shown is what is asked for, and no less: a later end is set, whatever is shown. What is shown of ours is no longer than that; what
   * somebody else has set stays. Nothing changes for those who are away.
   */
  recompute(): void {
    if (this.isAway) return;
    const most = Math.max(0, ...this.asking("timeout").map(({ end }) => end ?? 0));
    const isLonger = most > this.now && most > (this.shown?.end ?? 0);
    const isShorter = this.shown?.isOurs === true && most < this.shown.end;
    if (isLonger) this.shown = { end: most, isOurs: true };
    else if (isShorter) this.shown = most > this.now ? { end: most, isOurs: true } : null;
  }

  /** Whoever is banned is not there; whom a list means and who is there is banned. */
  follow(): void {
    if (this.record?.ban === "none" && this.isHere && !this.isExempt) {
      this.record.ban = "asked";
      this.add({ kind: "ban", from: "list", reference: this.record.number, end: null });
    }
    if (this.isBanned) this.goes();
  }

  /** They leave the first server, and with it every role there. */
  goes(): void {
    this.isHere = false;
    this.isRaised = false;
  }

  revoke(): void {
    for (const cause of this.causes) if (cause.reference === this.record?.number) cause.isAsking = false;
    this.record = null;
    this.recompute();
  }

  exempt(): void {
    this.isExempt = true;
    if (this.record?.ban !== "asked") return;
    this.record.ban = "exempted";
    for (const cause of this.asking("ban")) if (cause.reference === this.record.number) cause.isAsking = false;
  }

  unexempt(): void {
    this.isExempt = false;
    if (this.record?.ban === "exempted") this.record.ban = "none";
  }

  endAll(kind: Cause["kind"]): void {
    for (const cause of this.asking(kind)) cause.isAsking = false;
    if (kind === "timeout") {
      if (!this.isAway) this.shown = null;
      return;
    }
    this.isBannedByHand = false;
    if (this.record?.ban === "asked") this.record.ban = "settled";
  }

  pass(minutes: number): void {
    this.now += minutes;
    for (const cause of this.causes) {
      if (!cause.isAsking || cause.end === null || cause.end > this.now) continue;
      cause.isAsking = false;
      if (cause.appeal !== undefined) cause.appeal.hasEnded = true;
    }
    if (this.shown !== null && this.shown.end <= this.now) this.shown = null;
  }
}
