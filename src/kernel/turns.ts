/** Work with the same key runs one after the other, in the order in which it was asked for. Other keys never wait for it. */
export function createTurns() {
  const last = new Map<string, Promise<void>>();

  return {
    /** @returns what the work answers, or fails with */
    take<T>(key: string, work: () => Promise<T>): Promise<T> {
      const mine = (last.get(key) ?? Promise.resolve()).then(work);
      const leave = (): void => {
        if (last.get(key) === settled) last.delete(key);
      };
      const settled: Promise<void> = mine.then(leave, leave);
      last.set(key, settled);
      return mine;
    },
  };
}
